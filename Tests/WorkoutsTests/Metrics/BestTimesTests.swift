import Testing

@testable import Workouts

/// The fastest times of distances.
@Suite struct BestTimesTests {
    private func bests(
        _ streams: [String: [Sample]], _ segments: [Segment], _ activity: Activity = .running,
        poolLength: Double? = nil
    ) -> [Bests.Distance] {
        summary(streams, segments, activity: activity, poolLength: poolLength).bests?.distance ?? []
    }

    /// Metres a second, for each second after the start.
    private func run(_ speeds: [Double], from start: Int = 0) -> [Sample] {
        speeds.enumerated().map { sample(Double(start + $0 + 1), [.distance: $1]) }
    }

    private func steady(_ seconds: Int, _ speed: Double = 4) -> [Double] {
        [Double](repeating: speed, count: seconds)
    }

    @Test func `the fastest stretch counts with the active time at its start`() {
        let watch = run(steady(300, 3) + steady(100, 5) + steady(400, 3))
        #expect(
            bests(["watch": watch], [segment(0, 800)]) == [
                .init(m: 400, s: 80, t: 300), .init(m: 1_000, s: 266.667, t: 133.333),
                .init(m: 1_609.344, s: 469.781, t: 0),
            ])
    }

    @Test func `of equal times the first counts`() {
        #expect(bests(["watch": run(steady(300))], [segment(0, 300)]).first == .init(m: 400, s: 100, t: 0))
    }

    @Test func `between items the distance grows evenly`() {
        // 30 m in 10 s, then 50 m in 10 s.
        let items = (1...60).map { sample(Double($0) * 10, [.distance: $0 <= 50 ? 30 : 50]) }
        let best = bests(["watch": items], [segment(0, 600)]).first { $0.m == 1_000 }
        #expect(best == .init(m: 1_000, s: 266.667, t: 333.333))
    }

    @Test func `a pause counts as elapsed time`() {
        let first = run(steady(125))
        let second = run(steady(125), from: 185)
        let found = bests(["watch": first + second], [segment(0, 125), segment(185, 310)])
        #expect(found == [.init(m: 400, s: 100, t: 0), .init(m: 1_000, s: 310, t: 0)])
    }

    @Test func `rest before and after a stretch is no part of it`() {
        let items = run(steady(60, 0) + steady(100) + steady(60, 0) + steady(10))
        #expect(bests(["watch": items], [segment(0, 230)]) == [.init(m: 400, s: 100, t: 60)])
        // Rest as a pause.
        let paused = run(steady(10)) + run(steady(100), from: 70)
        #expect(bests(["watch": paused], [segment(0, 10), segment(70, 170)]).first == .init(m: 400, s: 100, t: 10))
    }

    @Test(arguments: [(30.0, [1_000.0]), (30.001, [])])
    func `no stretch contains more than 30 s without items`(silence: Double, expected: [Double]) {
        let first = run(steady(130))
        let second = steady(130).enumerated().map { number, speed in
            sample(130 + silence + Double(number), [.distance: number == 0 ? 4 * silence : speed])
        }
        let found = bests(["watch": first + second], [segment(0, 300)])
        #expect(found.map(\.m) == [400] + expected)
    }

    @Test func `a pause within a silence does not lengthen it`() {
        let items = run(steady(130)) + [sample(245, [.distance: 40])] + run(steady(120), from: 245)
        let found = bests(["watch": items], [segment(0, 140), segment(235, 370)])
        #expect(found.last?.m == 1_000 && found.last?.s == 355)
    }

    @Test func `a second device fills the gap of the first, in any order`() {
        let watch = run(steady(100)) + [sample(201, [.distance: 350])] + run(steady(49), from: 201)
        let phone = run(steady(250, 3.5))
        let whole = [segment(0, 250)]
        let found = bests(["watch-1": watch, "phone-1": phone], whole)
        #expect(found == [.init(m: 400, s: 100, t: 0)])
        #expect(bests(["phone-1": phone.reversed(), "watch-1": watch.reversed()], whole) == found)
        // 3.5 m/s for two minutes, before the watch begins again.
        let slower = bests(["watch-1": run(steady(50)) + run(steady(50), from: 170), "phone-1": phone], whole)
        #expect(slower == [.init(m: 400, s: 107.143, t: 0)])
        #expect(bests(["watch-1": run(steady(50)) + run(steady(50), from: 170)], whole).isEmpty)
    }

    @Test func `a jump is part of no best`() {
        var speeds = steady(700, 3)
        speeds[350] = 1_500
        let found = bests(["watch": run(speeds)], [segment(0, 700)])
        #expect(found == [.init(m: 400, s: 133.333, t: 0), .init(m: 1_000, s: 333.333, t: 0)])
    }

    @Test func `metres during a pause are part of no best`() {
        var speeds = steady(200, 3)
        speeds[100] = 2_000
        let items = run(Array(speeds[..<100])) + run(Array(speeds[100...]), from: 160)
        let found = bests(["watch": items], [segment(0, 100), segment(160, 260)])
        #expect(found.isEmpty)
    }

    @Test func `metres that a sensor reports at once are no jump`() {
        let items = run((0..<400).map { $0 % 10 == 9 ? 40 : 0 })
        let found = bests(["watch": items], [segment(0, 400)])
        #expect(found.map(\.m) == [400, 1_000])
        #expect(found.allSatisfy { $0.m / $0.s < 4.5 })
    }

    @Test(arguments: [
        (Activity.running, 12.0, true), (.hiking, 12.1, false), (.cycling, 30, true), (.cycling, 30.1, false),
        (.swimming, 2.6, true), (.swimming, 2.61, false),
    ])
    func `a mean above the limit is an error of measurement`(activity: Activity, speed: Double, isValid: Bool) {
        let items = run(steady(700, speed))
        #expect(bests(["watch": items], [segment(0, 700)], activity).isEmpty == !isValid)
    }

    @Test func `the distances are those of the activity`() {
        let items = run(steady(10_800, 12))
        func lengths(_ activity: Activity) -> [Double] {
            bests(["watch": items], [segment(0, 10_800)], activity).map(\.m)
        }
        let onFoot = [400, 1_000, 1_609.344, 5_000, 10_000, 21_097.5, 42_195]
        #expect(lengths(.running) == onFoot && lengths(.walking) == onFoot && lengths(.hiking) == onFoot)
        #expect(lengths(.cycling) == [5_000, 20_000, 40_000, 100_000])
        for activity in [Activity.rowing, .traditionalStrength, .functionalStrength, .hiit, .other] {
            #expect(lengths(activity) == [])
        }
        #expect(
            bests(["watch": run(steady(1_000, 1.5))], [segment(0, 1_000)], .swimming).map(\.m) == [100, 400, 1_500])
    }

    @Test func `odd items give no best`() {
        let whole = [segment(0, 3_600)]
        #expect(summary([:], whole, activity: .running).bests == nil)
        #expect(bests(["watch": [Sample()]], whole).isEmpty)
        #expect(bests(["watch": [sample(10, [.distance: 5_000])]], whole).isEmpty)
        #expect(bests(["watch": [sample(0, [.distance: 500]), sample(0, [.distance: 500])]], whole).isEmpty)
        #expect(bests(["watch": run(steady(600, 0))], whole).isEmpty)
        #expect(bests(["watch": run(steady(600))], []).isEmpty)
        #expect(bests(["watch": run(steady(600))], [segment(0, 0)]).isEmpty)
        #expect(bests(["watch": run(steady(600))], [segment(0, nil)]).isEmpty)
        let absurd = ["watch": [sample(1, [.distance: 1e300]), sample(2, [.distance: 1])]]
        #expect(bests(absurd, whole).isEmpty && bests(absurd, whole, .swimming, poolLength: 25).isEmpty)
    }

    @Test func `a route gives bests as a device's distance does`() throws {
        let locations = (0...600).map { second in
            Location(time: year2026 + Double(second), latitude: 47 + Double(second) * 3e-5, longitude: 8)
        }
        let route = CountedLocations(
            streams: [Device("phone")!: locations], segments: [segment(0, 600)], activity: .running,
            environment: .outdoor)
        let result = summary([:], [segment(0, 600)], route: route, activity: .running)
        let speed = try #require(result.distance) / 600
        let best = try #require(result.bests?.distance?.first { $0.m == 1_000 })
        #expect(abs(best.s - 1_000 / speed) < 0.5)
    }
}

