import FIT
package import Foundation
package import Workouts

/// One workout of a file of recordings.
package struct RecordingFile: Sendable {
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// Bytes; a day of samples with every quantity takes a tenth of it.
    private static let sizeLimit = 256 * 1_024 * 1_024

    package let recording: Recording
    /// Identifies the content: FNV-1a of the bytes in hexadecimal, and suffixes for a later workout and if the distance is
    /// left out.
    package let fingerprint: String
    /// The position in the file, from 1.
    package let number: Int
    /// The workouts in the file.
    package let count: Int
    /// Where the file is cut off in this workout, such as `byte 1234`.
    package let cut: String?
    /// Whether the file names the activity.
    package let namesActivity: Bool

    /// The first workout of a file.
    package init(path: String, withoutDistance: Bool = false) throws(Problem) {
        self = try Self.all(path: path, withoutDistance: withoutDistance)[0]
    }

    private init(_ part: Part, _ recording: Recording, fingerprint: String, number: Int, count: Int) {
        self.recording = recording
        self.fingerprint = fingerprint
        self.number = number
        self.count = count
        (cut, namesActivity) = (part.cut, part.namesActivity)
    }

    private struct Part {
        let recording: Recording
        var cut: String?
        var namesActivity = true
    }

    /// The workouts of a file, in its order; at least one.
    ///
    /// - Parameters:
    ///   - withoutDistance: whether to leave the distance out, which makes them other recordings.
    ///   - unnamed: the activity of a track that names none; without one it is `other`.
    package static func all(
        path: String, withoutDistance: Bool = false, unnamed: Activity? = nil
    ) throws(Problem) -> [RecordingFile] {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
        } catch {
            throw Problem(description: "cannot read \(path): \(error.localizedDescription)")
        }
        do {
            return try all(in: data, withoutDistance: withoutDistance, unnamed: unnamed)
        } catch {
            throw Problem(description: "\(path): \(error)")
        }
    }

    /// The workouts in a file's content, in its order; at least one.
    package static func all(
        in data: Data, withoutDistance: Bool = false, unnamed: Activity? = nil
    ) throws(Problem) -> [RecordingFile] {
        let parts: [Part]
        do {
            guard data.count <= sizeLimit else {
                throw Problem(description: "\(data.count) bytes; a recording has at most \(sizeLimit >> 20) MiB")
            }
            parts = try read(data, unnamed)
        } catch {
            throw Problem(description: "\(error)")
        }
        let hash = data.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return parts.enumerated().map { index, part in
            let activity = part.namesActivity ? nil : unnamed
            return RecordingFile(
                part, withoutDistance ? part.recording.withoutDistance : part.recording,
                fingerprint: String(hash, radix: 16) + (index > 0 ? "-\(index + 1)" : "")
                    + (withoutDistance ? "-without-distance" : "") + (activity.map { "-\($0.rawValue)" } ?? ""),
                number: index + 1, count: parts.count)
        }
    }

    private static func read(_ data: Data, _ unnamed: Activity?) throws -> [Part] {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        guard let first = data.first(where: { !blanks.contains($0) }) else {
            throw Problem(description: "the file is empty")
        }
        // XML begins with `<`, after white space or a byte order mark; a FIT file never does.
        guard first == UInt8(ascii: "<") else {
            guard !data.starts(with: [0x1F, 0x8B]), !data.starts(with: Data("PK".utf8)) else {
                throw Problem(description: "a compressed file; unpack it first")
            }
            guard data.dropFirst(8).starts(with: Data(".FIT".utf8)) else {
                throw Problem(
                    description:
                        "neither FIT (no .FIT signature), GPX nor TCX (no XML); allowed: FIT, GPX and TCX files")
            }
            let file = try FITFile(upToCut: data)
            let activity = try FITActivity(file)
            let last = activity.sessions.count - 1
            return activity.sessions.indices.map { index in
                var recording = Recording(activity, session: index)
                if recording.activity == .other { recording.activity = unnamed ?? .other }
                return Part(
                    recording: recording,
                    cut: index == last ? file.cut.map { "byte \($0.offset)" } : nil)
            }
        }
        let xml = try XMLRecording(data)
        let parts = xml.tracks.compactMap { track -> Part? in
            guard let recording = Recording(track, unnamed: unnamed ?? .other) else { return nil }
            return Part(
                recording: recording, cut: track.isCut ? xml.cut.map { "line \($0)" } : nil,
                namesActivity: track.namesSport)
        }
        guard !parts.isEmpty else {
            if let line = xml.cut { throw XMLRecording.Problem.malformed(line: line) }
            throw Problem(
                description: xml.tracks.isEmpty
                    ? "no activity and no track with times: a route or a plan, not a recorded workout"
                    : "no track with times: this is a route, not a workout")
        }
        return parts
    }
}
