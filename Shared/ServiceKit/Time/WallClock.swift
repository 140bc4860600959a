import Foundation
package import Workouts

/// The clocks of a process. A test passes a ``ManualClock``.
package protocol WallClock: Sendable {
    var moment: Moment { get }

    /// Returns after this much uptime.
    func wait(for duration: Duration) async throws
}

extension WallClock {
    /// The time of day.
    package var now: Timestamp { moment.wallClock }
}

/// The machine's clocks.
package struct SystemClock: WallClock {
    private static let start = ContinuousClock.now

    package init() {}

    package var moment: Moment {
        let uptime = ContinuousClock.now - Self.start
        return Moment(wallClock: Timestamp(seconds: Date().timeIntervalSince1970), uptime: uptime)
    }

    package func wait(for duration: Duration) async throws {
        try await Task.sleep(for: duration, clock: .continuous)
    }
}
