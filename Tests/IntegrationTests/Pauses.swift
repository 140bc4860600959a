import TestSupport
import Workouts

extension [Segment] {
    /// The gaps between the segments in Unix seconds.
    var pauses: [ClosedRange<Double>] {
        zip(self, dropFirst()).compactMap { before, after in
            before.end.map { $0.seconds...after.start.seconds }
        }
    }
}

extension IndependentReader.Summary {
    /// The times from each stop of the timer to the next start within the workout, in Unix seconds.
    func pauses(of workout: WorkoutRecord) -> [ClosedRange<Double>] {
        guard let first = workout.startedAt?.seconds, let last = workout.segments.last?.end?.seconds else { return [] }
        var pauses: [ClosedRange<Double>] = []
        var stoppedAt: Double?
        for event in timer where first...last ~= event.time {
            if event.type.hasPrefix("stop") {
                stoppedAt = stoppedAt ?? event.time
            } else if event.type == "start", let stop = stoppedAt {
                pauses.append(stop...event.time)
                stoppedAt = nil
            }
        }
        return pauses
    }
}
