/// The metres of a partner as a display shows them between two messages.
package struct RunnerDisplay: Equatable, Sendable {
    /// Seconds for which the last speed is believed.
    package static let horizon = 15.0
    /// Metres by which a correction goes back at once.
    package static let jump = 20.0

    /// The metres shown last.
    package private(set) var meters: Double?

    package init() {}

    /// The metres to show now; `nil` while unknown. They never shrink but by a jump.
    ///
    /// - Parameters:
    ///   - distance: `d` of the row.
    ///   - speed: `v` of the row.
    ///   - age: `a` of the row.
    ///   - link: `st` of the row.
    ///   - passed: the server's time now less `now` of the message: see ``ServerClock``.
    package mutating func update(
        distance: Double?, speed: Double?, age: Double?, link: RunLink, passed: Double
    ) -> Double? {
        guard let distance else { return meters }
        var new = distance
        switch link {
        case .connected, .stale:
            let seconds = min(max(0, (age ?? 0) + max(0, passed)), Self.horizon)
            new += max(0, speed ?? 0) * seconds
        case .disconnected: new = max(new, meters ?? new)
        case .paused, .finished: break
        }
        if let meters, new < meters, meters - new <= Self.jump { new = meters }
        meters = new
        return new
    }
}

/// The server's clock as replies show it: of the last eight, the offset with the shortest round trip.
package struct ServerClock: Equatable, Sendable {
    private static let memory = 8
    private var replies: [(offset: Double, roundTrip: Double)] = []

    package init() {}

    /// - Parameters:
    ///   - sent: when the request was sent, by the own clock.
    ///   - received: when its reply came, by the own clock.
    ///   - server: `now` of the reply.
    package mutating func add(sent: Timestamp, received: Timestamp, server: Timestamp) {
        let roundTrip = received.seconds(since: sent)
        guard roundTrip >= 0 else { return }
        replies.append((server.seconds(since: sent) - roundTrip / 2, roundTrip))
        if replies.count > Self.memory { replies.removeFirst() }
    }

    /// Seconds by which the server's clock is ahead; `nil` before the first reply.
    package var offset: Double? { replies.min { $0.roundTrip < $1.roundTrip }?.offset }

    package static func == (left: ServerClock, right: ServerClock) -> Bool {
        left.replies.elementsEqual(right.replies, by: ==)
    }
}
