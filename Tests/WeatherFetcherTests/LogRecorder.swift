import Logging
import Synchronization

/// Keeps what is logged.
final class LogRecorder: LogHandler, Sendable {
    private let lines = Mutex<[String]>([])

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    /// Level, message and metadata of each, in order.
    var all: [String] { lines.withLock(\.self) }

    func log(event: LogEvent) {
        let details = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        lines.withLock { $0.append("\(event.level) \(event.message) \(details)") }
    }
}
