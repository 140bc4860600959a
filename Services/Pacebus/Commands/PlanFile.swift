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

    /// - Throws: a problem that names the file and the field.
    init(path: String) throws(Problem) {
        let data = try Self.bytes(path)
        try Self.check(data, path)
        do {
            definition = try WorkoutDefinition(file: data)
        } catch {
            throw Problem(description: "\(path): \(error.text)")
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

    /// Names the position of an error in the JSON.
    private static func check(_ data: Data, _ path: String) throws(Problem) {
        do {
            _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
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
}
