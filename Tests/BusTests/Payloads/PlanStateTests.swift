import Bus
import Foundation
import Testing
import Workouts

/// The plan in `state`, `workout` and `current`.
@Suite struct PlanStateTests {
    private static let id = SessionID(UUID())
    private let begin = Timestamp(seconds: 1_800_000_000)

    private func session(_ sections: WorkoutDefinition.Section...) -> Session {
        var start = SessionStart(activity: .hiit, countdown: 0)
        start.definition = WorkoutDefinition(sections: sections)
        return Session(
            key: SessionKey(User("anna")!, Self.id), start: start, at: begin, now: begin)
    }

    private var emom: Session {
        session(
            .init(
                timer: TimerConfiguration(.emom, rounds: 3),
                items: [.init(name: "Row", sets: [PlannedSet(repetitions: 10)]), .init(name: "Burpee")]))
    }

    private func payload(_ session: Session, at moment: Timestamp) -> [UInt8] {
        JSONCoding.encode(PublishedState(session.state(revision: 7), session.planState(moment)))
    }

    @Test func `a timer has the end of its phase while it runs and the remaining time while it is stopped`() throws {
        var session = emom
        let running = try #require(try PlanState(payload(session, at: begin + 70)))
        #expect((running.timer.block, running.timer.type, running.timer.phase) == (0, .emom, .work))
        #expect((running.timer.round, running.timer.rounds, running.timer.elapsed) == (2, 3, 70))
        #expect(running.timer.endsAt == begin + 120 && running.timer.remaining == nil)
        #expect(running.progress.item == "1-2")
        try session.apply(.pause, at: begin + 75)
        let standing = try #require(try PlanState(payload(session, at: begin + 500)))
        #expect(standing.timer.remaining == 45 && standing.timer.endsAt == nil)
    }

    @Test func `a session without a plan has none in its state and the session is read without one`() throws {
        let plain = Session(
            key: emom.key, start: SessionStart(activity: .running, countdown: 0), at: begin, now: begin)
        #expect(try PlanState(payload(plain, at: begin)) == nil)
        #expect(payload(plain, at: begin) == JSONCoding.encode(plain.state(revision: 7)))
        #expect(try SessionState(payload(emom, at: begin)) == emom.state(revision: 7))
    }

    @Test(
        arguments: [
            (#""timer":{"asOf":1800000000,"block":0"#, #""timer":{"asOf":1800000000,"block":1"#, "plan, progress and"),
            (#""timer":{"asOf":1800000000,"block":0"#, #""timer":{"asOf":1800000000,"block":-1"#, "plan, progress and"),
            (#""visits":[{"at":1800000000,"block":0}]"#, #""visits":[{"at":1800000000,"block":7}]"#, "plan, progress"),
            (#""visits":[{"at":1800000000,"block":0}]"#, #""visits":[]"#, "plan, progress and timer do not belong"),
            (#""item":"1-1""#, #""item":"7-7""#, "plan, progress and timer do not belong together"),
            (#""chosen":0"#, #""chosen":1"#, "plan.blocks: chosen"),
            (#""chosen":0"#, #""chosen":-1"#, "plan.blocks: chosen"),
            (#""exercises":[{"name":"Burpee"}]"#, #""exercises":[]"#, "plan.blocks: exercises: 1 to "),
            (#""rounds":3,"type""#, #""type""#, "plan.blocks: timer.rounds: missing for emom"),
            (#""phase":"work""#, #""phase":"play""#, "timer.phase: "),
        ])
    func `an impossible or inconsistent plan state is refused`(
        part: String, other: String, blames: String
    ) throws {
        let text = String(decoding: payload(emom, at: begin), as: UTF8.self)
        #expect(text.contains(part))
        let error = #expect(throws: PayloadError.self) { try PlanState(text.replacing(part, with: other).utf8) }
        guard let message = error?.text else { return }
        #expect(message.hasPrefix(blames), "\(message)")
    }

    @Test func `resuming is offered only for an unfinished session and includes the plan's progress`() throws {
        func offer(_ session: Session) -> (Bool?, CurrentSession.Progress?) {
            let plan = session.planState(begin + 10)
            let current = CurrentSession(revision: 1, state: session.state(revision: 1), plan: plan)
            return (current.details?.offersResume, current.details?.progress)
        }
        var session = session(.init(items: [.init(name: "Squat"), .init(name: "Row"), .init(name: "Plank")]))
        #expect(offer(session).0 == true)
        try session.apply(.plan(.completeSet(SetCompletion())), at: begin + 5)
        #expect(offer(session).1.map { [$0.done, $0.total] } == [1, 3])
        for (action, isOffered) in [
            (SessionAction.pause, true), (.resume, true), (.suspend, true), (.end(streams: [:]), false),
        ] {
            try session.apply(action, at: begin + 10)
            #expect(offer(session).0 == isOffered)
        }
        var start = SessionStart(activity: .hiit, countdown: 10)
        start.definition = WorkoutDefinition(sections: [.init(items: [.init(name: "Squat")])])
        #expect(offer(Session(key: session.key, start: start, at: begin, now: begin)).0 == false)
    }

    @Test func `a decoded record has the performed sets`() throws {
        var session = emom
        try session.apply(.plan(.completeSet(SetCompletion(repetitions: 12))), at: begin + 30)
        try session.apply(.end(streams: [:]), at: begin + 150)
        let written = JSONCoding.encode(WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1))
        let record = try JSONCoding.decode(WorkoutRecord.self, from: written)
        #expect(record.rounds?.map(\.number) == [1, 2])
        #expect(record.performedSets.map(\.exercise?.name) == ["Row", nil, "Burpee", "Row"])
        #expect(record.performedSets.map(\.repetitions) == [12, nil, nil, nil])
        #expect(record.performedSets.map(\.duration) == [30, 30, 60, 30])
    }
}
