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
        let data = Data(payload)
        do {
            return try decoder.decode(type, from: data)
        } catch let error as DecodingError {
            let path = path(error)
            let field = name(path)
            throw .malformed(
                brief((field.isEmpty ? "" : "\(field): ") + explain(error)), field: field.isEmpty ? nil : field,
                value: path.isEmpty ? nil : value(at: path, in: Array(data)))
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

    /// The keys of the invalid field.
    private static func path(_ error: DecodingError) -> [any CodingKey] {
        switch error {
        case .keyNotFound(let key, let context): context.codingPath + [key]
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            context.codingPath
        @unknown default: []
        }
    }

    /// The field's name in errors: `sections[0].items`.
    private static func name(_ path: [any CodingKey]) -> String {
        var name = ""
        for key in path {
            if let index = key.intValue {
                name += "[\(index)]"
            } else {
                name += name.isEmpty ? brief(key.stringValue) : ".\(brief(key.stringValue))"
            }
            name = brief(name)
        }
        return name
    }

    /// The JSON text of a field's value, cut short; `nil` if it is absent.
    private static func value(at path: [any CodingKey], in payload: [UInt8]) -> String? {
        payload.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            guard let isFound = try? scanner.descend(path), isFound else { return nil }
            _ = scanner.peek()
            let start = scanner.index
            guard (try? scanner.skipValue()) != nil else { return nil }
            return PayloadError.cut(bytes[start..<scanner.index])
        }
    }

    private static func explain(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound: "missing"
        case .typeMismatch(let type, _): "not \(name(type))"
        case .valueNotFound(let type, _): "null, not \(name(type))"
        case .dataCorrupted(let context): problem(brief(context.debugDescription))
        @unknown default: "invalid JSON"
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
