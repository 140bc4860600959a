/// Why a payload was refused. Nothing has changed, and the sender's topic is told of on `rejected`.
package enum PayloadError: Error, Equatable, Sendable {
    /// It is not JSON, or not of the message's shape; what was wrong, and where when that is known.
    case malformed(String)
    /// More items, deeper nesting or more bytes than a message may have.
    case tooLarge(String)

    /// The reason as it stands in a `rejected` message and in the label of a counter: a few constant words.
    package var reason: String {
        switch self {
        case .malformed: "malformed"
        case .tooLarge: "too_large"
        }
    }
}
