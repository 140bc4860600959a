import Bus
import Client
import Formats
import Foundation
import ServiceKit
import Workouts

/// A file of a workout, or why there is none.
struct WrittenFile: Sendable {
    let name: FileRequests.Name
    /// The revision of the workout.
    let workout: Int64
    let content: Result<Content, Refusal>

    struct Content: Sendable {
        let file: OpenFile
        /// In bytes.
        let size: Int
        /// For the reader's disk.
        let name: String
        let isIncomplete: Bool
    }

    /// The bytes of the file; 0 without one.
    var size: Int { (try? content.get().size) ?? 0 }

    /// Writes a file into the exporter's folder of temporary files.
    static func write(_ name: FileRequests.Name, _ collected: CollectedWork, folder: String) async -> WrittenFile {
        let allowance = collected.quota.allowance(for: name.key)
        let delivery: Delivery
        var file: OpenFile?
        do {
            file = try await onFileThread {
                let file = try OpenFile.temporary(in: folder, mayGrow: allowance.spend)
                try name.format.write(try collected.exported(), to: file)
                return file
            }
            delivery = .delivered()
        } catch let problem as DurableFolder.Problem {
            // The user reads the reason, so it has no path.
            delivery = .failed("cannot write the file: \(String(cString: strerror(problem.code)))")
        } catch {
            delivery = .corrupt
        }
        let content: Result<Content, Refusal> =
            switch (allowance.end(delivery), file) {
            case (.delivered, let file?):
                .success(
                    Content(
                        file: file, size: file.count, name: ExportFile(collected.workout, name.format).name,
                        isIncomplete: collected.workout.incomplete == true))
            case (.refused(let reason), _), (.failed(let reason, _), _): .failure(.fileFailed(reason))
            case (.delivered, nil): .failure(.fileFailed("cannot write the file"))
            }
        return WrittenFile(name: name, workout: collected.work.workout, content: content)
    }

    /// The replies to a reader.
    func replies(to reader: FileRequests.Reader, _ now: Moment) -> [Reply] {
        func reply(_ error: Refusal? = nil) -> Reply {
            Reply(id: reader.id, revision: nil, now: now.wallClock, error: error)
        }
        do {
            let content = try content.get()
            let count = max(1, (content.size + FilePart.size - 1) / FilePart.size)
            guard reader.from < count else {
                throw Refusal.invalidCommand("from: the file has \(count) parts, from 0")
            }
            return try FilePart.window(from: reader.from, of: count).map { number in
                let start = number * FilePart.size
                var part = reply()
                part.file = FilePart(
                    n: number, of: count, name: content.name, workout: workout,
                    incomplete: content.isIncomplete ? true : nil,
                    x: Data(try content.file.read(start..<start + FilePart.size)))
                return part
            }
        } catch let refusal as Refusal {
            return [reply(refusal)]
        } catch {
            return [reply(.fileFailed("cannot read the file"))]
        }
    }
}
