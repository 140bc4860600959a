import TestSupport
import Testing

@testable import Workouts

/// A user who moves elsewhere during each pause.
@Suite struct RoutePauseTests {
    /// A path in each segment, 2 km from the previous one; fixes continue during the pauses.
    private func journey(_ random: inout SeededRandom) -> (segments: [Segment], locations: [Location]) {
        var segments: [Segment] = []
        var locations: [Location] = []
        var second = 0.0
        for part in 0..<Int.random(in: 2...6, using: &random) {
            let length = Int.random(in: 20...600, using: &random)
            let pause = Int.random(in: 1...900, using: &random)
            segments.append(segment(second, second + Double(length)))
            let start = year2026 + second
            locations += random.way(
                seconds: length, speed: 3, from: start, noise: 2, memory: 0.9, latitude: 47 + Double(part) / 10)
            locations += random.way(
                seconds: pause - 1, speed: 3, from: start + Double(length) + 0.5, latitude: 47 + Double(part) / 10)
            second += Double(length + pause)
        }
        return (segments, locations)
    }

    @Test func `a pause has no line and no distance`() throws {
        var random = SeededRandom()
        for _ in 0..<20 {
            let (segments, locations) = journey(&random)
            let whole = counted(["watch": locations], segments)
            let summary = whole.summary()
            var distance = 0.0
            for part in segments {
                let alone = counted(["watch": locations], [part])
                #expect(alone.summary().polyline.count == 1)
                distance += alone.totals.distance
            }
            // The noise of a segment smooths the next one, whose last leg of 5 m or more may then not count.
            let tolerance = distance / 1_000 + 5 * Double(segments.count)
            #expect(abs(try #require(summary.distance) - distance) <= tolerance)
            var live = LiveRoute(activity: .running, environment: .outdoor)
            live.addItems(locations, from: Device("watch")!, segments: segments, now: year2026 + 10_000)
            let session = Session(
                key: SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!),
                start: SessionStart(activity: .running, countdown: 0), at: year2026, now: year2026)
            let shown = live.snapshot(session.state(revision: 1), revision: 2, count: 0, isSilent: false)
            #expect(shown.distance == summary.distance)
            for polyline in [summary.polyline, shown.polyline] {
                #expect(polyline.count == segments.count)
                for line in polyline.map(decodedPolyline) {
                    for (from, to) in zip(line, line.dropFirst()) { #expect(from.distance(to: to) < 5_000) }
                }
            }
        }
    }

    @Test func `adjacent segments separate the line but not the distance`() throws {
        var random = SeededRandom()
        let way = random.way(seconds: 600, speed: 3)
        let joined = counted(["watch": way], [segment(0, 300), segment(300, 600)])
        #expect(abs(joined.totals.distance - 599 * 3) < 30)
        #expect(joined.summary().polyline.count == 2)
    }
}
