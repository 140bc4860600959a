import TestSupport
import Testing

@testable import Workouts

/// Several devices in one session.
@Suite struct RouteSourcesTests {
    /// The path as measured by a device, with its own noise.
    private func sight(_ way: [Location], _ noise: Double, _ random: inout SeededRandom) -> [Location] {
        way.map { location in
            var location = location
            location.displace(by: random.normal(noise), towards: .random(in: 0..<360, using: &random))
            location.time = location.time! + 0.3
            return location
        }
    }

    @Test func `two devices side by side count once and the watch takes precedence`() {
        var random = SeededRandom()
        let way = random.way(seconds: 900, speed: 3)
        let alone = counted(["watch": way], [segment(0, 900)])
        let both = counted(["watch": way, "phone": sight(way, 5, &random)], [segment(0, 900)])
        #expect(both.totals == alone.totals)
        #expect(both.fixes.count == 900)
    }

    @Test func `the phone fills a gap of the watch without double counting or loss`() {
        var random = SeededRandom()
        let way = random.way(seconds: 1_200, speed: 3)
        let phone = sight(way, 2, &random)
        for gap in [300..<360, 300..<900, 0..<400, 700..<1_200] {
            let watch = way.indices.filter { !gap.contains($0) }.map { way[$0] }
            let counted = counted(["watch": watch, "phone": phone], [segment(0, 1_200)])
            #expect(abs(counted.totals.distance / (1_199 * 3) - 1) < 0.02)
            let fromPhone = counted.fixes.indices.count { counted.devices[counted.source($0)].kind == "phone" }
            #expect(abs(fromPhone - gap.count) <= 2)
            #expect(counted.summary().polyline.count == 1)
            let distances = Track(counted).columns.first { $0.kind == .distance }?.values.compactMap { $0 } ?? []
            #expect(distances == distances.sorted())
        }
    }

    @Test func `a device at another place starts a new line`() {
        var random = SeededRandom()
        let way = random.way(seconds: 600, speed: 3)
        let home = way.map { location in
            var location = location
            location.displace(by: 10_000, towards: 90)
            return location
        }
        let counted = counted(["watch": Array(way[..<300]), "phone": home], [segment(0, 600)])
        #expect(counted.summary().polyline.count == 2)
    }

    @Test func `a source with only bad fixes yields to the next`() {
        var random = SeededRandom()
        let way = random.way(seconds: 600, speed: 3)
        var watch = way
        for index in watch.indices { watch[index][.horizontalAccuracy] = 80 }
        let counted = counted(["watch": watch, "phone": way], [segment(0, 600)])
        #expect(counted.devices.map(\.kind) == ["phone"])
        #expect(counted.fixes.count == 600)
    }
}
