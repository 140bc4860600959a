import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import Workouts

/// A user's saved plans and history.
extension ControlService {
    func save(_ plan: PlanID, _ definition: WorkoutDefinition, unchangedSince time: Timestamp?) async throws {
        var base: SavedPlans.Version?
        if let time {
            guard let saved = try await savedPlans().first(where: { $0.plan == plan }) else {
                throw Failure.noSuchPlan(user, plan)
            }
            guard saved.savedAt <= time else { throw Failure.refused(.planChanged) }
            base = SavedPlans.Version(savedAt: saved.savedAt)
        }
        try await send(.savePlan(plan, definition, base: base))
        terminal.output("saved plan \(plan): \(Text.planName(definition))\n")
    }

    func delete(_ plan: PlanID) async throws {
        try await send(.deletePlan(plan))
        terminal.output("deleted plan \(plan)\n")
    }

    func listPlans() async throws {
        let plans = try await savedPlans()
        guard !plans.isEmpty else {
            terminal.output("\(user) has no saved plans\n")
            return
        }
        terminal.output(plans.map { Text.savedPlan($0, TimeZone.current) }.joined())
    }

    func listWorkouts(_ query: HistoryQuery) async throws {
        let page = try await send(.workouts(query))
        let workouts = page.workouts ?? []
        guard !workouts.isEmpty else {
            terminal.output("\(user) has no such workouts\n")
            return
        }
        let more = page.next == nil ? "" : "more workouts: narrow --from and --to, or raise --limit\n"
        terminal.output(workouts.map(Text.workout).joined() + more)
    }

    func savedPlan(_ id: PlanID) async throws -> WorkoutDefinition {
        guard let saved = try await savedPlans().first(where: { $0.plan == id }) else {
            throw Failure.noSuchPlan(user, id)
        }
        return saved.definition
    }

    private func savedPlans() async throws -> [SavedPlans.Plan] {
        try await follow([.user(user, .plans)], missing: nil, requestingAfter: EngineLink.settlingTime) { event, link in
            if case .message(let message) = event, case .user(_, .plans) = Topic(message.topic) {
                return try JSONCoding.decode(SavedPlans.self, from: message.payload).plans
            }
            return link.hasEverything(context.clock.moment) ? [] : nil
        }
    }

    /// Sends a request until the engine replies.
    @discardableResult
    private func send(_ action: UserRequest.Action) async throws -> Reply {
        let client = context.client
        let request = UserRequest(id: CommandID(UUID()), client: client, action: action)
        var repeated = RepeatedRequest()
        return try await follow([], missing: nil, requestingAfter: EngineLink.settlingTime) { event, _ in
            let now = context.clock.moment
            switch event {
            case .connected: repeated.connect()
            case .disconnected: repeated.disconnect()
            case .message(let message):
                let reply = try JSONCoding.decode(Reply.self, from: message.payload)
                guard reply.id == request.id else { return nil }
                if let refusal = reply.error { throw Failure.refused(refusal) }
                return reply
            case .tick, .stop: break
            }
            if repeated.takeTurn(now) {
                await context.send([Topic.user(user, .request).message(JSONCoding.encode(request))])
            }
            return nil
        }
    }
}
