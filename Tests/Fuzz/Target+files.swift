import Bus
import FIT
import Foundation
import Workouts

@testable import Client
@testable import Exporter
@testable import Formats
@testable import Importer
@testable import Pacebus
@testable import ServiceKit

/// Files of workouts, of clients and of operators.
extension Target {
    /// A file as it is uploaded.
    static func readRecording(_ bytes: [UInt8]) {
        let data = Data(bytes)
        guard Gzip.isCompressed(data) else { return play(bytes) }
        if let unpacked = Gzip.unpack(data, limit: 1 << 20) { play([UInt8](unpacked.content)) }
    }

    /// Reads a file of workouts and computes the results of each.
    static func play(_ bytes: [UInt8]) {
        guard let files = try? RecordingFile.all(in: Data(bytes), unnamed: .running) else { return }
        let times = AcceptedTimes(now: now)
        for file in files {
            check(file.recording.steps.count >= 2, true)
            let span = ReadJob.span(file.recording)
            guard times.contains(span.start), times.contains(span.end) else { continue }
            let samples = Array(file.recording.samples.prefix(1_000))
            // A lap without points gives no samples.
            guard !samples.isEmpty else { continue }
            check((try? SampleBatch(SampleBatch(first: 0, items: samples).payload[...], accepting: times)) != nil, true)
            var state = session(at: span.start).state(revision: 1)
            state.segments = file.recording.segments.map { Segment(start: $0.lowerBound, end: $0.upperBound) }
            compute(samples, laps: file.recording.laps, state)
        }
    }

    static func readGzip(_ bytes: [UInt8]) {
        let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        for packed in [bytes, head + bytes] {
            guard let unpacked = Gzip.unpack(Data(packed), limit: 1 << 16) else { continue }
            check(unpacked.content.count <= 1 << 16, true)
        }
    }

    /// Lines: a finished workout, then its chunks. Writes every format.
    static func readExport(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 4, omittingEmptySubsequences: false)
        let workout = (try? JSONCoding.decode(WorkoutRecord.self, from: lines[0])) ?? finishedWorkout
        let chunks = lines.dropFirst().compactMap { try? FinalChunk($0) }
        for chunk in chunks { _ = try? ChunkHead(FinalRows([chunk].series).payload(number: 0, revision: 1)[...]) }
        let (series, track) = (chunks.series, chunks.track)
        if let curve = RunCurve(series: series, track: track, segments: workout.segments, clock: .active) {
            roundTrip(RunCurve.self, JSONCoding.encode(curve))
        }
        if let route = RunnerRoute(track: track, series: series, segments: workout.segments) {
            roundTrip(RunnerRoute.self, JSONCoding.encode(route))
        }
        roundTrip(HealthKitWorkout.self, JSONCoding.encode(HealthKitWorkout(workout)))
        for format in ExportFormat.allCases {
            let exported = try? ExportedWorkout(
                workout: workout, series: ChunkedRows(count: 1) { _ in series },
                track: ChunkedRows(count: 1) { _ in track })
            guard let exported else { return }
            var file: [UInt8] = []
            let start = (try? format.write(exported) { file += $0 }) ?? []
            file.replaceSubrange(..<start.count, with: start)
            // Our own readers accept our own files.
            guard format == .fit else { continue }
            check((try? FITFile(file)) != nil, true)
        }
    }

    private static var finishedWorkout: WorkoutRecord {
        let start = Timestamp(seconds: 1_700_000_000)
        var session = session(at: start)
        try? session.apply(.end(streams: [:]), at: start + 900, newest: start + 900)
        session.complete()
        return WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1)
    }

    /// The queue of a device, on disk.
    static func readQueue(_ bytes: [UInt8]) {
        guard let user = User("demo"), let device = Device("watch"),
            let session = SessionID("6f9619ff-8b86-4011-b42d-00c04fc964ff")
        else { return }
        let header = QueueHeader(
            user: user, session: session, device: device, beganAt: now, source: .simulation(seed: 1))
        withFile(bytes, "queue") { path in
            guard let queue = try? QueueFile(path: path, header: header) else { return }
            check(try? queue.readContents(), queue.contents)
            roundTrip(QueueHeader.self, JSONCoding.encode(queue.header))
            // Playing continues after the last acknowledgement, at the services' time.
            let contents = queue.contents
            _ = ItemSender(items: contents.samples.items, acknowledged: contents.samples.acknowledged)
            _ = ItemSender(items: contents.locations.items, acknowledged: contents.locations.acknowledged)
            _ = (now + contents.clockOffset, now + contents.startOffset)
        }
    }

    static func readPlanFile(_ bytes: [UInt8]) {
        withFile(bytes, "plan") { path in _ = try? PlanFile(path: path) }
    }

    /// Passwords and credentials for uploads.
    static func readSecrets(_ bytes: [UInt8]) {
        withFile(bytes, "secret") { path in
            _ = try? PasswordFile(path: path).read()
            let url = URL(filePath: path)
            guard let user = User(url.lastPathComponent) else { return }
            _ = try? UploadCredentials(folder: url.deletingLastPathComponent().path).authorization(of: user)
        }
    }

    /// Logs for `pacebus trace`, and a device's batches for `pacebus device-check`.
    static func readLogs(_ bytes: [UInt8]) {
        guard let session = SessionID("6f9619ff-8b86-4011-b42d-00c04fc964ff") else { return }
        var story = Story(session: session)
        story.add(LogTrace(session).events(in: Data(bytes)))
        story.sort()
        _ = JSONCoding.encode(story)
        _ = story.text
        _ = CheckedBatch(bytes[...])
    }

    /// Readers that run beside one another have a file each.
    private static func withFile(_ bytes: [UInt8], _ name: String, _ body: (String) -> Void) {
        let folder = FileManager.default.temporaryDirectory.path
        let path = "\(folder)/pacebus-fuzz-\(getpid())-\(name)"
        guard
            FileManager.default.createFile(atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
        else { preconditionFailure("\(path) cannot be written") }
        defer { unlink(path) }
        body(path)
    }
}
