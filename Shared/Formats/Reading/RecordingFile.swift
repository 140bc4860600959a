import FIT
import Foundation

/// A file that contains a recording.
package struct RecordingFile: Sendable {
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// Bytes; a day of samples with every quantity takes a tenth of it.
    private static let sizeLimit = 256 * 1_024 * 1_024

    package let recording: Recording
    /// Identifies the content: FNV-1a of the bytes in hexadecimal, and a suffix if the distance is left out.
    package let fingerprint: String

    /// - Parameter withoutDistance: whether to leave the distance out, which makes it another recording.
    package init(path: String, withoutDistance: Bool = false) throws(Problem) {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        } catch {
            throw Problem(description: "cannot read \(path): \(error.localizedDescription)")
        }
        do {
            guard data.count <= Self.sizeLimit else {
                throw Problem(description: "\(data.count) bytes; a recording has at most \(Self.sizeLimit >> 20) MiB")
            }
            let read = try Self.read(data)
            recording = withoutDistance ? read.withoutDistance : read
        } catch {
            throw Problem(description: "\(path): \(error)")
        }
        let hash = data.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        fingerprint = String(hash, radix: 16) + (withoutDistance ? "-without-distance" : "")
    }

    /// XML begins with `<`, after white space or a byte order mark; a FIT file never does.
    private static func read(_ data: Data) throws -> Recording {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        guard data.first(where: { !blanks.contains($0) }) == UInt8(ascii: "<") else {
            return Recording(try FITActivity(try FITFile([UInt8](data))))
        }
        guard let recording = Recording(try XMLRecording(data).track) else {
            throw Problem(description: "no track with times: this is a route, not a workout")
        }
        return recording
    }
}
