import Bus
package import Logging
package import Workouts

/// The keys of log metadata. Messages are constant strings; variable parts go under these keys.
package enum LogKey {
    /// The type of a command.
    package static let action = "action"
    package static let address = "address"
    package static let broker = "broker"
    package static let bytes = "bytes"
    package static let client = "client"
    package static let command = "command"
    package static let count = "count"
    package static let device = "device"
    package static let error = "error"
    package static let file = "file"
    package static let importID = "import"
    package static let instance = "instance"
    package static let limit = "limit"
    package static let provider = "provider"
    package static let reason = "reason"
    package static let record = "record"
    package static let revision = "revision"
    package static let session = "session"
    package static let shards = "shards"
    package static let status = "status"
    package static let store = "store"
    package static let target = "target"
    package static let topic = "topic"
    package static let until = "until"
    package static let user = "user"
    package static let version = "version"

    /// What every line about a session has, so that one search finds the story of a workout in all logs.
    package static func session(_ key: SessionKey, _ other: Logger.Metadata = [:]) -> Logger.Metadata {
        other.merging([user: "\(key.user)", session: "\(key.session)"]) { $1 }
    }

    /// The metadata of a record in the store, with the session or the user that its key names.
    package static func record(_ collection: String, _ key: String) -> Logger.Metadata {
        let record: Logger.Metadata = [Self.record: "\(collection)/\(key)"]
        if let key = SessionKey(key) { return session(key, record) }
        return User(key).map { record.merging([user: "\($0)"]) { $1 } } ?? record
    }

    /// The metadata of what a topic is about.
    package static func subject(_ topic: String) -> Logger.Metadata {
        switch Topic(topic) {
        case .session(let key, .samples(let device))?, .session(let key, .locations(let device))?:
            session(key, [Self.device: "\(device)"])
        case .session(let key, _)?: session(key)
        case .user(let user, _)?: [Self.user: "\(user)"]
        default: [:]
        }
    }
}
