import TestSupport
import Testing
import Workouts

@testable import ServiceKit

@Suite struct LimitsTests {
    private let start = Timestamp(seconds: 1_735_689_600)
    private let log = LogRecorder()
    private let metrics = PrometheusMetrics()
    private let limits: Limits

    init() {
        limits = Limits(logger: log.logger, metrics: metrics)
        limits.begin(["items", "sessions_hour"])
    }

    private func count(_ limit: String) -> Int? {
        let line = metrics.render().split(separator: "\n").first {
            $0.hasPrefix("pacebus_limited_total{limit=\"\(limit)\"} ")
        }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) }
    }

    @Test func `counters begin at 0`() {
        #expect(count("items") == 0)
    }

    @Test func `everything counts, and a user and limit are logged once a minute`() {
        let ann = User("ann")!
        for second in 0..<150 { limits.reached("sessions_hour", by: ann, at: Moment(start + Double(second))) }
        limits.reached("sessions_hour", by: User("bob")!, at: Moment(start + 150))
        limits.reached("items", by: ann, at: Moment(start + 150), count: 7)
        #expect(count("sessions_hour") == 151)
        #expect(count("items") == 7)
        #expect(
            log.lines == [
                "warning limit reached count=1 limit=sessions_hour user=ann",
                "warning limit reached count=60 limit=sessions_hour user=ann",
                "warning limit reached count=60 limit=sessions_hour user=ann",
                "warning limit reached count=1 limit=sessions_hour user=bob",
                "warning limit reached count=7 limit=items user=ann",
            ])
    }

    @Test func `many users take bounded memory, and all of it counts`() {
        var random = SeededRandom()
        var now = start
        for _ in 0..<50_000 {
            now = now + Double.random(in: 0...0.1, using: &random)
            limits.reached("items", by: User("u\(Int.random(in: 0..<30_000, using: &random))")!, at: Moment(now))
            #expect(limits.remembered <= 2 * Limits.memory)
        }
        #expect(count("items") == 50_000)
    }

    @Test func `no user and limit are logged twice within a minute`() {
        var random = SeededRandom()
        var now = start
        var logged: [String: Timestamp] = [:]
        for _ in 0..<5_000 {
            now = now + Double.random(in: 0...2, using: &random)
            let user = User("u\(Int.random(in: 0..<50, using: &random))")!
            let before = log.lines.count
            limits.reached("items", by: user, at: Moment(now))
            guard log.lines.count > before else { continue }
            if let last = logged["\(user)"] { #expect(now.seconds(since: last) >= 60) }
            logged["\(user)"] = now
        }
        #expect(logged.count == 50)
    }
}
