import Foundation
package import Workouts

/// A clock that reads Unix time. Whoever waits or decides by the time of day takes one, so that a test can hand over a
/// clock of its own.
package protocol WallClock: Clock where Instant == Timestamp, Duration == Swift.Duration {
    /// Returns when this much time has passed, whatever the time of day is set to meanwhile.
    func wait(for duration: Duration) async throws
}

/// The time of day as the machine has it.
package struct SystemClock: WallClock {
    package init() {}

    package var now: Timestamp {
        Timestamp(seconds: Date().timeIntervalSince1970)
    }

    package var minimumResolution: Duration { .microseconds(1) }

    package func wait(for duration: Duration) async throws {
        try await Task.sleep(for: duration, clock: .continuous)
    }

    /// Returns when the time of day has reached `deadline`. When somebody sets the machine's clock meanwhile, this is
    /// noticed within a minute.
    package func sleep(until deadline: Timestamp, tolerance: Duration?) async throws {
        var remaining = now.duration(to: deadline)
        while remaining > .zero {
            try await Task.sleep(for: min(remaining, .seconds(60)), tolerance: tolerance)
            remaining = now.duration(to: deadline)
        }
        try Task.checkCancellation()
    }
}
