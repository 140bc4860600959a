/// How a line of the log looks.
package enum LogFormat: String, CaseIterable, Sendable {
    /// For people: time, level, message, then `key=value`.
    case text
    /// For machines: one JSON object.
    case json
}
