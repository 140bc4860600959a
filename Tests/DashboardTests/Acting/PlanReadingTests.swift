import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct PlanReadingTests {
    private let clock = ManualClock(now: Timestamp(seconds: 1_800_000_000))
    private let definition = WorkoutDefinition(sections: [.init(items: [.init(name: "Squat")])])

    private func saved(_ plan: PlanID, _ definition: WorkoutDefinition) -> SavedPlans.Plan {
        SavedPlans.Plan(plan: plan, savedAt: clock.now, definition: definition)
    }

    private func request(_ action: PlanReading.Action?) throws -> UserRequest {
        guard case .ask(let request) = action else { throw RunningService.NotInTime() }
        return request
    }

    @Test func `plans are known when they arrive, and known to be none with the engine's reply`() throws {
        var reading = PlanReading(client: try #require(Client("page")))
        #expect(reading.take(isConnected: true, clock.moment) == nil)
        reading.want()
        #expect(reading.take(isConnected: false, clock.moment) == nil)
        #expect(reading.take(isConnected: true, clock.moment) == .subscribe)
        #expect(reading.take(isConnected: true, clock.moment) == nil)
        reading.subscribed()
        let asked = try request(reading.take(isConnected: true, clock.moment))
        #expect(reading.take(isConnected: true, clock.moment) == nil)
        clock.advance(by: .seconds(5))
        #expect(try request(reading.take(isConnected: true, clock.moment)) == asked)
        #expect(reading.plans == nil)
        reading.received(Reply(id: CommandID(UUID()), revision: nil, now: clock.now))
        #expect(reading.plans == nil)
        reading.received(Reply(id: asked.id, revision: nil, now: clock.now))
        #expect(reading.plans == [])
        let plan = saved(PlanID(UUID()), definition)
        reading.received(SavedPlans(revision: 1, plans: [plan]))
        #expect(reading.plans == [plan])
        // A late reply changes nothing, a lost connection everything.
        reading.received(Reply(id: asked.id, revision: nil, now: clock.now))
        #expect(reading.plans == [plan])
        reading.restart()
        #expect(reading.plans == nil)
        #expect(reading.take(isConnected: true, clock.moment) == .subscribe)
    }

    @Test func `plans that cannot be read are unknown, also after the engine's reply, until newer ones arrive`() throws
    {
        var reading = PlanReading(client: try #require(Client("page")))
        reading.want()
        _ = reading.take(isConnected: true, clock.moment)
        reading.subscribed()
        let asked = try request(reading.take(isConnected: true, clock.moment))
        reading.receivedUnreadable()
        reading.received(Reply(id: asked.id, revision: nil, now: clock.now))
        #expect(reading.plans == nil)
        #expect(reading.take(isConnected: true, clock.moment + 60) == nil)
        reading.received(nil as SavedPlans?)
        #expect(reading.plans == [])
    }

    @Test func `of several tabs with one base the first saves, and the others are refused until they read again`()
        throws
    {
        let (anna, plan) = (try #require(User("anna")), PlanID(UUID()))
        var presses = PendingCommands()
        var plans = [saved(plan, definition)]
        let base = PlanBase(plan: plan, digest: PlanDigest(definition))
        func changed(_ name: String) -> WorkoutDefinition {
            var changed = definition
            changed.name = name
            return changed
        }
        func post(_ name: String, _ id: CommandID, onto base: PlanBase) -> PendingCommands.Posted {
            presses.post(
                .request(.savePlan(plan, changed(name))), id: id, age: 0, by: anna, onto: base, plans: plans,
                clock.moment)
        }
        let first = CommandID(UUID())
        guard case .new = post("first", first, onto: base) else { throw RunningService.NotInTime() }
        guard case .refused(let waiting) = post("second", CommandID(UUID()), onto: base) else {
            throw RunningService.NotInTime()
        }
        #expect(waiting.code == "plan_pending")
        // A repeated POST is the same press.
        #expect(post("first", first, onto: base) == .pending)
        presses.stored(first, of: anna)
        let reply = Reply(id: first, revision: 2, now: clock.now)
        #expect(presses.received(reply, for: anna, clock.moment).outcome != nil)
        plans = [saved(plan, changed("first"))]
        #expect(post("second", CommandID(UUID()), onto: base) == .refused(.planChanged))
        #expect(post("first", first, onto: base) == .answered(reply))
        let newest = PlanBase(plan: plan, digest: PlanDigest(changed("first")))
        let second = CommandID(UUID())
        guard case .new = post("second", second, onto: newest) else { throw RunningService.NotInTime() }
        presses.stored(second, of: anna)
        // The engine compares the version again: another client may be faster.
        let sent = presses.take(anna, client: try #require(Client("page")), clock.moment)
        let request = try JSONCoding.decode(UserRequest.self, from: try #require(sent.last).payload)
        let version = SavedPlans.Version(savedAt: plans[0].savedAt)
        #expect(request.action == .savePlan(plan, changed("second"), base: version))
        // A deleted plan, and one that is new in two tabs.
        let gone = PlanBase(plan: PlanID(UUID()), digest: PlanDigest(definition))
        #expect(gone.refusal(plans, waiting: []) == .planChanged)
        #expect(PlanBase(plan: plan, digest: nil).refusal(plans, waiting: []) == .planChanged)
        #expect(PlanBase(plan: PlanID(UUID()), digest: nil).refusal(plans, waiting: []) == nil)
    }
}
