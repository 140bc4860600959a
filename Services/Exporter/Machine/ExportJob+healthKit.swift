import Bus
import Workouts

/// A device performs it: the watch that made the workout saves it by itself, else the phone is asked.
extension ExportJob {
    /// A device's code for a person who does not allow it.
    private static let denied = "denied"
    /// Characters of a device's reason that are kept.
    private static let reasonLimit = 200

    mutating func renewHealthKit(_ known: ExportRecord.Workout) -> Bool {
        let isPhoneAsked = isAsked == true
        if !isPhoneAsked {
            // What the watch has saved is left to it.
            guard status != .done else { return false }
            mode = known.mode
        }
        // What a person does not allow waits until somebody asks for it.
        guard status != .failed else { return false }
        status = .pending
        workout = known.revision
        attempts = 0
        nextAttemptAt = mode == .watch ? nil : known.readyAt
        return true
    }

    /// Whether the phone is to be asked, or asked again.
    func isDeviceDue(_ now: Timestamp) -> Bool {
        guard mode == .phone, isOpen, let nextAttemptAt else { return false }
        return RetryPlan.isDue(nextAttemptAt, now)
    }

    /// The phone is asked; if it was asked before, that was in vain.
    mutating func askDevice(_ known: ExportRecord.Workout, now: Timestamp) {
        if status == .exporting { attempts += 1 }
        status = .exporting
        workout = known.revision
        isAsked = true
        nextAttemptAt = RetryPlan.next(after: attempts + 1, now: now)
    }

    /// No phone has taken it, for as long as its retained topics stand.
    mutating func giveUp() {
        status = .failed
        reason = "no device has written it for 48 hours"
        nextAttemptAt = nil
    }

    /// A person wants the phone to write it, whoever was to.
    mutating func askPhone(_ known: ExportRecord.Workout, now: Timestamp) {
        mode = .phone
        isAsked = true
        ask(known, now: now)
    }

    /// What a device says came of it.
    ///
    /// - Returns: whether that changed anything; a repeated result, or an older one, does not.
    mutating func take(_ result: ExportResult, _ known: ExportRecord.Workout, now: Timestamp) -> Bool {
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
            askPhone(known, now: max(known.readyAt, now))
        } else if result.error?.code == Self.denied, isAsked == true {
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
