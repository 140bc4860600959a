package import Bus
package import MQTT
package import Workouts

/// The other runners as a device of a virtual run shows them. A lower revision than the last is ignored.
package struct RunCompanion {
    package let user: User
    package let run: RunID
    package private(set) var view: VirtualRunView?
    package private(set) var partners: Partners?

    package init(user: User, run: RunID) {
        self.user = user
        self.run = run
    }

    package static func topics(_ user: User, _ run: RunID) -> [Topic] {
        [.user(user, .virtualRun(run)), .user(user, .partners(run)), .user(user, .virtualRunAnnouncements(run))]
    }

    /// Returns the words of an announcement.
    package mutating func receive(_ message: MQTTMessage) throws(PayloadError) -> String? {
        guard case .user(user, let topic) = Topic(message.topic) else { return nil }
        switch topic {
        case .virtualRun(run):
            let received = try JSONCoding.decode(VirtualRunView.self, from: message.payload)
            if received.revision >= view?.revision ?? 0 { view = received }
        case .partners(run):
            let received = try JSONCoding.decode(Partners.self, from: message.payload)
            if received.revision >= partners?.revision ?? 0 { partners = received }
        case .virtualRunAnnouncements(run):
            // A newer service may have other kinds.
            return (try? JSONCoding.decode(Announcement.self, from: message.payload)).flatMap { Text.announcement($0) }
        default: break
        }
        return nil
    }

    /// Receives an empty message: the partners of a run that is over or left.
    package mutating func clear(_ message: MQTTMessage) {
        if Topic(message.topic) == .user(user, .partners(run)) { partners = nil }
    }

    /// Whether the engine need not start the user's session any more: the run is over, or another session is in it.
    var needsNoStart: Bool {
        guard let view else { return false }
        return view.status.isOver || [.running, .finished, .left].contains(view.own?.status)
    }

    /// `ben 29 m ahead, 9 s · cleo 12 m behind, 4 s`; `nil` without partners.
    package var line: String? {
        guard let partners, !partners.rows.isEmpty else { return nil }
        let more = partners.rows.count > Self.shown ? " · \(partners.rows.count - Self.shown) more" : ""
        return partners.nearest(Self.shown).map(Text.partner).joined(separator: " · ") + more
    }

    /// Rows of one line.
    private static let shown = 3
}
