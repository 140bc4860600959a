import Foundation

/// Encodes messages of low rate and stored records: JSON with sorted keys.
package enum JSONCoding {
    package static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return [UInt8](try encoder.encode(value))
        } catch {
            // Models encode plain values only, and decoders reject numbers that are not finite.
            preconditionFailure("cannot be encoded: \(error)")
        }
    }

    /// Decodes a payload. Every failure becomes one `PayloadError`.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from payload: some Sequence<UInt8>, userInfo: [CodingUserInfoKey: any Sendable] = [:]
    ) throws(PayloadError) -> Value {
        let decoder = JSONDecoder()
        decoder.userInfo = userInfo
        do {
            return try decoder.decode(type, from: Data(payload))
        } catch let error as DecodingError {
            throw .malformed(brief(explain(error)))
        } catch {
            throw .malformed(brief("\(error)"))
        }
    }

    /// The first bytes of a text that quotes input. Texts are cut before anything reads them, so an error costs the same
    /// for every payload, and fits a reply.
    private static func brief(_ text: String) -> String {
        String(decoding: text.utf8.prefix(200), as: UTF8.self)
    }

    /// The expected type in JSON's terms.
    private static func name(_ type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is Double.Type, is Int.Type, is Int64.Type: "a number"
        case is any Collection.Type where "\(type)".hasPrefix("Array"): "an array"
        case is any Collection.Type: "an object"
        default: "the expected type"
        }
    }

    private static func explain(_ error: DecodingError) -> String {
        func place(_ context: DecodingError.Context, _ key: (any CodingKey)? = nil) -> String {
            var path = ""
            for key in context.codingPath + [key].compactMap(\.self) {
                // The path of an element has its index: `sections[0].items`.
                if let index = key.intValue {
                    path += "[\(index)]"
                } else {
                    path += path.isEmpty ? brief(key.stringValue) : ".\(brief(key.stringValue))"
                }
                path = brief(path)
            }
            return path.isEmpty ? "" : "\(path): "
        }
        switch error {
        case .keyNotFound(let key, let context): return "\(place(context, key))missing"
        case .typeMismatch(let type, let context): return "\(place(context))not \(name(type))"
        case .valueNotFound(let type, let context): return "\(place(context))null, not \(name(type))"
        case .dataCorrupted(let context):
            return place(context) + problem(brief(context.debugDescription))
        @unknown default: return "invalid JSON"
        }
    }

    /// Foundation's text about an unknown word names a Swift type.
    private static func problem(_ text: String) -> String {
        guard text.hasPrefix("Cannot initialize "), let type = text.firstRange(of: " from invalid String value ") else {
            return text
        }
        return "unknown word \"\(text[type.upperBound...])\""
    }
}

/// The reason why a payload was rejected. A rejected payload changes nothing; its topic is published on `rejected`.
package enum PayloadError: Error, Equatable, Sendable {
    /// Not valid JSON or not the shape of the message. The text names the error and, if known, its place.
    case malformed(String)
    /// More items, deeper nesting or more bytes than a message may have.
    case tooLarge(String)

    /// The reason in `rejected` messages and counter labels: one of a few constants.
    package var reason: String {
        switch self {
        case .malformed: "malformed"
        case .tooLarge: "too_large"
        }
    }
}
