import Bus
import Crypto
import Formats
import Foundation
import ServiceKit
import Storage
import Workouts

/// A file to read from its stored parts, beside the loop.
struct ReadJob {
    let reading: ImporterMachine.Reading
    let record: ImportRecord

    func read(from store: any Store) async -> ReadOutcome {
        let (key, shard) = (reading.key, reading.key.user.shard)
        do {
            let range = StoreRange(StoreFolder(shard: shard, path: "\(key)"))
            let parts = try await store.records(in: ImportRecord.parts, of: range, limit: record.of)
            let (name, count, activity) = (record.name, record.of, record.workout?.activity)
            let (content, files) = try await onFileThread { () throws(ImportProblem) in
                let content = try Self.content(parts, count: count, name: name)
                return (content, try Self.files(content, name: name, unnamed: activity))
            }
            let place = StoreKey(shard: shard, key: "\(key.user)/\(content.fingerprint)")
            let known = try await store.records(in: ImportRecord.contents, at: [place]).first
            let file = ReadFile(
                fingerprint: content.fingerprint, bytes: content.data.count,
                workouts: files.map { Self.span($0.recording) }, remarks: Self.remarks(files, isCut: content.isCut),
                generations: known.flatMap { try? JSONCoding.decode([Int].self, from: $0.value) })
            return ReadOutcome(reading: reading, result: .success((file, files)))
        } catch let problem as ImportProblem {
            return ReadOutcome(reading: reading, result: .failure(problem))
        } catch {
            return ReadOutcome(reading: reading, result: .failure(.unreadableStore("\(error)")))
        }
    }

    private struct Content {
        let data: Data
        let isCut: Bool

        var fingerprint: String {
            SHA256.hash(data: data).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    private static func content(_ parts: [StoreRecord], count: Int, name: String) throws(ImportProblem) -> Content {
        guard parts.count == count else {
            throw .invalid("parts of '\(name)' were lost; upload it again under a new id")
        }
        let data = parts.reduce(into: Data()) { $0.append(contentsOf: $1.value) }
        guard Gzip.isCompressed(data) else { return Content(data: data, isCut: false) }
        guard let unpacked = Gzip.unpack(data, limit: ImporterMachine.byteLimit) else {
            throw .invalid(ImporterMachine.tooLarge(name, nil))
        }
        return Content(data: unpacked.content, isCut: unpacked.isCut)
    }

    private static func files(
        _ content: Content, name: String, unnamed: Activity?
    ) throws(ImportProblem) -> [RecordingFile] {
        do {
            return try RecordingFile.all(in: content.data, unnamed: unnamed)
        } catch {
            throw .invalid(
                "'\(name)' cannot be imported: \(error.description). Upload the file as the watch or app recorded it")
        }
    }

    /// From the start to the end of its session.
    static func span(_ recording: Recording) -> (start: Timestamp, end: Timestamp) {
        let commands = recording.commands
        return (commands.first?.at ?? recording.start, commands.last?.at ?? recording.end)
    }

    private static func remarks(_ files: [RecordingFile], isCut: Bool) -> [String] {
        var remarks: [String] = []
        if let cut = files.compactMap(\.cut).first {
            remarks.append("the file is cut off at \(cut): the workout ends with what was recorded before")
        } else if isCut {
            remarks.append("the compressed file is cut off: the workout ends with what was recorded before")
        }
        if files.contains(where: { !$0.namesActivity && $0.recording.activity == .other }) {
            remarks.append("the file names no activity: the workout counts as other; edit it to choose one")
        }
        if files.contains(where: \.recording.isMadeFromTotals) {
            remarks.append("the file has no measurements: its totals are spread over its time")
        }
        return remarks
    }
}

/// Why a file cannot be read.
enum ImportProblem: Error {
    /// For people, with what to do.
    case invalid(String)
    case unreadableStore(String)
}

struct ReadOutcome {
    let reading: ImporterMachine.Reading
    let result: Result<(file: ReadFile, recordings: [RecordingFile]), ImportProblem>
}
