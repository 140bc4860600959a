import TestSupport
import Testing
import Workouts

@testable import Formats

private typealias Fixture = TrackFixture

/// Pauses that a file shows by its active time or by gaps alone.
@Suite struct AutoPauseTests {
    private func recording(_ duration: Double, _ tracks: [[Double]], more: [String] = []) throws -> Recording {
        let folder = try TemporaryFolder()
        let lap = Fixture.lap(0, duration: duration, tracks.map { $0.map { Fixture.trackpoint($0) } })
        return try RecordingFile(path: try folder.write(Fixture.tcx([lap] + more), to: "a.tcx")).recording
    }

    /// A GPX file with a `trkseg` for each list of points, metres north at a time.
    private func gpx(
        type: String? = "running", totals: [String: Double] = [:], _ parts: [[(time: Double, north: Double)]]
    ) throws -> Recording {
        let points = parts.map { $0.map { Fixture.point($0.time, latitude: 47.2 + $0.north / 111_195) } }
        let folder = try TemporaryFolder()
        let file = try folder.write(Fixture.gpx(type: type, totals: totals, points), to: "a.gpx")
        return try RecordingFile(path: file).recording
    }

    /// Points at 3 m/s while they last, a second apart.
    private func moving(_ times: [Double]) -> [(time: Double, north: Double)] {
        times.enumerated().map { ($1, Double($0) * 3) }
    }

    private func segments(_ recording: Recording) -> [[Double]] {
        recording.segments.map { [$0.lowerBound.seconds - Fixture.start, $0.upperBound.seconds - Fixture.start] }
    }

    /// Times from `from` to `to`, a second apart.
    private func run(_ from: Int, _ to: Int) -> [Double] { (from...to).map(Double.init) }

    @Test func `gaps in a track are pauses as far as the lap's duration asks for them`() throws {
        let track = run(0, 100) + run(400, 500) + run(620, 700)
        #expect(segments(try recording(282, [track])) == [[0, 101], [400, 501], [620, 700]])
        #expect(segments(try recording(700, [track])) == [[0, 700]])
        // The gap of 300 s explains it all.
        #expect(segments(try recording(410, [track])) == [[0, 110], [400, 700]])
    }

    @Test func `usual gaps are no pauses`() throws {
        let track = stride(from: 0.0, through: 600, by: 8).map { $0 }
        #expect(segments(try recording(500, [track])) == [[0, 600]])
    }

    @Test func `pauses between tracks count already`() throws {
        #expect(segments(try recording(200, [run(0, 100), run(300, 400)])) == [[0, 100], [300, 400]])
    }

    @Test func `a lap after an auto-pause continues without one`() throws {
        let next = Fixture.lap(500, duration: 50, [run(500, 550).map { Fixture.trackpoint($0) }])
        #expect(
            segments(try recording(201, [run(0, 100) + run(400, 500)], more: [next])) == [[0, 101], [400, 550]])
    }

    @Test func `random pauses leave the lap's duration`() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            var (at, active, track) = (0, 0, [Double]())
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let length = Int.random(in: 30...300, using: &random)
                track += run(at, at + length)
                active += length
                at += length + Int.random(in: 10...2_000, using: &random)
            }
            let recording = try recording(Double(active), [track])
            let found = recording.segments.duration
            #expect(abs(found - Double(active)) <= max(9, Double(active) / 100))
            let bounds = segments(recording).flatMap(\.self)
            #expect(bounds == bounds.sorted())
        }
    }

    @Test func `gaps in a trkseg are pauses as far as the track's timer asks for them`() throws {
        let track = moving(run(0, 100) + run(400, 500) + run(620, 700))
        #expect(segments(try gpx(totals: ["TimerTime": 282], [track])) == [[0, 101], [400, 501], [620, 700]])
        #expect(segments(try gpx(totals: ["TimerTime": 700], [track])) == [[0, 700]])
        #expect(segments(try gpx(totals: ["TimerTime": 410], [track])) == [[0, 110], [400, 700]])
        // A timer that runs longer than the points does not extend them.
        #expect(segments(try gpx(totals: ["TimerTime": 5_000], [track])) == [[0, 700]])
        #expect(segments(try gpx(totals: ["TimerTime": 200], [moving(run(0, 100)), moving(run(300, 400))])).count == 2)
    }

    @Test func `without a timer, gaps in a trkseg are pauses if the device stayed at its place`() throws {
        let track = moving(run(0, 100) + run(400, 500) + run(620, 700))
        #expect(segments(try gpx([track])) == [[0, 101], [400, 501], [620, 700]])
        #expect(segments(try gpx(type: nil, [track])) == [[0, 101], [400, 501], [620, 700]])
        #expect(segments(try gpx([Array(track[..<150]), Array(track[150...])])).count == 4)
        // 30 s, and a tunnel: the device moved on.
        #expect(segments(try gpx([moving(run(0, 100) + run(130, 200))])) == [[0, 200]])
        #expect(segments(try gpx([track.map { ($0.time, $0.time * 3) }])) == [[0, 700]])
        #expect(segments(try gpx([track.map { ($0.time, $0.time * 0.3) }])) == [[0, 501], [620, 700]])
        // Points that are always far apart in time.
        #expect(segments(try gpx([moving(stride(from: 0, through: 600, by: 40).map(\.self))])) == [[0, 600]])
    }

    @Test func `random pauses inside a trkseg leave the active time, with and without a timer`() throws {
        var random = SeededRandom()
        for round in 0..<60 {
            var (at, active, times) = (0, 0, [Double]())
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let length = Int.random(in: 30...300, using: &random)
                times += run(at, at + length)
                active += length
                at += length + Int.random(in: 32...2_000, using: &random)
            }
            let recording = try gpx(totals: round % 2 == 0 ? ["TimerTime": Double(active)] : [:], [moving(times)])
            #expect(abs(recording.segments.duration - Double(active)) <= max(9, Double(active) / 100))
            let bounds = segments(recording).flatMap(\.self)
            #expect(bounds == bounds.sorted())
        }
    }

    @Test func `a GPX track's totals are the file's own`() throws {
        let recording = try gpx(totals: ["TimerTime": 282, "Distance": 840, "Ascent": 12], [moving(run(0, 282))])
        #expect(recording.totals == RecordedTotals(distance: 840, activeTime: 282, ascent: 12))
        #expect(recording.samples.allSatisfy { $0[.distance] == nil })
    }
}
