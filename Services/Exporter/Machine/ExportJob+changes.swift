import Bus
import Workouts

/// What happens to a job. Each change gets a new revision: see `ExporterMachine.Entry.revise`.
extension ExportJob {
    /// Takes up a newer revision of the workout.
    ///
    /// - Returns: whether that changed anything.
    mutating func renew(_ known: ExportRecord.Workout) -> Bool {
        guard target != .healthKit else { return renewHealthKit(known) }
        guard takesUp(known.revision) else { return false }
        let backsOff = status == .pending && attempts > 0
        if !backsOff { attempts = 0 }
        wait(for: known, until: backsOff ? nextAttemptAt : nil)
        return true
    }

    /// Whether a revision of the workout is to be brought: to a folder each, elsewhere what was not delivered yet.
    private func takesUp(_ revision: Int64) -> Bool {
        target == .folder ? revision > delivered ?? -1 : delivered == nil || again != nil
    }

    /// - Parameter until: when it is tried at the earliest, besides the workout's own time.
    private mutating func wait(for known: ExportRecord.Workout, until: Timestamp? = nil) {
        status = .pending
        workout = known.revision
        nextAttemptAt = max(known.readyAt, until ?? known.readyAt)
    }

    /// A person wants it once more, or now.
    mutating func ask(_ known: ExportRecord.Workout, now: Timestamp) {
        if target != .folder, target != .healthKit, delivered != nil { again = again ?? revision }
        status = .pending
        workout = known.revision
        attempts = 0
        reason = nil
        nextAttemptAt = now
    }

    /// These may have been written and not told of.
    mutating func outdate(_ written: Set<String>) {
        oldFiles = written.union(oldFiles).subtracting(files).sorted()
    }

    mutating func begin(_ known: ExportRecord.Workout) {
        // What was asked for is the first.
        if delivered == nil { again = nil }
        status = .exporting
        workout = known.revision
        nextAttemptAt = nil
    }

    /// The process ended while it was on its way.
    mutating func resume(_ now: Timestamp) {
        status = .pending
        nextAttemptAt = now
    }

    /// What came of bringing its workout to the target.
    ///
    /// - Parameter begun: the revision of its status when that was begun.
    mutating func end(_ delivery: Delivery, begun: Int64, _ known: ExportRecord.Workout, now: Timestamp) {
        switch delivery {
        case .delivered(let written):
            status = .done
            attempts = 0
            reason = nil
            nextAttemptAt = nil
            oldFiles = Set(oldFiles + files).subtracting(written).sorted()
            files = written
            // What was asked for since is still to be sent.
            if again ?? -1 < begun { again = nil }
            delivered = workout
            if takesUp(known.revision) { wait(for: known) }
        case .refused(let why):
            status = .failed
            attempts += 1
            reason = why
            nextAttemptAt = nil
            guard known.revision > workout, takesUp(known.revision) else { return }
            attempts = 0
            wait(for: known)
        case .failed(let why, let retryAfter):
            attempts += 1
            reason = why
            wait(for: known, until: RetryPlan.next(after: attempts, retryAfter: retryAfter, now: now))
        }
    }
}
