import TestSupport
import Testing
import Workouts

@testable import Formats

private typealias Fixture = TrackFixture

/// Pauses that a file shows by a lap's duration alone.
@Suite struct AutoPauseTests {
    private func recording(_ duration: Double, _ tracks: [[Double]], more: [String] = []) throws -> Recording {
        let folder = try TemporaryFolder()
        let lap = Fixture.lap(0, duration: duration, tracks.map { $0.map { Fixture.trackpoint($0) } })
        return try RecordingFile(path: try folder.write(Fixture.tcx([lap] + more), to: "a.tcx")).recording
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
}
