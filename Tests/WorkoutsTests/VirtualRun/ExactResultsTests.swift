import Foundation
import TestSupport
import Testing

@testable import Workouts

/// Results against a computation of their own: every item, in order, with straight lines between them.
struct ExactResultsTests {
    /// A workout as its items describe it.
    fileprivate struct Recording {
        var segments: [Segment]
        /// The metres of each item since the previous one.
        var items: [(time: Timestamp, meters: Double)]

        /// By active time and from `startsAt`.
        func curve(_ goal: RunGoal?, startsAt: Timestamp) -> RunCurve? {
            let series = Series(
                times: items.map(\.time), columns: [.init(quantity: .distance, values: items.map(\.meters))])
            return RunCurve(
                series: series, track: nil, segments: segments, clock: .active, startsAt: startsAt,
                goal: goal)
        }

        /// Active seconds and metres from `startsAt` at each item.
        func points(_ startsAt: Timestamp) -> [(seconds: Double, meters: Double)] {
            func active(_ time: Timestamp) -> Double {
                segments.reduce(0) { $0 + max(0, min(time, $1.end ?? time).seconds(since: $1.start)) }
            }
            var total = 0.0
            var all = [(seconds: 0.0, meters: 0.0)]
            for item in items {
                total += item.meters
                all.append((active(item.time), total))
            }
            all.append((active(segments[segments.count - 1].end!), total))
            let base = Self.meters(all, at: active(startsAt))
            return all.map { ($0.seconds - active(startsAt), $0.meters - base) }
        }

        static func meters(_ points: [(seconds: Double, meters: Double)], at seconds: Double) -> Double {
            for (from, to) in zip(points, points.dropFirst()) where to.seconds > seconds && from.seconds <= seconds {
                return from.meters + (to.meters - from.meters) * (seconds - from.seconds) / (to.seconds - from.seconds)
            }
            return points.last?.meters ?? 0
        }

        static func seconds(_ points: [(seconds: Double, meters: Double)], to meters: Double) -> Double? {
            for (from, to) in zip(points, points.dropFirst()) where to.meters >= meters && from.meters < meters {
                return from.seconds + (to.seconds - from.seconds) * (meters - from.meters) / (to.meters - from.meters)
            }
            return nil
        }
    }

    private func entry(_ number: Int, _ recording: Recording, _ goal: RunGoal?, _ startsAt: Timestamp)
        -> RunResults.Entry
    {
        RunResults.Entry(
            user: User("user\(number)"), .participant(.finished, isWithdrawn: false), startsAt: startsAt,
            curve: recording.curve(goal, startsAt: startsAt))
    }

    private func settings(_ goal: RunGoal) -> RunSettings {
        var settings = RunSettings()
        settings.goal = goal
        return settings
    }

    @Test func `who reaches the goal first wins, though the paces differ from item to item`() throws {
        func recording(_ meters: (Int) -> Double) -> Recording {
            Recording(
                segments: [segment(0, 60)], items: (1...60).map { (year2026 + Double($0), meters($0)) })
        }
        let goal = RunGoal.distance(165)
        let results = RunResults(
            settings(goal),
            [
                entry(1, recording { $0 % 2 == 1 ? 0.5 : 8 }, goal, year2026),
                entry(2, recording { _ in 4.212 }, goal, year2026),
            ])
        #expect(results.rows.map(\.user) == [User("user2"), User("user1")])
        #expect(results.rows.map(\.time) == [39.174, 39.375])
    }

    @Test func `results equal a computation from every item within 1 ms and 1 mm, in a thousand random runs`() throws {
        var random = SeededRandom()
        for _ in 0..<1_000 {
            let startsAt = year2026 + Double.random(in: 0...8, using: &random)
            let recordings = (0..<Int.random(in: 2...4, using: &random)).map { _ in random.recording() }
            let points = recordings.map { $0.points(startsAt) }
            let least = points.map { $0.last!.meters }.min()!
            let goal: RunGoal =
                Bool.random(using: &random)
                ? .distance(Double.random(in: 1...max(2, least * 1.05), using: &random))
                : .duration(Double.random(in: 20...80, using: &random))
            let results = RunResults(
                settings(goal), recordings.enumerated().map { entry($0, $1, goal, startsAt) })
            #expect(results.rows.count == recordings.count)
            for row in results.rows {
                let own = points[Int("\(row.user!)".dropFirst(4))!]
                var (time, meters) = (own.last!.seconds, own.last!.meters)
                switch goal {
                case .distance(let wanted):
                    if let reached = Recording.seconds(own, to: wanted) { (time, meters) = (reached, wanted) }
                case .duration(let wanted) where time >= wanted:
                    (time, meters) = (wanted, Recording.meters(own, at: wanted))
                case .duration: break
                }
                #expect(abs(row.time! - time) <= 0.001, "seed \(random.seed)")
                #expect(abs(row.distance! - meters) <= 0.001, "seed \(random.seed)")
                guard let behind = row.behind?.meters, case .distance = goal else { continue }
                let first = results.rows[0]
                // Who does not finish is behind by the metres at the end.
                let level = row.status == .finished ? first.time! : time
                #expect(
                    abs(behind - (first.distance! - Recording.meters(own, at: level))) <= 0.02, "seed \(random.seed)")
            }
        }
    }

    @Test func `a goal is exact in a workout with more items than a curve has points`() throws {
        let items = (1...40_000).map { (year2026 + Double($0), $0 % 2 == 1 ? 0.5 : 8.0) }
        let recording = Recording(segments: [segment(0, 40_000)], items: items)
        for goal in [RunGoal.distance(60_000.9), .duration(20_001.25)] {
            let curve = try #require(recording.curve(goal, startsAt: year2026))
            #expect(curve.points.count <= RunCurve.limit)
            let row = RunResults(settings(goal), [entry(1, recording, goal, year2026)]).rows[0]
            switch goal {
            case .distance: #expect(row.time == 14_117 + 7.4 / 8)
            case .duration: #expect(row.distance == 85_000 + 0.5 + 2)
            }
        }
    }
}

extension SeededRandom {
    /// Two to three segments of half a minute each, with items at random intervals of up to 3 s.
    fileprivate mutating func recording() -> ExactResultsTests.Recording {
        var segments: [Segment] = []
        var items: [(time: Timestamp, meters: Double)] = []
        var start = year2026
        for _ in 0..<Int.random(in: 2...3, using: &self) {
            let end = start + Double.random(in: 20...40, using: &self)
            var time = start
            while true {
                time = time + Double.random(in: 0.1...3, using: &self)
                guard time < end else { break }
                items.append((time, Double.random(in: 0...9, using: &self)))
            }
            segments.append(Segment(start: start, end: end))
            start = end + Double.random(in: 1...30, using: &self)
        }
        return ExactResultsTests.Recording(segments: segments, items: items)
    }
}
