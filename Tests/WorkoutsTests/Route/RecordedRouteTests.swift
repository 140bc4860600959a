import TestSupport
import Testing

@testable import Workouts

/// Routes from positions alone, compared with the totals of the recording devices.
@Suite struct RecordedRouteTests {
    @Test(arguments: [
        ("run-5km.fit", Activity.running, 0.015, 8.0 as Double?),
        ("ride-39km-with-pauses.fit", .cycling, 0.015, 904.0 as Double?),
        ("walk-700m.fit", .walking, 0.03, nil as Double?), ("run-8km.gpx", .running, 0.015, nil as Double?),
    ])
    func `distance and ascent match those of the device`(
        name: String, activity: Activity, tolerance: Double, ascent: Double?
    ) throws {
        guard let route = try RecordedRoute(name, activity) else { return }
        let summary = route.summary()
        let distance = try #require(summary.distance)
        #expect(abs(distance / route.distance - 1) <= tolerance)
        if let ascent { #expect(abs(try #require(summary.ascent) - ascent) <= max(15, ascent / 4)) }
    }

    static let recordings = [
        ("run-5km.fit", Activity.running), ("ride-39km-with-pauses.fit", .cycling), ("walk-700m.fit", .walking),
        ("run-8km.gpx", .running),
    ]

    @Test(arguments: recordings)
    func `a single bad fix changes the distance by less than half a percent`(name: String, activity: Activity) throws {
        guard let route = try RecordedRoute(name, activity) else { return }
        let distance = try #require(route.summary().distance)
        var random = SeededRandom()
        let last = route.locations.count - 1
        for index in [0, 1, 2, last / 3, last / 2, last - 2, last - 1, last] {
            for meters in [1_000.0, 20_000, 500_000] {
                var locations = route.locations
                locations[index].displace(by: meters, towards: Double.random(in: 0...360, using: &random))
                #expect(abs(try #require(route.summary(locations).distance) / distance - 1) < 0.005)
            }
        }
    }

    /// Bad fixes at both ends of a short walk always lose this much, so the bound applies to fixed seeds.
    @Test(arguments: recordings)
    func `five percent of bad fixes change the distance by less than half a percent`(
        name: String, activity: Activity
    ) throws {
        guard let route = try RecordedRoute(name, activity) else { return }
        let distance = try #require(route.summary().distance)
        for seed in 1...5 {
            var random = SeededRandom(seed: UInt64(seed))
            let (spoiled, _) = route.spoiled(&random)
            #expect(abs(try #require(route.summary(spoiled).distance) / distance - 1) < 0.005)
        }
    }

    @Test(arguments: recordings)
    func `bad fixes have the same effect as missing ones`(name: String, activity: Activity) throws {
        guard let route = try RecordedRoute(name, activity) else { return }
        var random = SeededRandom()
        for _ in 0..<3 {
            let (spoiled, rest) = route.spoiled(&random)
            #expect(route.summary(spoiled) == route.summary(rest))
        }
    }
}

extension RecordedRoute {
    /// The locations with 5 % moved by 1 to 500 km, and the unchanged ones alone.
    fileprivate func spoiled(_ random: inout SeededRandom) -> (all: [Location], rest: [Location]) {
        var (all, rest) = (locations, [Location]())
        for index in locations.indices {
            if Int.random(in: 0..<20, using: &random) == 0 {
                all[index].displace(
                    by: .random(in: 1_000...500_000, using: &random), towards: .random(in: 0...360, using: &random))
            } else {
                rest.append(locations[index])
            }
        }
        return (all, rest)
    }
}
