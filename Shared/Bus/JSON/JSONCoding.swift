import Foundation

/// How messages of low rate stand on the bus and in stores: JSON with sorted keys.
package enum JSONCoding {
    package static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return [UInt8](try encoder.encode(value))
        } catch {
            // Every model encodes plain values; a number that is not finite never gets past a decoder.
            preconditionFailure("cannot be encoded: \(error)")
        }
    }

    /// Decodes a payload; whatever is wrong with it becomes one `PayloadError`.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from payload: some Sequence<UInt8>
    ) throws(PayloadError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(payload))
        } catch let error as DecodingError {
            throw .malformed(brief(explain(error)))
        } catch {
            throw .malformed(brief("\(error)"))
        }
    }

    /// What was wrong goes back to the sender and quotes keys of any length: cut, so that the answer fits a payload.
    private static func brief(_ text: String) -> String {
        String(decoding: text.utf8.prefix(200), as: UTF8.self)
    }

    /// What was expected, in JSON's words.
    private static func name(_ type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is Double.Type, is Int.Type, is Int64.Type: "a number"
        case is any Collection.Type where "\(type)".hasPrefix("Array"): "a list"
        case is any Collection.Type: "an object"
        default: "what is expected"
        }
    }

    private static func explain(_ error: DecodingError) -> String {
        func place(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
            let path = (context.codingPath + [key].compactMap(\.self)).reduce("") { path, key in
                // An element's name is its place: `sections[0].items`.
                if let index = key.intValue { return "\(path)[\(index)]" }
                return path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)"
            }
            return path.isEmpty ? "" : "\(path): "
        }
        switch error {
        case .keyNotFound(let key, let context): return "\(place(context, key))missing"
        case .typeMismatch(let type, let context): return "\(place(context))not \(name(type))"
        case .valueNotFound(let type, let context): return "\(place(context))null, not \(name(type))"
        case .dataCorrupted(let context):
            // Foundation tells the type in Swift's words.
            let unknown = context.debugDescription.wholeMatch(of: /Cannot initialize .* from invalid String value (.*)/)
            return place(context) + (unknown.map { "unknown word \"\($0.output.1)\"" } ?? context.debugDescription)
        @unknown default: return "not readable"
        }
    }
}

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
