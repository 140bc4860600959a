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

    /// Points at 3 m/s that stop for the last 5 s before each gap of more than 30 s.
    private func resting(_ times: [Double]) -> [(time: Double, north: Double)] {
        let gaps = zip(times, times.dropFirst()).filter { $1 - $0 > 30 }.map(\.0)
        var (north, gap) = (0.0, gaps[...])
        return times.map { time in
            while let next = gap.first, next < time { gap.removeFirst() }
            if gap.first.map({ time <= $0 - 5 }) ?? true { north += 3 }
            return (time, north)
        }
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

    @Test func `without a timer, gaps in a trkseg are pauses if the device rested before and stayed at its place`()
        throws
    {
        let track = resting(run(0, 100) + run(400, 500) + run(620, 700))
        #expect(segments(try gpx([track])) == [[0, 101], [400, 501], [620, 700]])
        #expect(segments(try gpx(type: nil, [track])) == [[0, 101], [400, 501], [620, 700]])
        #expect(segments(try gpx([Array(track[..<150]), Array(track[150...])])).count == 4)
        // 30 s, and a tunnel: the device moved on.
        #expect(segments(try gpx([resting(run(0, 100) + run(130, 200))])) == [[0, 200]])
        #expect(segments(try gpx([track.map { ($0.time, $0.time * 3) }])) == [[0, 700]])
        // At 0.3 m/s it moved 90 m and 36 m.
        #expect(segments(try gpx([track.map { ($0.time, $0.time * 0.3) }])) == [[0, 501], [620, 700]])
        // Points that are always far apart in time.
        #expect(segments(try gpx([moving(stride(from: 0, through: 600, by: 40).map(\.self))])) == [[0, 600]])
    }

    @Test func `without a timer, a gap is lost signal if the device moved before it, also if it returns`() throws {
        // A lap of 400 m on a track in 90 s ends where it began; then the device rests until 540.
        var lap = moving(run(0, 100) + run(190, 300)).map {
            (time: $0.time, north: $0.time < 190 ? $0.north : $0.north - 3)
        }
        #expect(segments(try gpx([lap])) == [[0, 300]])
        let end = lap[lap.count - 1].north
        lap += run(301, 310).map { ($0, end) } + run(540, 600).map { ($0, end + ($0 - 540) * 3) }
        #expect(segments(try gpx([lap])) == [[0, 311], [540, 600]])
        // The speed before a gap is that since the previous one, and a point between two gaps has none.
        let fast = [(400.0, end + 5), (402.0, end + 11), (500.0, end + 11), (600.0, end + 11)]
        #expect(segments(try gpx([Array(lap[..<222]) + fast])) == [[0, 311], [400, 600]])
    }

    @Test func `pauses inside of many segments are removed at once`() throws {
        let count = 50_000
        let starts = (0..<count).map { Timestamp(seconds: Fixture.start + Double($0) * 100) }
        let segments = starts.map { $0...$0 + 90.0 }
        // Each segment has points for 10 s, then none for 70 s, then again.
        let parts = starts.map { start in
            [0.0, 5, 10, 80, 85, 90].map { second in
                var point = RecordedTrack.Point()
                (point.time, point.latitude, point.longitude) = (start + second, 47.2, 9.04)
                return point
            }
        }
        let clock = ContinuousClock()
        let duration = clock.measure {
            #expect(AutoPauses(resting: parts, .running).removed(from: segments).count == 2 * count)
            let times = parts.flatMap { $0.compactMap(\.time) }
            let pauses = AutoPauses(times, in: segments, activeTime: Double(count) * 25)
            #expect(pauses.removed(from: segments.reversed()).count == 2 * count)
        }
        #expect(duration < .seconds(60))
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
            let recording = try gpx(totals: round % 2 == 0 ? ["TimerTime": Double(active)] : [:], [resting(times)])
            #expect(abs(recording.segments.duration - Double(active)) <= max(9, Double(active) / 100))
            let bounds = segments(recording).flatMap(\.self)
            #expect(bounds == bounds.sorted())
        }
    }

    @Test func `a GPX track's totals are the file's own`() throws {
        let recording = try gpx(
            totals: ["TimerTime": 282, "Distance": 840, "Ascent": 12, "Descent": 9], [moving(run(0, 282))])
        #expect(recording.totals == RecordedTotals(distance: 840, activeTime: 282, ascent: 12, descent: 9))
        #expect(recording.samples.allSatisfy { $0[.distance] == nil })
    }
}
