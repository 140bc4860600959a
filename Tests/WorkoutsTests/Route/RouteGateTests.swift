import TestSupport
import Testing

@testable import Workouts

/// The choice of valid fixes.
@Suite struct RouteGateTests {
    private func distance(_ locations: [Location], _ activity: Activity = .running) -> Double {
        counted(["watch": locations], [segment(0, 1_800)], activity).totals.distance
    }

    @Test(arguments: [1_000.0, 5_000, 500_000], [0, 1, 900, 1_798, 1_799])
    func `a single bad fix does not move the distance`(meters: Double, index: Int) {
        var random = SeededRandom()
        var locations = random.way(seconds: 1_800, speed: 3, noise: 4, memory: 0.9)
        let expected = distance(locations)
        locations[index].displace(by: meters, towards: .random(in: 0..<360, using: &random))
        #expect(abs(distance(locations) / expected - 1) < 0.005)
        #expect(counted(["watch": locations], [segment(0, 1_800)]).fixes.count == 1_799)
    }

    @Test(arguments: [(Activity.running, 3.0), (.walking, 1.4), (.cycling, 9)])
    func `five percent of bad fixes do not move the distance`(activity: Activity, speed: Double) {
        var random = SeededRandom()
        for _ in 0..<10 {
            var locations = random.way(seconds: 1_800, speed: speed, noise: 2, memory: 0.95)
            let expected = distance(locations, activity)
            for index in locations.indices where Int.random(in: 0..<20, using: &random) == 0 {
                locations[index].displace(
                    by: .random(in: 1_000...500_000, using: &random), towards: .random(in: 0..<360, using: &random))
            }
            #expect(abs(distance(locations, activity) / expected - 1) < 0.005)
        }
    }

    @Test func `consistent bad fixes lose against more good ones`() {
        var random = SeededRandom()
        let locations = random.way(seconds: 1_800, speed: 3)
        for start in [0, 900, 1_794] {
            var spoiled = locations
            for index in start..<start + 6 { spoiled[index].displace(by: 2_000, towards: 45) }
            #expect(abs(distance(spoiled) / distance(locations) - 1) < 0.005)
        }
    }

    @Test func `after an impossible jump the route continues elsewhere without a line and without that distance`() {
        var random = SeededRandom()
        let before = random.way(seconds: 600, speed: 3)
        var there = before[599]
        there.displace(by: 20_000, towards: 90)
        let after = random.way(
            seconds: 600, speed: 3, from: year2026 + 600, latitude: there.latitude!, longitude: there.longitude!)
        let locations = counted(["watch": before + after], [segment(0, 1_320)])
        #expect(abs(locations.totals.distance - 2 * 599 * 3) < 2 * 600 * 3 * 0.02)
        #expect(locations.summary().polyline.count == 2)
        #expect(locations.fixes.indices.filter { locations.startsLine($0) }.count == 2)
    }

    @Test(arguments: [(Activity.walking, 7.0), (.hiking, 4.5), (.swimming, 12), (.running, 25), (.walking, 15)])
    func `a ride counts under any activity's name`(activity: Activity, speed: Double) {
        var random = SeededRandom()
        let seconds = 600
        let way = random.way(seconds: seconds + 1, speed: speed, noise: 2, memory: 0.9)
        let locations = counted(["phone": way], [segment(0, Double(seconds))], activity)
        #expect(abs(locations.totals.distance / (Double(seconds) * speed) - 1) < 0.03)
        #expect(locations.summary().polyline.count == 1)
        let summary = locations.summary()
        #expect((summary.maximumSpeed ?? 0) >= summary.averageSpeed ?? .infinity)
    }

    @Test func `a straight line counts through a tunnel`() {
        let start = Location(time: year2026, latitude: 47, longitude: 8)
        let locations = (0..<600).map { second in
            var location = start
            location.time = year2026 + Double(second)
            location.displace(by: 3 * Double(second), towards: 30)
            return location
        }
        let tunnel = Array(locations[..<200] + locations[320...])
        #expect(abs(distance(tunnel) - 599 * 3) < 3)
        #expect(counted(["watch": tunnel], [segment(0, 600)]).summary().polyline.count == 1)
    }

    @Test func `inaccurate, incomplete, impossible and outside fixes do not count`() {
        var random = SeededRandom()
        let locations = random.way(seconds: 300, speed: 3)
        let inside = [segment(0, 299)]
        let expected = counted(["watch": locations], inside)
        var more = locations
        for (accuracy, number) in [(50.0, 10), (1e9, 11), (-1, 12)] {
            var bad = locations[number]
            bad.displace(by: 20, towards: 0)
            bad[.horizontalAccuracy] = accuracy
            bad.time = bad.time! + 0.5
            more.append(bad)
        }
        var incomplete = locations[20]
        incomplete[.latitude] = nil
        more += [incomplete, Location(), Location(time: year2026 + 20.5)]
        more += random.way(seconds: 100, speed: 3, from: year2026 + 299.5)
        #expect(counted(["watch": more], inside).fixes.map(\.time) == expected.fixes.map(\.time))
        #expect(counted(["watch": more], inside).totals == expected.totals)
        #expect(counted(["watch": more], [segment(0, nil)]).fixes.isEmpty)
    }

    @Test func `an indoor session has no route`() {
        var random = SeededRandom()
        let streams = ["watch": random.way(seconds: 300, speed: 3)]
        let locations = counted(streams, [segment(0, 300)], .running, .indoor)
        #expect(locations.summary() == RouteSummary())
        #expect(Track(locations).times.isEmpty)
    }

    @Test func `fixes of one moment count once`() {
        var random = SeededRandom()
        let locations = random.way(seconds: 300, speed: 3)
        let doubled = locations.flatMap { [$0, $0] }
        #expect(counted(["watch": doubled], [segment(0, 300)]).totals.distance == distance(locations))
    }
}
