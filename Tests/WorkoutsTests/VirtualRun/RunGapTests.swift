import TestSupport
import Testing

@testable import Workouts

@Suite struct RunGapTests {
    private func steady(_ speed: Double, _ seconds: Double) -> RunCurve {
        var curve = RunCurve()
        for second in stride(from: 0, through: seconds, by: 5) { curve.addPoint(second, second * speed) }
        return curve
    }

    @Test func `the gap is that at equal elapsed time, and its seconds those since the one ahead was there`() {
        let (mine, theirs) = (steady(2.5, 600), steady(3, 600))
        let gap = RunGap(from: mine, to: theirs, at: 600)
        #expect(gap.meters == 300)
        // 1,500 m took them 500 s.
        #expect(gap.seconds == 100)
        let back = RunGap(from: theirs, to: mine, at: 600)
        #expect(back == RunGap(from: theirs, to: mine, at: 600))
        #expect((back.meters, back.seconds) == (-300, -100))
    }

    @Test func `the gap to a runner who stood still is no quotient of distance and speed`() {
        var theirs = steady(3, 300)
        theirs.addPoint(400, 900)
        let gap = RunGap(from: steady(2, 400), to: theirs, at: 400)
        #expect(gap.meters == 100)
        #expect(abs(gap.seconds - (400 - 800 / 3.0)) < 0.002)
    }

    @Test func `equal distances have no gap`() {
        #expect(RunGap(from: steady(3, 60), to: steady(3, 60), at: 30).seconds == 0)
    }

    @Test func `runners are compared at the time that both have reached`() {
        #expect(RunGap.moment(.open(100), .open(80)) == 80)
        #expect(RunGap.moment(.open(100), .goal(80)) == 80)
        #expect(RunGap.moment(.goal(70), .goal(80)) == 70)
    }

    @Test func `who stopped before the goal stands there, and can be passed`() {
        #expect(RunGap.moment(.open(100), .stopped(80)) == 100)
        #expect(RunGap.moment(.stopped(80), .goal(120)) == 120)
        #expect(RunGap.moment(.stopped(80), .stopped(90)) == 90)
        let gap = RunGap(from: steady(2, 400), to: steady(3, 200), at: 400)
        #expect(gap.meters == -200)
    }

    @Test func `gaps are antisymmetric`() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let (mine, theirs) = (random.curve(), random.curve())
            let (first, second) = (random.end(mine), random.end(theirs))
            let moment = RunGap.moment(first, second)
            #expect(moment == RunGap.moment(second, first))
            let there = RunGap(from: mine, to: theirs, at: moment)
            let back = RunGap(from: theirs, to: mine, at: moment)
            #expect(there.meters == -back.meters)
            #expect(there.seconds == -back.seconds)
            #expect(there.meters.sign == there.seconds.sign || there.meters == 0 || there.seconds == 0)
            #expect(there.seconds.magnitude <= moment)
        }
    }

    @Test(arguments: [("run-8km.gpx", Activity.running), ("ride-39km-with-pauses.fit", .cycling)])
    func `the gap of a recording with itself is that by hand`(_ name: String, _ activity: Activity) throws {
        guard let recording = try RecordedRoute(name, activity) else { return }
        let locations = CountedLocations(
            streams: [Device("watch-1")!: recording.locations], segments: recording.segments, activity: activity,
            environment: .outdoor)
        let track = Track(locations)
        let rows = zip(track.times, try #require(track[.distance])).map { (time: $0.0, metres: $0.1 ?? 0) }
        let start = try #require(recording.segments.first?.start)
        // The second runner joins 90 s late: what came before does not count.
        let late = start + 90
        for clock in [RunClock.active, .gun] {
            let mine = try #require(
                RunCurve(series: nil, track: track, segments: recording.segments, clock: clock, startsAt: start))
            let theirs = try #require(
                RunCurve(series: nil, track: track, segments: recording.segments, clock: clock, startsAt: late))
            /// The time of an elapsed second, by hand.
            func time(_ elapsed: Double, from start: Timestamp) -> Timestamp {
                guard clock == .active else { return start + elapsed }
                var left = elapsed
                for segment in recording.segments {
                    guard let end = segment.end, end > start else { continue }
                    let from = max(segment.start, start)
                    let length = end.seconds(since: from)
                    if left <= length { return from + left }
                    left -= length
                }
                return start
            }
            /// The metres at a time, by hand: a line between the rows, standing in pauses.
            func metres(_ time: Timestamp) -> Double {
                var time = time
                if !recording.segments.contains(where: { $0.contains(time) }),
                    let end = recording.segments.compactMap(\.end).last(where: { $0 < time })
                {
                    time = end
                }
                if time <= rows[0].time { return 0 }
                guard let after = rows.firstIndex(where: { $0.time >= time }) else { return rows.last?.metres ?? 0 }
                let (from, to) = (rows[after - 1], rows[after])
                let active = to.time.seconds(since: from.time)
                guard active > 0 else { return to.metres }
                return from.metres + (to.metres - from.metres) * time.seconds(since: from.time) / active
            }
            var largest = 0.0
            for elapsed in stride(from: 60.0, to: min(mine.duration, theirs.duration), by: 97) {
                let own = metres(time(elapsed, from: start)) - metres(start)
                let other = metres(time(elapsed, from: late)) - metres(late)
                let gap = RunGap(from: mine, to: theirs, at: elapsed)
                largest = max(largest, abs(gap.meters - (other - own)))
                // The one ahead was there that many seconds ago.
                let (ahead, from) = gap.meters > 0 ? (theirs, late) : (mine, start)
                let then = metres(time(elapsed - gap.seconds.magnitude, from: from)) - metres(from)
                largest = max(largest, abs(then - min(own, other)))
                #expect(ahead.metres(at: elapsed) >= min(own, other) - 40)
            }
            print("\(name), \(clock): at most \(largest) m from the gap by hand")
            #expect(largest < (activity == .running ? 8 : 40))
        }
    }
}

extension SeededRandom {
    mutating func end(_ curve: RunCurve) -> RunGap.End {
        switch Int.random(in: 0..<3, using: &self) {
        case 0: .open(curve.duration)
        case 1: .goal(Double.random(in: 0...curve.duration, using: &self))
        default: .stopped(curve.duration)
        }
    }
}
