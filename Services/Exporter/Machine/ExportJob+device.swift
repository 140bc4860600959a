import Bus
import ServiceKit
import Workouts

/// Exports that a device performs: in watch mode the watch saves its own workout, otherwise the exporter asks the phone.
extension ExportJob {
    /// The error code of a device whose user denies permission.
    private static let denied = "denied"
    /// The longest reason that is kept, in characters.
    private static let reasonLimit = 200
    /// After this many seconds without a result of the watch, the phone performs the export.
    static let watchTimeout = 24 * 3_600.0

    mutating func renewOnDevice(_ known: ExportRecord.Workout) -> Bool {
        let previous = mode
        if isAsked != true {
            // The watch keeps its own workout up to date.
            guard status != .done else { return false }
            mode = known.mode
        }
        // A denied export waits for a request.
        guard status != .failed else { return false }
        status = .pending
        workout = known.revision
        attempts = 0
        if mode != .watch {
            nextAttemptAt = known.readyAt
        } else if previous != .watch {
            // Later revisions leave the watch no more time.
            nextAttemptAt = known.readyAt + Self.watchTimeout
        }
        return true
    }

    /// Whether it is time to ask the phone: for the first time, again, or because the watch is silent.
    func isDeviceDue(_ now: Moment) -> Bool {
        guard isForDevice, isOpen, let nextAttemptAt else { return false }
        return nextAttemptAt <= now
    }

    /// Asks the phone. An earlier request without a result counts as a failed attempt.
    mutating func askDevice(_ known: ExportRecord.Workout, now: Moment) {
        if status == .exporting { attempts += 1 }
        status = .exporting
        workout = known.revision
        isAsked = true
        nextAttemptAt = RetryPlan.next(after: attempts + 1, now: now)
    }

    /// Makes the phone perform the export of a silent watch.
    mutating func replaceWatch(_ known: ExportRecord.Workout, now: Moment) {
        requestPhone(known, now: now)
        reason = "the watch has not reported a result for 24 hours"
    }

    /// Ends requests without a result, because the retained topics expire.
    mutating func giveUp() {
        status = .failed
        reason = "no device has written the workout for 48 hours"
        nextAttemptAt = nil
    }

    /// Makes the phone write the workout, also in watch mode.
    mutating func requestPhone(_ known: ExportRecord.Workout, now: Moment) {
        mode = .phone
        isAsked = true
        request(known, .device, now: now)
    }

    private func isOfWatch(_ result: ExportResult) -> Bool {
        result.mode.map { $0 == .watch } ?? (watch != nil && result.client == watch)
    }

    /// Whether the result may be that of a watch that was silent for too long: it names no device.
    private func mayBeOfSilentWatch(_ result: ExportResult, _ known: ExportRecord.Workout) -> Bool {
        result.mode == nil && known.mode == .watch && watch == nil
    }

    /// Takes a device's result and returns whether the job changed. Repeated and older results change nothing, nor do more
    /// failures of a watch whose export the phone performs.
    mutating func take(_ result: ExportResult, _ known: ExportRecord.Workout, now: Moment) -> Bool {
        guard status != .done, mode == .watch || result.workout == workout else { return false }
        if result.ok {
            status = .done
            workout = result.workout
            delivered = result.workout
            attempts = 0
            reason = nil
            nextAttemptAt = nil
            return true
        }
        guard status != .failed else { return false }
        if mode == .watch {
            // The phone has not been asked.
            guard result.mode != .phone else { return false }
            watch = result.client
            requestPhone(known, now: max(known.readyAt, now))
        } else if isOfWatch(result) || status == .pending && attempts == 0 {
            // The phone has not been asked yet.
            return false
        } else if result.error?.code == Self.denied, isAsked == true, !mayBeOfSilentWatch(result, known) {
            status = .failed
            attempts += 1
            nextAttemptAt = nil
        } else {
            guard status == .exporting else { return false }
            status = .pending
            attempts += 1
            nextAttemptAt = RetryPlan.next(after: attempts, now: now)
        }
        reason = (result.error?.message).map { String($0.prefix(Self.reasonLimit)) }
        return true
    }
}
