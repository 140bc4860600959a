import Foundation
import Logging

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
        return "\(timestamp) \(level) \(label): \(LogLine.escaped(message))\(pairs.joined())"
    }

    private var json: String {
        let object: [String: Any] = [
            "time": timestamp, "label": label, "level": level.rawValue, "message": message,
            "metadata": metadata.mapValues(LogLine.plain),
        ]
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: object, options: options) else { return text }
        return String(decoding: data, as: UTF8.self)
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
            && value.unicodeScalars.allSatisfy { $0 != " " && $0 != "\"" && $0 != "=" && !$0.properties.isControl }
        return isPlain ? value : "\"\(escaped(value).replacing("\"", with: "\\\""))\""
    }

    private static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.properties.isControl) else { return text }
        return text.unicodeScalars.map { $0.properties.isControl ? $0.escaped(asASCII: true) : String($0) }.joined()
    }
}

extension Unicode.Scalar.Properties {
    /// Escapes newlines, escape sequences and other control characters.
    fileprivate var isControl: Bool {
        switch generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
