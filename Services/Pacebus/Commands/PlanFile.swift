import Bus
import Client
import Foundation
import Workouts

/// A JSON file with a planned workout.
struct PlanFile {
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// The largest file, in bytes.
    private static let limit = 1 << 20

    let definition: WorkoutDefinition

    /// - Throws: a problem that names the file and the field. Unknown fields are errors, because they are most likely typing
    ///   mistakes.
    init(path: String) throws(Problem) {
        let data = try Self.bytes(path)
        let written = try Self.json(data, path)
        do {
            definition = try WorkoutDefinition(file: data)
        } catch {
            throw Problem(description: "\(path): \(error.text)")
        }
        let known = try Self.json(Data(JSONCoding.encode(definition)), path)
        if let field = Self.unknown(written, known) {
            throw Problem(description: "\(path): \(field): unknown field")
        }
    }

    private static func bytes(_ path: String) throws(Problem) -> Data {
        guard let file = fopen(path, "r") else {
            throw Problem(description: "cannot read '\(path)': \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else {
            throw Problem(description: "cannot read '\(path)': \(String(cString: strerror(errno)))")
        }
        guard count <= limit else { throw Problem(description: "\(path): larger than \(limit >> 20) MiB") }
        return Data(bytes[..<count])
    }

    private static func json(_ data: Data, _ path: String) throws(Problem) -> Any {
        do {
            return try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
        } catch {
            let text = (error as NSError).userInfo[NSDebugDescriptionErrorKey] as? String ?? "\(error)"
            let place = text.firstRange(of: " around character ") ?? text.firstRange(of: " starting from character ")
            if let place, let offset = Int(text[place.upperBound...].prefix(while: \.isWholeNumber)) {
                // Foundation counts bytes.
                throw problem(String(text[..<place.lowerBound]), at: data.prefix(offset), path)
            }
            // Foundation gives no position at the end of the file.
            guard text.hasPrefix("Unexpected end of file"), let end = data.lastIndex(where: { $0 > UInt8(ascii: " ") })
            else {
                throw Problem(description: "\(path): not JSON: \(data.isEmpty ? "the file is empty" : text)")
            }
            throw problem("Unexpected end of file", at: data[...end], path)
        }
    }

    /// - Parameter read: the bytes before the position.
    private static func problem(_ text: String, at read: Data, _ path: String) -> Problem {
        let lines = read.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let column = String(decoding: lines.last ?? Data(), as: UTF8.self).count + 1
        return Problem(description: "\(path): line \(lines.count), column \(column): not JSON: \(text)")
    }

    /// The first field that definitions do not have.
    private static func unknown(_ written: Any?, _ known: Any?) -> String? {
        if let written = written as? [String: Any] {
            let known = known as? [String: Any] ?? [:]
            for (key, value) in written.sorted(by: { $0.key < $1.key }) where !(value is NSNull) {
                guard let other = known[key] else { return key }
                if let field = unknown(value, other) { return field.hasPrefix("[") ? key + field : "\(key).\(field)" }
            }
        }
        guard let written = written as? [Any], let known = known as? [Any] else { return nil }
        for (index, (value, other)) in zip(written, known).enumerated() {
            if let field = unknown(value, other) {
                return field.hasPrefix("[") ? "[\(index)]\(field)" : "[\(index)].\(field)"
            }
        }
        return nil
    }
}
