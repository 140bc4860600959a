import Formats
import Foundation
import TestSupport
import Testing
import Workouts

/// The exported files of a session.
///
/// Two plays of the same steps differ in the ids of session and run, in the revisions of the record and, unless the
/// steps are a recording, in the moment at which they began. Apart from these the files must be the same.
struct ExportedFiles: Equatable {
    /// By format; FIT aside.
    private let texts: [String: [String]]
    private let fit: Data
    private let recording: [RecordedItem]
    private let isRecorded: Bool
    /// The inode of each file: writing it again makes another.
    private let inodes: [String: UInt]

    private struct RecordedItem: Equatable {
        let sample: Sample?
        let location: Location?
    }

    /// Reads the files, of which there are no others of the session.
    init(_ key: SessionKey, _ run: RunID, in folder: String, paths: [String], isRecorded: Bool) throws {
        self.isRecorded = isRecorded
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(key.user)")
            .filter { $0.contains("\(key.session)") }
        #expect(names.map { "\(key.user)/\($0)" }.sorted() == paths.sorted())
        var texts: [String: [String]] = [:]
        var inodes: [String: UInt] = [:]
        var (fit, recording) = (Data(), [RecordedItem]())
        for path in paths {
            let file = "\(folder)/\(path)"
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            inodes[path] = try #require(attributes[.systemFileNumber] as? NSNumber).uintValue
            let content = try Data(contentsOf: URL(filePath: file))
            let format = URL(filePath: file).pathExtension
            if format == "fit" {
                (fit, recording) = (content, try Self.items(of: file))
                continue
            }
            let text = try (format == "json" ? Self.comparable(content) : String(decoding: content, as: UTF8.self))
                .replacing("\(key.session)", with: "session").replacing("\(run)", with: "run")
            texts[format] = isRecorded ? text.components(separatedBy: "\n") : Self.wordsWithRelativeTimes(text)
        }
        (self.texts, self.fit, self.recording, self.inodes) = (texts, fit, recording, inodes)
    }

    /// Compares the contents with those of another play.
    func expectSame(as other: ExportedFiles) {
        #expect(texts.keys.sorted() == ["csv", "gpx", "json", "tcx"])
        for (format, text) in texts {
            let expected = other.texts[format] ?? []
            let difference = zip(text, expected).first { $0 != $1 }
            #expect(text.count == expected.count && difference == nil, "\(format)")
        }
        #expect(!recording.isEmpty && recording == other.recording)
        #expect(fit.count == other.fit.count)
        // The serial number is that of the session: 4 bytes, twice, and the checksum.
        if isRecorded { #expect(zip(fit, other.fit).count { $0 != $1 } <= 10) }
    }

    private static func comparable(_ content: Data) throws -> String {
        var object = try #require(try JSONSerialization.jsonObject(with: content) as? [String: Any])
        let workout = try JSONSerialization.data(withJSONObject: try #require(object["workout"]))
        object["workout"] = try Results.comparable([UInt8](workout))
        return String(decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
    }

    /// Replaces times by the microseconds since the first one.
    private static func wordsWithRelativeTimes(_ text: String) -> [String] {
        var first: Timestamp?
        return text.components(separatedBy: CharacterSet(charactersIn: " ,\"\\<>{}[]\r\n")).map { word in
            // Of JSON.
            let word = word.hasPrefix(":") ? String(word.dropFirst()) : word
            guard let time = time(word) else { return word }
            first = first ?? time
            return "\(time.microseconds - (first?.microseconds ?? 0)) µs"
        }
    }

    private static func time(_ word: String) -> Timestamp? {
        if let time = Timestamp(iso8601: word) { return time }
        guard let number = Double(word), (1e9..<1e10).contains(number) else { return nil }
        return Timestamp(seconds: number)
    }

    /// The items of a FIT file with the seconds since its start.
    private static func items(of file: String) throws -> [RecordedItem] {
        let recording = try RecordingFile(path: file).recording
        func shifted(_ time: Timestamp?) -> Timestamp? {
            time.map { Timestamp(seconds: $0.seconds(since: recording.start)) }
        }
        return recording.samples.map { sample in
            var sample = sample
            sample.time = shifted(sample.time)
            return RecordedItem(sample: sample, location: nil)
        }
            + recording.locations.map { location in
                var location = location
                location.time = shifted(location.time)
                return RecordedItem(sample: nil, location: location)
            }
    }
}
