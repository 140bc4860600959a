import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// The saved plans of a user.
struct SavedPlanTests {
    private let id = PlanID(UUID())
    private var planned: PlannedEngine

    init() async throws {
        planned = try await PlannedEngine()
    }

    @Test mutating func `saving, replacing and deleting a plan raise the revision, even over a restart`()
        async throws
    {
        #expect(planned.plans == nil)
        #expect(try await planned.request(.savePlan(id, .strength))?.ok == true)
        let first = try #require(planned.plans)
        #expect(first.plans.map(\.definition) == [.strength])
        try await planned.restart(after: 1)
        #expect(planned.plans == first)
        _ = try await planned.request(.savePlan(PlanID(UUID()), .strength))
        #expect(try await planned.request(.savePlan(id, .intervals))?.ok == true)
        #expect(planned.plans?.plans.map(\.definition.name) == ["Upper Body", "Sprints"])
        let deleted = try await planned.request(.deletePlan(id))
        #expect(deleted?.ok == true)
        #expect(deleted?.revision == planned.plans?.revision)
        #expect(planned.plans?.plans.map(\.definition.name) == ["Upper Body"])
        #expect(planned.plans?.revision ?? 0 > first.revision)
        #expect(try await planned.request(.deletePlan(id))?.error?.code == "plan_not_found")
    }

    @Test mutating func `a change based on another version is refused, and its repetition judged again`() async throws {
        let nothing = SavedPlans.Version(savedAt: nil)
        #expect(try await planned.request(.savePlan(id, .strength, base: nothing))?.ok == true)
        let first = SavedPlans.Version(savedAt: try #require(planned.plans?.plans.first?.savedAt))
        // At the same time by the engine's clock.
        #expect(try await planned.request(.savePlan(id, .intervals))?.ok == true)
        let second = SavedPlans.Version(savedAt: try #require(planned.plans?.plans.first?.savedAt))
        for base in [nothing, first] {
            #expect(try await planned.request(.savePlan(id, .strength, base: base))?.error == .planChanged)
            #expect(try await planned.request(.deletePlan(id, base: base))?.error == .planChanged)
        }
        #expect(planned.plans?.plans.map(\.definition) == [.intervals])
        #expect(try await planned.request(.savePlan(id, .strength, base: second))?.ok == true)
        let third = SavedPlans.Version(savedAt: try #require(planned.plans?.plans.first?.savedAt))
        #expect(try await planned.request(.deletePlan(id, base: third))?.ok == true)
        #expect(try await planned.request(.savePlan(id, .strength, base: third))?.error == .planChanged)
        #expect(planned.plans?.plans == [])
    }

    @Test mutating func `an invalid plan is refused with the field's name`() async throws {
        var definition = WorkoutDefinition.intervals
        definition.sections[0].timer?.rounds = 0
        let reply = try await planned.request(.savePlan(id, definition))
        #expect(reply?.error?.message == "definition.sections[0].timer.rounds: 1 to 200")
        #expect(planned.plans == nil)
    }

    @Test mutating func `the number of saved plans is bounded`() async throws {
        for _ in 0..<SavedPlans.limit {
            #expect(try await planned.request(.savePlan(PlanID(UUID()), .intervals))?.ok == true)
        }
        #expect(try await planned.request(.savePlan(id, .intervals))?.error?.code == "plan_limit")
        #expect(planned.plans?.plans.count == SavedPlans.limit)
    }

    @Test mutating func `deleting everything deletes the plans`() async throws {
        _ = try await planned.request(.savePlan(id, .strength))
        let before = try #require(planned.plans)
        #expect(try await planned.request(.deleteEverything)?.ok == true)
        #expect(planned.plans?.plans == [])
        #expect(planned.plans?.revision ?? 0 > before.revision)
    }

    @Test mutating func `an older revision is answered with the newest, and a newer one is exceeded`()
        async throws
    {
        _ = try await planned.request(.savePlan(id, .strength))
        let revision = try #require(planned.plans?.revision)
        try await planned.restart()
        let topic = Topic.user(PlannedEngine.user, .plans)
        for seen in [revision - 1, revision + 1_000_000] {
            let sent = try await planned.deliver([topic.message(Array(#"{"plans":[],"revision":\#(seen)}"#.utf8))])
            #expect(sent.contains { $0.topic == topic.name })
            #expect(planned.plans?.revision ?? 0 >= max(seen, revision))
            #expect(planned.plans?.plans.count == 1)
        }
    }
}
