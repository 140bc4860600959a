import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct LiveRouteTests {
    private let watch = Device("watch-1")!
    private let phone = Device("phone-1")!
    private let now = year2026 + 100_000

    private func state(_ segments: [Segment]) -> SessionState {
        let session = Session(
            key: SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!),
            start: SessionStart(activity: .running, countdown: 0), at: year2026, now: year2026)
        var state = session.state(revision: 1)
        state.segments = segments
        return state
    }

    private func snapshot(_ live: LiveRoute, _ segments: [Segment], isSilent: Bool = false) -> RouteSnapshot {
        live.snapshot(state(segments), revision: 2, count: 0, isSilent: isSilent)
    }

    private func fold(_ streams: [Device: [Location]], _ segments: [Segment]) -> LiveRoute {
        LiveRoute(
            streams: streams.mapValues { ItemSource($0) }, segments: segments, activity: .running,
            environment: .outdoor, now: now)
    }

    /// A path with pauses, gaps, bad fixes and altitudes.
    private func spoiled(_ segments: [Segment], _ random: inout SeededRandom) -> [Location] {
        let seconds = Int(segments.last!.end!.seconds(since: year2026)) + 20
        var locations = random.way(seconds: seconds, speed: 3, noise: 4, memory: 0.9)
        for index in locations.indices {
            locations[index][.altitude] = 500 + 20 * sin(Double(index) / 100)
            switch Int.random(in: 0..<30, using: &random) {
            case 0:
                locations[index].displace(
                    by: .random(in: 100...100_000, using: &random), towards: .random(in: 0..<360, using: &random))
            case 1: locations[index][.horizontalAccuracy] = 100
            case 2: locations[index] = Location()
            default: break
            }
        }
        var gap = 0
        return locations.filter { _ in
            if gap == 0, Int.random(in: 0..<200, using: &random) == 0 { gap = .random(in: 1...60, using: &random) }
            gap = max(0, gap - 1)
            return gap == 0
        }
    }

    private func expectSame(
        _ snapshot: RouteSnapshot, _ streams: [Device: [Location]], _ segments: [Segment],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let summary = CountedLocations(
            streams: streams, segments: segments, activity: .running, environment: .outdoor
        ).summary()
        #expect(snapshot.distance == summary.distance, sourceLocation: sourceLocation)
        #expect(snapshot.ascent == summary.ascent, sourceLocation: sourceLocation)
        #expect(snapshot.descent == summary.descent, sourceLocation: sourceLocation)
    }

    @Test func `the running fold of one device equals a fold of all items and the summary`() {
        var random = SeededRandom()
        for _ in 0..<10 {
            let segments = random.segments()
            let locations = spoiled(segments, &random)
            var live = LiveRoute(activity: .running, environment: .outdoor)
            var rest = locations[...]
            while !rest.isEmpty {
                let batch = rest.prefix(.random(in: 1...40, using: &random))
                rest = rest.dropFirst(batch.count)
                live.addItems(Array(batch), from: watch, segments: segments, now: now)
                #expect(live.isExact)
                // A restarted service folds its stored items.
                guard Int.random(in: 0..<10, using: &random) == 0 else { continue }
                let streams = [watch: Array(locations[..<rest.startIndex])]
                let refolded = fold(streams, segments)
                #expect(snapshot(refolded, segments) == snapshot(live, segments))
                expectSame(snapshot(live, segments), streams, segments)
                if Bool.random(using: &random) { live = refolded }
            }
            expectSame(snapshot(live, segments), [watch: locations], segments)
        }
    }

    @Test func `any order of devices and batches ends with the totals of the summary`() {
        var random = SeededRandom()
        for _ in 0..<15 {
            let segments = random.segments()
            var streams: [Device: [Location]] = [:]
            for name in ["watch-1", "phone-1", "phone-2"].prefix(.random(in: 2...3, using: &random)) {
                var locations = spoiled(segments, &random)
                if Bool.random(using: &random), !locations.isEmpty {
                    locations.swapAt(0, Int.random(in: 0..<locations.count, using: &random))
                }
                streams[Device(name)!] = locations
            }
            var live = LiveRoute(activity: .running, environment: .outdoor)
            var next: [Device: Int] = [:]
            while let device = streams.keys.sorted().filter({ next[$0, default: 0] < streams[$0]!.count })
                .randomElement(using: &random)
            {
                let start = next[device, default: 0]
                let end = min(start + .random(in: 1...200, using: &random), streams[device]!.count)
                live.addItems(Array(streams[device]![start..<end]), from: device, segments: segments, now: now)
                next[device] = end
                if !live.isExact, Bool.random(using: &random) {
                    live = fold(
                        streams.mapValues { Array($0[..<0]) }.merging(
                            next.map { ($0.key, Array(streams[$0.key]![..<$0.value])) }
                        ) { $1 }, segments)
                }
            }
            if !live.isExact { live = fold(streams, segments) }
            expectSame(snapshot(live, segments), streams, segments)
        }
    }

    @Test func `the route has a grade and its maximum speed`() throws {
        var random = SeededRandom()
        let open = [segment(0, nil)]
        var way = random.way(seconds: 300, speed: 3)
        for second in way.indices { way[second][.altitude] = 500 + 0.15 * Double(second) }
        var live = LiveRoute(activity: .running, environment: .outdoor)
        live.addItems(way, from: watch, segments: open, now: now)
        let shown = snapshot(live, open)
        #expect(abs(try #require(shown.grade) - 0.05) < 0.02)
        #expect(abs(try #require(shown.maximumSpeed) - 3) < 0.5)
        #expect(try #require(shown.maximumSpeed) >= shown.speed ?? 0)
        #expect(snapshot(fold([watch: way], open), open).grade == shown.grade)
        #expect(snapshot(live, open, isSilent: true).grade == nil)
    }

    @Test func `a late fix requires another fold`() {
        var random = SeededRandom()
        let way = random.way(seconds: 100, speed: 3)
        var live = LiveRoute(activity: .running, environment: .outdoor)
        live.addItems(Array(way[..<50]) + Array(way[51...]), from: watch, segments: [segment(0, nil)], now: now)
        #expect(live.isExact)
        live.addItems([way[50]], from: watch, segments: [segment(0, nil)], now: now)
        #expect(!live.isExact)
    }

    @Test func `a second device requires a fold only if it takes precedence or the first falls silent`() {
        var random = SeededRandom()
        let way = random.way(seconds: 200, speed: 3)
        let open = [segment(0, nil)]
        func live(_ parts: [(Device, Range<Int>)]) -> LiveRoute {
            var live = LiveRoute(activity: .running, environment: .outdoor)
            for (device, range) in parts {
                for location in way[range] { live.addItems([location], from: device, segments: open, now: now) }
            }
            return live
        }
        #expect(live([(watch, 0..<100), (phone, 0..<100), (watch, 100..<115)]).isExact)
        #expect(!live([(phone, 0..<10), (watch, 10..<11)]).isExact)
        #expect(!live([(watch, 0..<100), (phone, 100..<120)]).isExact)
        var after = fold([watch: Array(way[..<100]), phone: way], open)
        after.addItems([way[199]], from: phone, segments: open, now: now)
        #expect(snapshot(after, open).distance! > 199 * 3 * 0.98)
    }

    @Test func `the snapshot has the last position and no speed when the position is old`() {
        var random = SeededRandom()
        var way = random.way(seconds: 100, speed: 3)
        for index in way.indices { way[index][.altitude] = 100 + Double(index) / 10 }
        let open = [segment(0, nil)]
        var live = LiveRoute(activity: .running, environment: .outdoor)
        live.addItems(way, from: watch, segments: open, now: now)
        let shown = snapshot(live, open)
        #expect(shown.newest == way[99].time)
        #expect(shown.latitude == way[99].latitude && shown.longitude == way[99].longitude)
        #expect(shown.altitude == way[99].altitude)
        #expect(abs((shown.speed ?? 0) - 3) < 0.2)
        #expect(abs((shown.distance ?? 0) - 297) < 6)
        #expect(shown.polyline.count == 1)
        let silent = snapshot(live, open, isSilent: true)
        #expect(silent.speed == nil && silent.altitude == nil && silent.latitude == shown.latitude)
        live.addItems([Location(time: year2026 + 115)], from: watch, segments: open, now: now)
        #expect(snapshot(live, open).speed == nil)
    }

    @Test func `a bad fix at the end is not shown`() {
        var random = SeededRandom()
        var way = random.way(seconds: 100, speed: 3)
        way[99].displace(by: 2_000, towards: 0)
        var live = LiveRoute(activity: .running, environment: .outdoor)
        live.addItems(way, from: watch, segments: [segment(0, nil)], now: now)
        #expect(snapshot(live, [segment(0, nil)]).latitude == way[98].latitude)
    }

    @Test func `an indoor session has a count of items and no route`() {
        var random = SeededRandom()
        var live = LiveRoute(activity: .running, environment: .indoor)
        live.addItems(random.way(seconds: 100, speed: 3), from: watch, segments: [segment(0, nil)], now: now)
        var expected = RouteSnapshot(user: User("anna")!, revision: 2)
        expected.newest = year2026 + 99
        expected.count = 100
        #expect(live.snapshot(state([]), revision: 2, count: 100, isSilent: false) == expected)
    }

    @Test func `a device whose clock is ahead does not block the others`() {
        var random = SeededRandom()
        let way = random.way(seconds: 100, speed: 3)
        let open = [segment(0, nil)]
        let clock = year2026 + 100
        var live = LiveRoute(activity: .running, environment: .outdoor)
        live.addItems(way, from: watch, segments: open, now: clock)
        var ahead = way[99]
        ahead.time = year2026 + 50_000
        live.addItems([ahead], from: phone, segments: open, now: clock)
        #expect(!live.isExact)
        #expect(live.newest == way[99].time)
        let refolded = LiveRoute(
            streams: [watch: ItemSource(way), phone: ItemSource([ahead])], segments: open, activity: .running,
            environment: .outdoor, now: clock)
        #expect(refolded.newest == way[99].time)
        #expect(snapshot(refolded, open).latitude == way[99].latitude)
    }

    @Test func `a day of running with many pauses stays within the size`() throws {
        var random = SeededRandom()
        var live = LiveRoute(activity: .running, environment: .outdoor)
        let segments = (0..<720).map { segment(Double($0) * 120, Double($0) * 120 + 100) }
        let way = random.way(seconds: 86_400, speed: 3, noise: 5, memory: 0.95)
        for start in stride(from: 0, to: way.count, by: 600) {
            live.addItems(Array(way[start..<start + 600]), from: watch, segments: segments, now: now)
            let polyline = snapshot(live, segments).polyline
            #expect(try JSONEncoder().encode(polyline).count <= LiveRoute.polylineLimit)
        }
        #expect(live.isExact)
    }
}
