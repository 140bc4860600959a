import Foundation
import TestSupport
import Testing

/// `asyncapi.yaml`, read by `asyncapi_check.py` and the interpreter in `PYTHON`.
struct AsyncAPIDocument: Decodable {
    struct Channel: Decodable {
        let name: String
        let address: String
        let qos: [UInt8]
        let retain: Bool
        let from: [String]
        let to: [String]
        /// The pattern of each parameter of the address.
        let patterns: [String: String]
        /// Whether the payload has a schema.
        let described: Bool

        /// Matches the names of the channel's topics.
        var regex: Regex<AnyRegexOutput> {
            get throws {
                try Regex(
                    patterns.reduce(address.replacing("$", with: "\\$")) {
                        $0.replacing("{\($1.key)}", with: "(?:\($1.value))")
                    })
            }
        }
    }

    /// A payload to validate against the schema of its channel.
    struct Payload {
        let channel: String
        let bytes: [UInt8]
    }

    /// The errors of the document; `nil` if the schema of AsyncAPI is missing.
    let document: [String]?
    /// The validation errors of each payload.
    let payloads: [[String]]
    /// The keys of each payload that the document does not define.
    let undescribed: [[String]]
    let channels: [Channel]

    /// Whether the interpreter lacks a required module.
    static let isUnreadable = Python.lacks("jsonschema, yaml")

    /// Reads the document and validates all payloads with one process.
    static func read(checking payloads: [Payload] = []) async throws -> AsyncAPIDocument {
        let folder = try TemporaryFolder()
        let lines = payloads.map {
            "{\"channel\":\"\($0.channel)\",\"payload\":\(String(decoding: $0.bytes, as: UTF8.self))}\n"
        }
        let input = try folder.write(lines.joined(), to: "payloads")
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
        let output = try await ChildProcess.output(of: [
            Python.interpreter, tests.appending(path: "asyncapi_check.py").path(percentEncoded: false),
            tests.appending(path: "../../Shared/Bus/asyncapi.yaml").path(percentEncoded: false), input,
        ])
        return try JSONDecoder().decode(AsyncAPIDocument.self, from: output)
    }
}
