package import Workouts

/// The first line of a queue file: its session, its device and the source of its items.
package struct QueueHeader: Codable, Equatable {
    package let user: User
    package let session: SessionID
    package let device: Device
    /// When playing began. Steps that become due while the process is down are due at once after its restart.
    package let beganAt: Timestamp
    package let source: Source
    /// Whether another device starts, pauses and ends the session.
    package var joins = false
    /// The session that this one replaces: the server lost it before it was finished.
    package var notSynced: SessionID?
    /// The runner's part in a virtual run.
    package var ticket: RunTicket?

    package init(
        user: User, session: SessionID, device: Device, beganAt: Timestamp, source: Source, joins: Bool = false,
        notSynced: SessionID? = nil, ticket: RunTicket? = nil
    ) {
        self.user = user
        self.session = session
        self.device = device
        self.beganAt = beganAt
        self.source = source
        self.joins = joins
        self.notSynced = notSynced
        self.ticket = ticket
    }

    package enum Source: Codable, Equatable {
        /// A recording, identified by the fingerprint of its file.
        case recording(fingerprint: String)
        /// A simulated run with `rate` samples a second.
        case simulation(seed: UInt64, rate: Double = 1)

        /// Whether the workout happens while it is played.
        package var isLive: Bool {
            switch self {
            case .recording: false
            case .simulation: true
            }
        }
    }

    package var key: SessionKey { SessionKey(user, session) }

    package func stream(_ kind: StreamName.Kind) -> StreamName { StreamName(kind, device) }
}
