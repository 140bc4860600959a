import ServiceKit
import Workouts

/// Compares the device's clock with the services' by the `now` of their replies and acknowledgements.
///
/// A message needs time to arrive, so the least delayed of three shows the offset. Offsets of a few seconds stay as they
/// are: every change makes a step in the times of the items.
struct DeviceClock: Equatable {
    /// Differences from the offset in use up to this many seconds change nothing.
    static let tolerance = 3.0
    private static let count = 3

    /// Seconds that the services' clock is ahead of the device's, as far as it is used.
    private(set) var offset: Double
    /// Whether the device corrects its times at all: a recording keeps its own.
    private let corrects: Bool
    private var seen: [Double] = []
    private var hasChanged = false

    init(offset: Double, corrects: Bool) {
        self.offset = offset
        self.corrects = corrects
    }

    /// Receives the time of a service's message.
    mutating func receive(_ serviceTime: Timestamp, _ now: Moment) {
        guard corrects else { return }
        seen.append(serviceTime.seconds(since: now.wallClock))
        guard seen.count == Self.count, let found = seen.max() else { return }
        let isSteady = found - (seen.min() ?? found) <= Self.tolerance
        seen = []
        if isSteady, abs(found - offset) > Self.tolerance { change(found) }
    }

    /// The reply to a `start` without a time shows the offset exactly.
    mutating func set(_ found: Double) {
        if found != offset { change(found) }
    }

    /// Removes and returns an offset that is not in the queue yet.
    mutating func takeChange() -> Double? {
        defer { hasChanged = false }
        return hasChanged ? offset : nil
    }

    private mutating func change(_ found: Double) {
        offset = found
        hasChanged = true
    }
}
