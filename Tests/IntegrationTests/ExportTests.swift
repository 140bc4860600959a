import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Recordings of real devices, played through the whole system and exported. Independent readers find the same in the
/// files as in the recordings.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(
        if: IndependentReader.isAnyMissing, "PYTHON has no fitdecode, fitparse and garmin-fit-sdk"),
    .disabled(if: recordings == nil, "RECORDINGS_DIR is not set"))
struct ExportTests {
    @Test(arguments: ["run-5km", "ride-39km-with-pauses", "walk-700m"])
    func `three readers find a replayed recording in its FIT export`(name: String) async throws {
        let original = try recording("\(name).fit")
        let read = try await IndependentReader.summary(of: URL(filePath: original))
        let session = try #require(read.sessions.first)
        let exported = try await export(original)
        for (reader, found) in try await IndependentReader.summaries(
            of: URL(filePath: try #require(exported.files["fit"])))
        {
            let totals = try #require(found.sessions.first, "\(reader)")
            let distance = try #require(session["total_distance"])
            let total = try #require(totals["total_distance"])
            #expect(abs(total - distance) <= distance * 0.005, "\(reader): \(total) for \(distance)")
            for time in ["total_timer_time", "total_elapsed_time"] {
                #expect(abs(try #require(totals[time]) - (try #require(session[time]))) <= 1, "\(reader) \(time)")
            }
            if let average = session["avg_heart_rate"] {
                #expect(abs(try #require(totals["avg_heart_rate"]) - average) <= 1, "\(reader)")
            }
            let rates = read.records.compactMap { $0["heart_rate"] }
            #expect(totals["max_heart_rate"] == rates.max(), "\(reader)")
            #expect(found.records.compactMap { $0["heart_rate"] } == rates, "\(reader)")
            #expect(found.pauses(of: exported.workout) == read.pauses(of: exported.workout), "\(reader)")
        }
        let placed = read.records.count { $0["position_lat"] != nil }
        try await expectConversion(
            exported.files["fit"], "garmin_fit", exported.folder, points: placed, orFewer: placed / 200)
    }

    @Test(arguments: ["run-5km.fit", "ride-39km-with-pauses.fit", "walk-700m.fit", "run-8km.gpx"])
    func `independent readers find a replayed recording in its TCX and GPX exports`(name: String) async throws {
        let exported = try await export(try recording(name))
        let original: [[IndependentTrack.Point]]
        if name.hasSuffix(".gpx") {
            original = try await IndependentTrack.parts(of: try recording(name))
        } else {
            let read = try await IndependentReader.summary(of: URL(filePath: try recording(name)))
            original = exported.workout.segments.map { segment in
                read.records.compactMap(IndependentTrack.Point.init).filter { point in
                    segment.contains(Timestamp(seconds: point.time))
                }
            }
        }
        // A lap begins a track in TCX.
        let marks = exported.workout.laps.dropFirst().map(\.startedAt)
        let tracks = original.flatMap { part in
            Dictionary(grouping: part) { point in marks.count { $0 <= Timestamp(seconds: point.time) } }
                .sorted { $0.key < $1.key }.map(\.value)
        }
        let tcx = try await IndependentTrack.parts(of: try #require(exported.files["tcx"]))
        #expect(tcx.count == tracks.count)
        #expect(tcx.joined().compactMap(\.heartRate) == original.joined().compactMap(\.heartRate))
        for (part, other) in zip(tcx, tracks) {
            #expect(abs(try #require(part.first).time - (try #require(other.first)).time) <= 2)
            #expect(abs(try #require(part.last).time - (try #require(other.last)).time) <= 2)
        }
        let distance = try #require(exported.workout.distance)
        #expect(abs(try #require(tcx.joined().compactMap(\.distance).last) - distance) <= distance / 1_000)

        let gpx = try await IndependentTrack.parts(of: try #require(exported.files["gpx"]))
        #expect(gpx.count == original.count)
        let known = original.map { $0.filter { $0.latitude != nil } }
        // The route drops invalid fixes: at most one of two hundred in these recordings.
        let count = known.joined().count
        #expect((count - count / 200...count).contains(gpx.joined().count))
        if name.hasSuffix(".gpx") { #expect(gpx.joined().count == count) }
        let rates = Dictionary(original.joined().map { ($0.time, $0.heartRate) }) { first, _ in first }
        #expect(gpx.joined().allSatisfy { $0.heartRate == rates[$0.time] })

        let placed = gpx.joined().count
        for (reader, found) in try await IndependentReader.summaries(
            of: URL(filePath: try #require(exported.files["fit"])))
        {
            #expect(found.records.count { $0["position_lat"] != nil } == placed, "\(reader)")
        }
        try await expectConversion(exported.files["tcx"], "gtrnctr", exported.folder, points: placed)
        try await expectConversion(exported.files["gpx"], "gpx", exported.folder, points: placed)
        try await expectValid(exported.files["tcx"], "GarminTrainingCenterDatabase_v2.xsd")
        try await expectValid(exported.files["gpx"], "Topografix_gpx11.xsd")
    }

    @Test(arguments: ["fit", "tcx", "gpx"], ["ride-39km-with-pauses.fit", "run-5km.fit"])
    func `replaying an exported file gives the same workout`(format: String, name: String) async throws {
        let first = try await export(try recording(name))
        let second = try await export(try #require(first.files[format])).workout
        let workout = first.workout
        #expect(second.segments.count == workout.segments.count)
        // In a GPX file only the points define the active time.
        if format != "gpx" { #expect(abs(second.activeDuration - workout.activeDuration) <= 2) }
        let distance = try #require(workout.distance)
        #expect(abs(try #require(second.distance) - distance) <= distance * (format == "gpx" ? 0.015 : 0.001))
        #expect(abs(try #require(second.averageHeartRate) - (try #require(workout.averageHeartRate))) <= 0.5)
        #expect(second.maximumHeartRate == workout.maximumHeartRate)
        if format == "fit" {
            #expect(second.segments == workout.segments)
            #expect(second.activity == workout.activity)
            #expect(second.averagePower == workout.averagePower)
        }
    }

    /// The export of a recording.
    private struct Exported {
        let workout: WorkoutRecord
        /// By file extension.
        let files: [String: String]
        let folder: TemporaryFolder
    }

    private func recording(_ name: String) throws -> String {
        try #require(recordings).appending(path: name).path(percentEncoded: false)
    }

    /// Plays a recording into a new session and waits for its files.
    private func export(_ path: String) async throws -> Exported {
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let installation = try await Installation()
        let (workout, status) = try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(path, key)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            let status = try await observer.exported(key)
            let record = try await observer.wait(for: Topic.session(key, .workout).name)
            return (try JSONCoding.decode(WorkoutRecord.self, from: record), status)
        }
        #expect(status.workout == workout.revision)
        let folder = try TemporaryFolder()
        var files: [String: String] = [:]
        for file in status.files ?? [] {
            let copy = folder.file(URL(filePath: file).lastPathComponent)
            try FileManager.default.copyItem(atPath: "\(installation.exports)/\(file)", toPath: copy)
            files[URL(filePath: file).pathExtension] = copy
        }
        return Exported(workout: workout, files: files, folder: folder)
    }

    /// Expects that gpsbabel finds this number of points in the file.
    private func expectConversion(
        _ file: String?, _ format: String, _ folder: TemporaryFolder, points: Int, orFewer: Int = 0
    ) async throws {
        let output = folder.file("converted-\(format).gpx")
        try await ChildProcess.run(
            ["gpsbabel", "-i", format, "-f", try #require(file), "-o", "gpx", "-F", output],
            log: folder.file("gpsbabel-\(format).log"))
        #expect((points - orFewer...points).contains(try await IndependentTrack.parts(of: output).joined().count))
    }

    private func expectValid(_ file: String?, _ schema: String) async throws {
        let path = "/usr/share/pytrainer/schemas/\(schema)"
        guard FileManager.default.fileExists(atPath: path) else {
            return print("skipped: \(schema) is missing; it is part of Debian's pytrainer")
        }
        let folder = try TemporaryFolder()
        try await ChildProcess.run(
            ["xmllint", "--noout", "--schema", path, try #require(file)], log: folder.file("xmllint.log"))
    }
}

extension IndependentTrack.Point {
    fileprivate init?(_ record: IndependentReader.Summary.Fields) {
        guard let time = record["timestamp"] else { return nil }
        self.init(
            time: time, distance: record["distance"], heartRate: record["heart_rate"],
            latitude: record["position_lat"], longitude: record["position_long"])
    }
}

private let recordings = ProcessInfo.processInfo.environment["RECORDINGS_DIR"].map { URL(filePath: $0) }
