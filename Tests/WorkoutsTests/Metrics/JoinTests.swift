import TestSupport
import Testing

@testable import Workouts

/// Totals from samples and route together.
@Suite struct JoinTests {
    private let whole = [segment(0, 1_200)]

    private var physiology: Physiology {
        var profile = Profile()
        (profile.weight, profile.birthYear) = (70, 1986)
        var physiology = Physiology()
        physiology.energy = EnergyEstimate(profile, activity: .running, startedAt: year2026)
        return physiology
    }

    /// A way at a steady speed that climbs 100 m after the first third.
    private func climbing(seconds: Int, speed: Double) -> [Location] {
        var random = SeededRandom()
        var locations = random.way(seconds: seconds, speed: speed)
        for index in locations.indices {
            locations[index][.altitude] = 500 + 100 * min(1, max(0, Double(3 * index - seconds) / Double(seconds)))
        }
        return locations
    }

    @Test func `without a measured distance the route gives distance, splits, laps, energy and ascent`() throws {
        let route = counted(["phone": climbing(seconds: 1_201, speed: 3)], whole)
        let hearts = (0...1_200).map { sample(Double($0), [.heartRate: 80]) }
        let result = summary(
            ["watch": hearts], whole, laps: [400], route: route, physiology: physiology, activity: .running)
        let totals = route.summary()
        #expect(result.distance == totals.distance && result.averageSpeed == totals.averageSpeed)
        #expect(try #require(result.maximumSpeed) >= result.averageSpeed ?? .infinity)
        #expect(abs(try #require(result.ascent) - 100) < 3 && result.descent == 0)
        #expect(result.splits.count == 4 && result.laps.count == 2)
        #expect(result.splits.allSatisfy { $0.averageHeartRate == 80 && $0.pace != nil })
        #expect(result.laps.map { $0.ascent ?? -1 }[0] < 3)
        #expect(abs(result.splits.compactMap(\.ascent).reduce(0, +) - (result.ascent ?? 0)) < 0.01)
        // The heart rate is below half of the maximum: 0.2 ml/kg for each metre and 0.9 for each metre upwards.
        let expected = (0.2 * 3_600 + 0.9 * 100) * 70 * 5 / 1_000
        #expect(abs(try #require(result.activeEnergy) / expected - 1) < 0.03)
        #expect(abs(result.laps.compactMap(\.activeEnergy).reduce(0, +) - (result.activeEnergy ?? 0)) < 0.01)
    }

    @Test func `half an hour at 3.33 m per second by GPS alone costs a runner of 70 kg 420 kcal`() throws {
        let end = [segment(0, 1_800)]
        var random = SeededRandom()
        let route = counted(["phone": random.way(seconds: 1_801, speed: 10 / 3)], end)
        let energy = summary([:], end, route: route, physiology: physiology, activity: .running).activeEnergy
        #expect(abs(try #require(energy) - 420) < 8)
    }

    @Test func `a measured distance counts and the route's does not`() {
        let route = counted(["phone": climbing(seconds: 1_201, speed: 3)], whole)
        let result = summary(
            ["watch": (1...1_200).map { sample(Double($0), [.distance: 2]) }], whole, route: route, activity: .running)
        #expect(result.distance == 2_400 && result.averageSpeed == 2 && result.maximumSpeed == 2)
        #expect(result.ascent.map { abs($0 - 100) < 3 } == true)
    }

    @Test func `without distance and route measured speeds give a distance of at most 3 s each`() {
        let speeds = [0.0, 1, 2, 3, 60, 61].map { sample($0, [.speed: 3]) }
        let result = summary(["watch": speeds], [segment(0, 61)], activity: .running)
        #expect(result.distance == 21)
        #expect(result.splits.map(\.distance) == [21])
        // A pause gives no distance.
        #expect(summary(["watch": speeds], [segment(0, 1), segment(60, 61)]).distance == 6)
    }

    @Test func `an impossible distance has a bounded number of splits`() {
        let result = summary(["watch": [sample(1, [.distance: 1e300])]], whole, activity: .running)
        #expect(result.splits.count == MetricsSummary.splitLimit(laps: 1))
    }

    @Test func `a pool's lengths give the distance`() throws {
        let lengths = (1...40).map { sample(Double($0) * 30, [.poolLengths: 1, .speed: 0.1]) }
        let result = summary(["watch": lengths], whole, activity: .swimming, poolLength: 25)
        #expect(result.distance == 1_000 && result.splits.map(\.pace) == [1_200])
        #expect(try #require(result.maximumSpeed) >= 0.833)
        // Without the pool's length the speed counts.
        #expect(summary(["watch": lengths], whole, activity: .swimming).distance == 11.7)
    }

    @Test func `barometric altitude gives ascent indoors and wins over the route's`() {
        let items = (0...1_200).map { sample(Double($0), [.barometricAltitude: 500 + Double($0) / 20]) }
        let indoors = summary(["watch": items], whole)
        #expect(indoors.ascent.map { abs($0 - 60) < 3.5 } == true)
        let route = counted(["phone": climbing(seconds: 1_201, speed: 3)], whole)
        #expect(summary(["watch": items], whole, route: route).ascent == indoors.ascent)
    }

    @Test func `a location without a position keeps its altitude`() throws {
        var locations = climbing(seconds: 1_201, speed: 3)
        let full = counted(["phone": locations], whole)
        for index in locations.indices where index % 2 == 1 || (400..<700).contains(index) {
            locations[index][.latitude] = nil
            locations[index][.longitude] = nil
        }
        let partial = counted(["phone": locations], whole)
        #expect(abs(try #require(partial.summary().ascent) - (try #require(full.summary().ascent))) < 1)
        let track = Track(partial)
        #expect(track.times == track.times.sorted() && track.times.count == 1_201)
        #expect(track[.altitude]?.contains(nil) == false && track[.distance]?.contains(nil) == true)
        let joined = summary([:], whole, route: partial)
        #expect(joined.ascent == partial.summary().ascent && joined.distance == partial.summary().distance)
    }

    @Test func `the order of samples and locations changes nothing`() throws {
        var random = SeededRandom()
        for round in 0..<30 {
            let segments = random.segments()
            let samples = random.streams(around: segments)
            let seconds = Int(segments.last!.end!.seconds(since: year2026)) + 10
            var locations = random.way(seconds: seconds, speed: 3, noise: 3, memory: 0.9)
            for index in locations.indices {
                locations[index][.altitude] = 500 + 20 * (Double(index) / 100).truncatingRemainder(dividingBy: 2)
            }
            let streams: [Device: [Location]] = [Device("phone-1")!: locations]
            let mark = Timestamp(microseconds: (segments[0].start.microseconds + segments.last!.end!.microseconds) / 2)
            var results: Set<String> = []
            for _ in 0..<3 {
                let stored = deliver(samples, &random)
                let route = CountedLocations(
                    streams: deliver(streams, &random), segments: segments, activity: .running, environment: .outdoor)
                let totals = CountedItems(streams: stored, segments: segments).summary(
                    route: route.input, laps: [mark], units: .metric, physiology: physiology, activity: .running)
                results.insert(try json(totals))
            }
            #expect(results.count == 1, "seed \(random.seed), round \(round)")
        }
    }
}
