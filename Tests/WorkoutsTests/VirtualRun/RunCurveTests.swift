import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct RunCurveTests {
    @Test func `points are at least 5 s apart, and the newest always counts`() {
        var curve = RunCurve()
        for second in 0...100 { curve.addPoint(Double(second), Double(second) * 3) }
        #expect(curve.points.count == 21)
        #expect(zip(curve.points.all, curve.points.all.dropFirst()).allSatisfy { $1.time - $0.time >= 5_000_000 })
        curve.addPoint(102, 306)
        #expect(curve.duration == 102)
        #expect(curve.distance == 306)
        #expect(curve.metres(at: 50) == 150)
        #expect(curve.seconds(to: 150) == 50)
    }

    @Test func `a curve is linear between points and stands at its end`() {
        var curve = RunCurve()
        curve.addPoint(10, 20)
        curve.addPoint(20, 60)
        #expect(curve.metres(at: 5) == 10)
        #expect(curve.metres(at: 15) == 40)
        #expect(curve.metres(at: 1_000) == 60)
        #expect(curve.metres(at: -1) == 0)
        #expect(curve.seconds(to: 40) == 15)
        #expect(curve.seconds(to: 60) == 20)
        #expect(curve.seconds(to: 60.001) == nil)
        #expect(curve.seconds(to: 0) == 0)
    }

    @Test func `where the time shrinks later points go`() {
        var curve = RunCurve()
        for second in stride(from: 0.0, through: 100, by: 5) { curve.addPoint(second, second * 3) }
        curve.addPoint(52, 160)
        #expect(curve.duration == 52)
        #expect(curve.metres(at: 50) == 150)
        curve.addPoint(57, 175)
        #expect(curve.metres(at: 57) == 175)
    }

    @Test func `where the distance shrinks earlier points with more metres go`() {
        var curve = RunCurve()
        for second in stride(from: 0.0, through: 100, by: 5) { curve.addPoint(second, second * 3) }
        curve.addPoint(101, 250)
        #expect(curve.distance == 250)
        #expect(curve.points.last.map { $0.time } == 101_000_000)
        #expect(zip(curve.points.all, curve.points.all.dropFirst()).allSatisfy { $0.metres <= $1.metres })
    }

    @Test func `a pause is a corner that no later point replaces`() {
        var curve = RunCurve()
        curve.addPoint(10, 30)
        curve.addPoint(12, 36, isCorner: true)
        curve.addPoint(14, 36)
        curve.addPoint(16, 36)
        #expect(curve.metres(at: 12) == 36)
        #expect(curve.seconds(to: 36) == 12)
    }

    @Test func `a run of a week keeps the bound`() {
        var curve = RunCurve()
        for second in stride(from: 0.0, through: 604_800, by: 4) { curve.addPoint(second, second * 2) }
        #expect(curve.points.count <= RunCurve.limit)
        #expect(abs(curve.metres(at: 300_000) - 600_000) < 0.01)
        #expect(curve.distance == 1_209_600)
    }

    @Test func `numbers that no runner reaches are dropped`() {
        var curve = RunCurve()
        for value in [Double.nan, .infinity, -1, 1e12] {
            curve.addPoint(value, 10)
            curve.addPoint(10, value)
        }
        #expect(curve.duration == 0)
    }

    @Test func `a pacing partner has no end`() {
        let curve = RunCurve(pace: 300)
        #expect(curve.metres(at: 3_000) == 10_000)
        #expect(curve.seconds(to: 5_000) == 1_500)
        #expect(curve.duration == .infinity)
    }

    @Test func `a curve survives its encoding`() throws {
        var random = SeededRandom()
        for _ in 0..<50 {
            let curve = random.curve()
            let bytes = try JSONEncoder().encode(curve)
            #expect(try JSONDecoder().decode(RunCurve.self, from: bytes) == curve)
        }
        let pacer = try JSONDecoder().decode(RunCurve.self, from: JSONEncoder().encode(RunCurve(pace: 300)))
        #expect(abs(pacer.metres(at: 300) - 1_000) < 1e-9)
        var hour = RunCurve()
        for second in 0...3_600 { hour.addPoint(Double(second), Double(second) * 2.9) }
        #expect(try JSONEncoder().encode(hour).count < 6_000)
    }

    @Test func `a live curve is stored in thousandths`() throws {
        let bytes = Data([0, 0, 0x88, 0x27, 0xf0, 0x2e, 0xd0, 0x0f, 0xe8, 0x07])
        let text = #"{"points":"\#(bytes.base64EncodedString())","spacing":5000}"#
        let curve = try JSONDecoder().decode(RunCurve.self, from: Data(text.utf8))
        #expect((curve.duration, curve.distance) == (7, 7))
        #expect(curve.metres(at: 5) == 6)
        #expect(try JSONDecoder().decode(RunCurve.self, from: JSONEncoder().encode(curve)) == curve)
    }

    @Test func `the inverse is the first time at which the metres are reached`() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let curve = random.curve()
            let metres = Double.random(in: 0...curve.distance, using: &random)
            guard let seconds = curve.seconds(to: metres) else { continue }
            #expect(abs(curve.metres(at: seconds) - metres) < 0.002)
            #expect(curve.metres(at: max(0, seconds - 0.002)) <= metres + 0.002)
        }
    }

    @Test func `pauses do not count with active time, and do with the gun`() throws {
        // 3 m/s for 100 s, a pause of 50 s, and 100 s more.
        let segments = [segment(0, 100), segment(150, 250)]
        let times = (1...100).map { year2026 + Double($0) } + (151...250).map { year2026 + Double($0) }
        let series = Series(
            times: times, columns: [.init(quantity: .distance, values: times.map { _ in 3 })])
        let active = try #require(RunCurve(series: series, track: nil, segments: segments, clock: .active))
        #expect(active.duration == 200)
        #expect(active.distance == 600)
        #expect(active.metres(at: 100) == 300)
        let gun = try #require(
            RunCurve(series: series, track: nil, segments: segments, clock: .gun, startsAt: year2026))
        #expect(gun.duration == 250)
        #expect(gun.metres(at: 100) == 300)
        #expect(gun.metres(at: 149) == 300)
        #expect(gun.metres(at: 160) == 330)
        #expect(gun.seconds(to: 299) == 100 - 1.0 / 3)
    }

    @Test(arguments: [RunClock.active, .gun])
    func `metres and seconds before the start do not count`(_ clock: RunClock) throws {
        let segments = [segment(0, 300)]
        let times = (1...300).map { year2026 + Double($0) }
        let series = Series(times: times, columns: [.init(quantity: .distance, values: times.map { _ in 3 })])
        let curve = try #require(
            RunCurve(series: series, track: nil, segments: segments, clock: clock, startsAt: year2026 + 60.5))
        #expect(curve.duration == 239.5)
        #expect(curve.distance == 718.5)
        #expect(curve.metres(at: 100) == 300)
    }

    @Test func `by the gun who began late stood until then`() throws {
        let times = (101...200).map { year2026 + Double($0) }
        let series = Series(times: times, columns: [.init(quantity: .distance, values: times.map { _ in 3 })])
        let curve = try #require(
            RunCurve(series: series, track: nil, segments: [segment(100, 200)], clock: .gun, startsAt: year2026))
        #expect(curve.metres(at: 100) == 0)
        #expect(curve.metres(at: 110) == 30)
        #expect((curve.duration, curve.distance) == (200, 300))
    }

    @Test func `without measured distance the track counts, then the speed`() throws {
        let segments = [segment(0, 60)]
        let times = (0...60).map { year2026 + Double($0) }
        let track = Track(times: times, columns: [.init(kind: .distance, values: (0...60).map { Double($0) * 2 })])
        let speeds = Series(times: times, columns: [.init(quantity: .speed, values: times.map { _ in 4 })])
        #expect(RunCurve(series: speeds, track: track, segments: segments, clock: .active)?.distance == 120)
        #expect(RunCurve(series: speeds, track: nil, segments: segments, clock: .active)?.distance == 240)
        let heart = Series(times: times, columns: [.init(quantity: .heartRate, values: times.map { _ in 140 })])
        #expect(RunCurve(series: heart, track: nil, segments: segments, clock: .active) == nil)
    }
}

extension SeededRandom {
    /// A runner of up to two hours with changing speed and stops, as live points.
    mutating func curve() -> RunCurve {
        var curve = RunCurve()
        var (seconds, metres) = (0.0, 0.0)
        for _ in 0..<Int.random(in: 2...400, using: &self) {
            let step = Double.random(in: 0.5...20, using: &self)
            seconds += step
            if Int.random(in: 0..<8, using: &self) > 0 { metres += step * Double.random(in: 0...5, using: &self) }
            curve.addPoint(seconds, metres, isCorner: Int.random(in: 0..<20, using: &self) == 0)
        }
        return curve
    }
}
