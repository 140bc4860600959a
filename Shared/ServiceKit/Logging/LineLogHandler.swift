import Foundation
import Logging

/// Writes each event as one line in one call, so that lines of several threads never interleave.
struct LineLogHandler: LogHandler {
    let label: String
    let format: LogFormat
    let write: @Sendable (String) -> Void
    var logLevel: Logger.Level = .info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(
        label: String, level: Logger.Level, format: LogFormat,
        write: @escaping @Sendable (String) -> Void = LineLogHandler.standardError
    ) {
        self.label = label
        self.format = format
        self.write = write
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        all.merge(metadataProvider?.get() ?? [:]) { $1 }
        all.merge(event.metadata ?? [:]) { $1 }
        if let error = event.error { all[LogKey.error] = "\(error)" }
        let line = LogLine(
            time: Date(), label: label, level: event.level, message: "\(event.message)", metadata: all)
        write(line.rendered(format) + "\n")
    }

    /// A full or closed pipe drops the line; the service continues.
    static let standardError: @Sendable (String) -> Void = { line in
        let bytes = Array(line.utf8)
        _ = bytes.withUnsafeBytes { Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

extension ServiceConfiguration {
    /// Bootstraps logging to standard error. Call once per process.
    func bootstrapLogging() {
        let (level, format) = (logLevel, logFormat)
        LoggingSystem.bootstrap { LineLogHandler(label: $0, level: level, format: format) }
    }
}

/// The format of log lines.
package enum LogFormat: String, CaseIterable, Sendable {
    /// For people: time, level, message, then `key=value`.
    case text
    /// For machines: one JSON object.
    case json
}
