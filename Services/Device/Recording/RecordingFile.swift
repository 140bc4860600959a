import FIT
import Foundation

/// A file on disk that holds a recording.
struct RecordingFile {
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let recording: Recording
    /// Tells this file from another: FNV-1a over its bytes, in hexadecimal.
    let fingerprint: String

    init(path: String) throws(Problem) {
        let bytes: [UInt8]
        do {
            bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw Problem(description: "cannot read \(path): \(error.localizedDescription)")
        }
        do throws(FITError) {
            recording = Recording(try FITActivity(try FITFile(bytes)))
        } catch {
            throw Problem(description: "\(path): \(error)")
        }
        let hash = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        fingerprint = String(hash, radix: 16)
    }
}