/// Times of whole lengths in a pool.
@Suite struct BestPoolTimesTests {
    private func bests(_ items: [Sample], _ segments: [Segment], _ poolLength: Double) -> [Bests.Distance] {
        summary(["watch": items], segments, activity: .swimming, poolLength: poolLength).bests?.distance ?? []
    }

    /// A length that ends at each of these seconds.
    private func lengths(_ seconds: [Double]) -> [Sample] { seconds.map { sample($0, [.poolLengths: 1]) } }

    @Test func `lengths count as a whole`() {
        // The second half of each length is faster, which shows in no length alone.
        let items = lengths([30, 55, 80, 105, 135, 165])
        #expect(bests(items, [segment(0, 165)], 25) == [.init(m: 100, s: 105, t: 0)])
        #expect(bests(items, [segment(0, 165)], 50) == [.init(m: 100, s: 50, t: 30)])
    }

    @Test func `a distance between two lengths needs the longer one`() {
        // 100 m are five lengths of 25 yards.
        let items = lengths((1...10).map { Double($0) * 20 })
        #expect(bests(items, [segment(0, 200)], 22.86) == [.init(m: 100, s: 100, t: 0)])
        #expect(bests(items, [segment(0, 200)], 33.34).first == .init(m: 100, s: 60, t: 0))
    }

