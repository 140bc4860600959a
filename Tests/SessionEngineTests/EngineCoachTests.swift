import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Changes that an external coach decides.
struct EngineCoachTests {
    private var planned: PlannedEngine
    private let advice = ["bench": PlannedExercise(name: "Floor Press", exercise: .benchPress)]

    init() async throws {
        planned = try await PlannedEngine(asksCoach: true)
        try await planned.begin(.strength)
    }

    private mutating func answer(
        _ id: CommandID, _ exercises: [String: PlannedExercise]? = nil, error: String? = nil
    ) async throws -> [Reply] {
        let reply = CoachReply(id: id, exercises: exercises, error: error)
        return try await planned.deliver([
            Topic.user(PlannedEngine.user, .coachReply).message(JSONCoding.encode(reply))
        ]).replies
    }

    private var exercise: String? { planned.record?.session.planned?.plan.item("bench")?.exercise.name }

    @Test mutating func `a coach's answer in time is applied`() async throws {
        let swap = planned.command(.plan(.swapExercise(item: nil, alternative: nil)))
        #expect(try await planned.send(swap) == [])
        let question = try #require(planned.coachRequests.first)
        #expect(question.id == swap.id && question.item == "bench" && question.type == .swapExercise)
        // A repeated command publishes no second request.
        #expect(try await planned.send(swap) == [])
        #expect(planned.coachRequests.count == 1)
        try await planned.advance(to: 2)
        let replies = try await answer(swap.id, advice)
        #expect(replies.map(\.ok) == [true])
        #expect(exercise == "Floor Press")
        #expect(planned.plan?.plan.item("bench")?.exercise.name == "Floor Press")
        #expect(try await planned.send(swap).map(\.ok) == [true])
    }

    @Test mutating func `a coach's timeout and a late answer change nothing`()
        async throws
    {
        let harder = planned.command(.plan(.adjustDifficulty(item: nil, .harder)))
        _ = try await planned.send(harder)
        #expect(planned.coachRequests.first?.difficulty == .harder)
        let before = planned.record?.session
        #expect(try await planned.advance(to: 2.9) == [])
        let replies = try await planned.advance(to: 3.2)
        #expect(replies.map(\.error?.code) == ["coach_timeout"])
        let line = planned.log.lines.first { $0.hasPrefix("info command refused") }
        #expect(line?.contains("command=\(harder.id)") == true && line?.contains("reason=coach_timeout") == true)
        #expect(try await answer(harder.id, advice) == [])
        #expect(planned.record?.session == before)
    }

    @Test mutating func `suspend waits for the coach's answer and applies at its own time`() async throws {
        let swap = planned.command(.plan(.swapExercise(item: nil, alternative: nil)))
        _ = try await planned.send(swap)
        try await planned.advance(to: 1)
        #expect(try await planned.perform(.suspend) == nil)
        let resume = planned.command(.resume)
        #expect(try await planned.send(resume) == [])
        try await planned.advance(to: 2.5)
        let replies = try await answer(swap.id, advice)
        #expect(replies.map(\.ok) == [true, true, true])
        #expect(exercise == "Floor Press")
        #expect(planned.state?.segments.first?.end == PlannedEngine.start + 1)
    }

    @Test mutating func `suspend applies without an answer after the timeout`() async throws {
        _ = try await planned.perform(.swapExercise(item: nil, alternative: nil))
        try await planned.advance(to: 1)
        let suspend = planned.command(.suspend)
        #expect(try await planned.send(suspend) == [])
        #expect(try await planned.send(suspend) == [])
        let replies = try await planned.advance(to: 3.2)
        #expect(replies.map(\.error?.code) == ["coach_timeout", nil])
        #expect(planned.state?.status == .suspended)
        #expect(planned.state?.segments == [Segment(start: PlannedEngine.start, end: PlannedEngine.start + 1)])
        #expect(exercise == "Bench Press")
    }

    @Test mutating func `a clock that steps backwards does not extend suspend's wait`() async throws {
        try await planned.advance(to: 100, step: 10)
        _ = try await planned.perform(.swapExercise(item: nil, alternative: nil))
        _ = try await planned.perform(.suspend)
        planned.clock.step(by: .seconds(-60))
        #expect(try await planned.advance(to: 42.9) == [])
        #expect(try await planned.advance(to: 43.2).map(\.error?.code) == ["coach_timeout", nil])
        #expect(planned.state?.segments.last?.end == PlannedEngine.start + 100)
    }

    @Test mutating func `a command with an invalid time causes no coach request`() async throws {
        let reply = try await planned.perform(.swapExercise(item: nil, alternative: nil), at: 2 * 86_400)
        #expect(reply?.error?.code == "invalid_command")
        #expect(planned.coachRequests == [])
        #expect(try await planned.perform(.suspend)?.ok == true)
    }

    @Test mutating func `completing a set does not wait for the coach`() async throws {
        let swap = planned.command(.plan(.swapExercise(item: nil, alternative: nil)))
        _ = try await planned.send(swap)
        #expect(try await planned.perform(.completeSet(SetCompletion()))?.ok == true)
        _ = try await answer(swap.id, advice)
        #expect(planned.plan?.progress.progress.completed["bench"]?.map(\.exercise) == [nil])
        #expect(exercise == "Floor Press")
    }

    @Test mutating func `a named alternative causes no coach request, and a second request waits for the first`()
        async throws
    {
        #expect(try await planned.perform(.swapExercise(item: "bench", alternative: "Push-up"))?.ok == true)
        #expect(planned.coachRequests == [])
        _ = try await planned.perform(.swapExercise(item: "row", alternative: nil))
        let second = try await planned.perform(.adjustDifficulty(item: nil, .easier))
        #expect(second?.error?.code == "invalid_state")
    }

    @Test(
        arguments: [
            (["row": PlannedExercise(name: "Row again")], nil), (["nobody": PlannedExercise(name: "X")], nil),
            (nil, "no idea"),
        ] as [([String: PlannedExercise]?, String?)])
    mutating func `an invalid coach answer refuses the change`(
        exercises: [String: PlannedExercise]?, error: String?
    ) async throws {
        let swap = planned.command(.plan(.swapExercise(item: "bench", alternative: nil)))
        _ = try await planned.send(swap)
        let replies = try await answer(swap.id, exercises, error: error)
        #expect(replies.map(\.error?.code) == ["coach_failed"])
        #expect(exercise == "Bench Press")
    }

    @Test mutating func `an engine killed during a coach request sends it again on the repeated command`()
        async throws
    {
        let swap = planned.command(.plan(.swapExercise(item: nil, alternative: nil)))
        _ = try await planned.send(swap)
        try await planned.restart(after: 1)
        #expect(try await answer(swap.id, advice) == [])
        #expect(exercise == "Bench Press")
        _ = try await planned.send(swap)
        #expect(planned.coachRequests.count == 2)
        #expect(try await answer(swap.id, advice).map(\.ok) == [true])
    }
}
