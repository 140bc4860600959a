import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

/// Bests, load and sources of real recordings, from the folder `RECORDINGS_DIR`, computed by Python too.
@Suite(.disabled(if: Python.lacks("json"), "PYTHON names no interpreter"))
struct RecordedBestsTests {
    private static let files = [
        "run-5km.fit", "ride-39km-with-pauses.fit", "walk-700m.fit", "run-10km-laps.fit", "open-water-swim.fit",
        "pool-swim-lengths.fit", "pool-swim-hr-messages.fit", "run-8km.gpx", "four-activities.tcx",
    ]

    @Test func `recordings have Python's bests, load and sources`() async throws {
        guard let folder = ProcessInfo.processInfo.environment["RECORDINGS_DIR"] else {
            print("skipped: RECORDINGS_DIR names no folder with recordings")
            return
        }
        var profile = Profile()
        (profile.sex, profile.restingHeartRate, profile.maximumHeartRate) = (.male, 55, 185)
        profile.thresholdPower = 220
        var (names, sessions, found): ([String], [IndependentBests.Session], [MetricsSummary]) = ([], [], [])
        for file in Self.files {
            for (number, read) in try RecordingFile.all(path: "\(folder)/\(file)").enumerated() {
                for recording in [read.recording, read.recording.withoutDistance, read.recording.inTurns] {
                    let session = try PlayedWorkout(recording).session
                    let watch = Device("watch-1")!
                    let locations = CountedLocations(
                        streams: [watch: recording.locations], segments: session.segments,
                        activity: session.activity, environment: session.environment)
                    let track = Track(locations)
                    let route = RouteInput(track: track, totals: locations.summary())
                    // A phone that recorded everything counts in the watch's gaps.
                    var streams = [watch: recording.samples]
                    if recording.samples.count < read.recording.samples.count {
                        streams[Device("phone-1")!] = read.recording.samples
                    }
                    let items = CountedItems(streams: streams, segments: session.segments)
                    names.append("\(file) \(number + 1)")
                    found.append(
                        items.summary(
                            route: route, laps: [], units: .metric,
                            physiology: Physiology(profile, of: session.state(revision: 1)),
                            activity: session.activity, poolLength: session.state(revision: 1).poolLength))
                    sessions.append(
                        .init(
                            streams, session.segments, activity: session.activity, profile: profile,
                            poolLength: session.state(revision: 1).poolLength,
                            track: zip(track.times, track[.distance] ?? []).compactMap { time, meters in
                                meters.map { (time, $0) }
                            }))
                }
            }
        }
        let results = try await IndependentBests.results(of: sessions)
        for (index, (summary, result)) in zip(found, results).enumerated() {
            #expect(result.differences(from: summary) == [], "\(names[index])")
        }
        let bests = found.compactMap(\.bests)
        #expect(bests.contains { $0.heartRate != nil } && bests.contains { $0.distance?.count ?? 0 > 3 })
        #expect(found.allSatisfy { ($0.sketch?.utf8.count ?? 0) < 600 })
    }
}

extension Recording {
    /// Without the items of every other five minutes.
    fileprivate var inTurns: Recording {
        var recording = self
        recording.samples.removeAll { item in
            item.time.map { Int($0.seconds(since: start) / 300) % 2 == 1 } ?? true
        }
        return recording
    }
}