    @Test func `rest at the wall before the first length does not count`() {
        // Two lengths, 30 s of rest, four lengths; the metres of each second show the rest.
        var items: [Sample] = []
        for second in 1...180 {
            let isRest = (51...80).contains(second)
            var item = sample(Double(second), [.distance: isRest ? 0 : 1])
            if [25, 50, 105, 130, 155, 180].contains(second) { item[.poolLengths] = 1 }
            items.append(item)
        }
        #expect(bests(items, [segment(0, 180)], 25) == [.init(m: 100, s: 100, t: 80)])
        // Without them the rest belongs to the next length.
        let alone = items.map { item in
            var item = item
            item[.distance] = nil
            return item
        }
        #expect(bests(alone, [segment(0, 180)], 25) == [.init(m: 100, s: 130, t: 0)])
    }

    @Test func `a pause at the wall is rest too`() {
        let items = lengths([25, 50]) + lengths([105, 130, 155, 180])
        #expect(bests(items, [segment(0, 50), segment(80, 180)], 25) == [.init(m: 100, s: 100, t: 50)])
    }

    @Test func `a device that adds the metres of a length at its end shows no rest`() {
        let items = (1...200).map { second in
            var item = sample(Double(second), [.distance: second % 25 == 0 ? 25 : 0])
            if second % 25 == 0 { item[.poolLengths] = 1 }
            return item
        }
        #expect(bests(items, [segment(0, 200)], 25) == [.init(m: 100, s: 100, t: 0)])
    }

    @Test func `slow lengths are no silence`() {
        let items = lengths((1...10).map { Double($0) * 60 })
        #expect(bests(items, [segment(0, 600)], 25).first == .init(m: 100, s: 240, t: 0))
        // Nobody swims 25 m in 151 s: something is missing.
        let far = lengths([60, 120, 271, 331, 391])
        #expect(bests(far, [segment(0, 400)], 25).isEmpty)
        #expect(bests(lengths([60, 120, 270, 330, 390]), [segment(0, 400)], 25).first?.s == 330)
    }

    @Test func `without counted lengths items bound the time`() {
        let items = (1...12).map { sample(Double($0) * 20, [.distance: 30]) }
        #expect(bests(items, [segment(0, 240)], 25).first == .init(m: 100, s: 80, t: 0))
    }
}
