package import ServiceKit
package import Workouts

/// The services' clock as their replies show it: of the last eight, the offset of the shortest round trip.
package struct ServerClock: Equatable {
    private struct Reply: Equatable {
        let roundTrip: Double
        let offset: Double
    }

    private static let count = 8

    private var replies: [Reply] = []

    package init() {}

    /// Seconds that the services' clock is ahead of this machine's; `nil` before the first reply.
    package var offset: Double? { replies.min { $0.roundTrip < $1.roundTrip }?.offset }

    /// Receives the time of a reply. The service wrote it between both moments.
    ///
    /// - Parameter sentAt: when the request was first sent: the reply may answer any repetition.
    package mutating func receive(_ serviceTime: Timestamp, sentAt: Moment, _ now: Moment) {
        let roundTrip = now.seconds(since: sentAt)
        let offset = serviceTime.seconds(since: now.wallClock) + roundTrip / 2
        replies = replies.suffix(Self.count - 1) + [Reply(roundTrip: roundTrip, offset: offset)]
    }
}
