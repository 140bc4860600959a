package import Logging
import Synchronization

/// Records log lines: level, message, metadata.
package final class LogRecorder: Sendable {
    private let recorded = Mutex<[String]>([])

    package var lines: [String] { recorded.withLock(\.self) }

    package init() {}

    package var logger: Logger {
        Logger(label: "test") { _ in Handler(recorder: self) }
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let details = (event.metadata ?? [:]).map { " \($0.key)=\($0.value)" }.sorted().joined()
            recorder.recorded.withLock { $0.append("\(event.level) \(event.message)\(details)") }
        }
    }
}

extension Logger {
    /// Discards all log lines.
    package static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
