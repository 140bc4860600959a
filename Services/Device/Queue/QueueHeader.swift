import Workouts

/// The first line of a queue file: whose it is, and what is being played into it.
struct QueueHeader: Codable, Equatable {
    let user: User
    let session: SessionID
    let device: Device
    /// When playing began. Steps that come due while the process is dead come due at once when it is back.
    let beganAt: Timestamp
    let source: Source
    /// Whether the device takes part in a session that others start, pause and end.
    var joins = false
    /// The session that this one stands in for: the server no longer had it when it was to be finished.
    var notSynced: SessionID?

    enum Source: Codable, Equatable {
        /// A recording, by the fingerprint of its file.
        case recording(fingerprint: String)
        /// So many samples a second.
        case simulation(seed: UInt64, rate: Double = 1)

        /// Whether it happens while it is played.
        var isLive: Bool {
            switch self {
            case .recording: false
            case .simulation: true
            }
        }
    }

    var key: SessionKey { SessionKey(user, session) }

    func stream(_ kind: StreamName.Kind) -> StreamName { StreamName(kind, device) }
}
