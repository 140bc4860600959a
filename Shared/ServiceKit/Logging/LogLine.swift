import Foundation
import Logging
import Workouts

/// One log event, rendered without a newline.
struct LogLine {
    let time: Date
    let label: String
    let level: Logger.Level
    let message: String
    let metadata: Logger.Metadata

    func rendered(_ format: LogFormat) -> String {
        switch format {
        case .text: text
        case .json: json
        }
    }

    private var timestamp: String {
        time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private var text: String {
        let pairs = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\(LogLine.quoted("\($0.value)"))" }
        return "\(timestamp) \(level) \(label): \(message.escapingControlCharacters())\(pairs.joined())"
    }

    private var json: String {
        let object: [String: Any] = [
            "time": timestamp, "label": label, "level": level.rawValue, "message": message,
            "metadata": metadata.mapValues(LogLine.plain),
        ]
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: object, options: options) else { return text }
        // JSON escapes only a part of them. All are inside strings, because the output is not indented.
        return String(decoding: data, as: UTF8.self).unicodeScalars.map { scalar in
            scalar.isControl ? String(format: "\\u%04x", scalar.value) : String(scalar)
        }.joined()
    }

    private static func plain(_ value: Logger.MetadataValue) -> Any {
        switch value {
        case .string(let text): text
        case .stringConvertible(let value): "\(value)"
        case .array(let values): values.map(plain)
        case .dictionary(let values): values.mapValues(plain)
        }
    }

    /// Quotes and escapes external text, so that it cannot forge a line or a key.
    private static func quoted(_ value: String) -> String {
        let isPlain =
            !value.isEmpty
            && value.unicodeScalars.allSatisfy { $0 != " " && $0 != "\"" && $0 != "=" && !$0.isControl }
        guard !isPlain else { return value }
        let escaped = value.replacing("\\", with: "\\\\").escapingControlCharacters().replacing("\"", with: "\\\"")
        return "\"\(escaped)\""
    }
}
