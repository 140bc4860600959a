import Workouts

/// The first line of a queue file: whose it is, and what is being played into it.
struct QueueHeader: Codable, Equatable {
    let user: User
    let session: SessionID
    let device: Device
    /// When playing began. Steps that come due while the process is dead come due at once when it is back.
    let beganAt: Timestamp
    let source: Source

    enum Source: Codable, Equatable {
        /// A recording, by the fingerprint of its file.
        case recording(fingerprint: String)
        case simulation(seed: UInt64)
    }

    var key: SessionKey { SessionKey(user, session) }
    var stream: StreamName { StreamName(.samples, device) }
}
