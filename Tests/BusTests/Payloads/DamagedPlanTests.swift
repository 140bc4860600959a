import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Payloads of planned workouts with a replaced value: decoding refuses them, or all values can be computed.
@Suite struct DamagedPlanTests {
    private static let values = [
        "-1", "0", "1", "2", "17", "201", "0.5", "1e15", "-1e15", "9223372036854775807", "1e308", "null", "[]",
        "\"1-1\"",
        "true",
    ]

    /// The payload with one or two numbers replaced.
    private func damaged(_ payload: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var text = String(decoding: payload, as: UTF8.self)
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let numbers = text.ranges(of: #/[:,\[]-?[0-9]+(\.[0-9]+)?(?=[,\]}])/#)
            guard let number = numbers.randomElement(using: &random) else { break }
            text.replaceSubrange(
                text.index(after: number.lowerBound)..<number.upperBound,
                with: Self.values.randomElement(using: &random)!)
        }
        return Array(text.utf8)
    }

    /// A session with a plan in progress.
    private func session(_ random: inout SeededRandom) throws -> Session {
        let begin = random.time()
        var start = SessionStart(activity: .hiit, countdown: 0)
        start.definition = random.definition()
        var session = Session(
            key: SessionKey(random.user(), random.identifier()), start: start, at: begin, now: begin)
        for minute in 1...5 { random.train(&session, at: begin + Double(minute) * 60) }
        try session.apply(.pause, at: begin + 400)
        return session
    }

    @Test func `a damaged record has sets within its time or none`() throws {
        var random = SeededRandom()
        var taken = 0
        for _ in 0..<40 {
            var session = try session(&random)
            try session.apply(.end(streams: [:]), at: session.lastMoment + 10)
            let payload = JSONCoding.encode(WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1))
            for _ in 0..<50 {
                guard let record = try? JSONCoding.decode(WorkoutRecord.self, from: damaged(payload, &random)) else {
                    continue
                }
                #expect(record.performedSets.allSatisfy { $0.start <= $0.end && $0.duration >= 0 })
                if !record.performedSets.isEmpty { taken += 1 }
            }
        }
        #expect((1..<2_000).contains(taken))
    }

    @Test func `a damaged state has a place in its plan or is refused`() throws {
        var random = SeededRandom()
        var taken = 0
        for _ in 0..<40 {
            let session = try session(&random)
            let payload = JSONCoding.encode(
                PublishedState(session.state(revision: 1), session.planState(session.lastMoment)))
            for _ in 0..<50 {
                guard let state = try? PlanState(damaged(payload, &random)) else { continue }
                let item = try #require(state.plan.item(state.progress.item))
                #expect(!item.exercise.name.isEmpty && !item.sets.isEmpty)
                taken += 1
            }
        }
        #expect((1..<2_000).contains(taken))
    }

    @Test func `a damaged definition is refused or can be performed to its end`() throws {
        var random = SeededRandom()
        var taken = 0
        for _ in 0..<60 {
            let (bytes, _) = random.plannedStart()
            for _ in 0..<20 {
                guard let command = try? JSONCoding.decode(Command.self, from: damaged(bytes, &random)),
                    case .start(var start) = command.action
                else { continue }
                #expect(start.definition?.validationError == nil)
                let begin = random.time()
                start.countdown = 0
                start.startAt = nil
                var session = Session(
                    key: SessionKey(random.user(), random.identifier()), start: start, at: begin, now: begin)
                random.train(&session, at: begin + 90)
                try session.apply(.end(streams: [:]), at: begin + 7_200)
                let record = WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1)
                #expect(record.performedSets.allSatisfy { $0.start <= $0.end })
                #expect(JSONCoding.encode(record).count < 256 * 1_024)
                taken += 1
            }
        }
        #expect((1..<1_200).contains(taken))
    }
}

extension Session {
    fileprivate var lastMoment: Timestamp { segments.last?.end ?? segments[0].start }
}
