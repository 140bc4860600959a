import Bus
import Workouts

/// The planned workouts that a user keeps. A session has its own copy: what happens here never touches it.
extension EngineMachine {
    mutating func save(
        _ definition: WorkoutDefinition, _ id: PlanID, _ request: UserRequest, _ user: User, _ now: Timestamp
    ) -> [EngineAction] {
        var plans = (users[user]?.plans?.plans ?? []).filter { $0.plan != id }
        plans.append(SavedPlans.Plan(plan: id, savedAt: now, definition: definition))
        guard plans.count <= SavedPlans.limit, JSONCoding.encode(plans).count <= SavedPlans.bytes else {
            return [refuse(request, user, .planLimit, now)]
        }
        return set(plans, user, now) + accept(request, user, now)
    }

    mutating func delete(
        _ id: PlanID, _ request: UserRequest, _ user: User, _ now: Timestamp
    ) -> [EngineAction] {
        let plans = users[user]?.plans?.plans ?? []
        guard plans.contains(where: { $0.plan == id }) else { return [refuse(request, user, .planNotFound, now)] }
        return set(plans.filter { $0.plan != id }, user, now) + accept(request, user, now)
    }

    /// Replaces a user's plans; who never had any goes on without.
    mutating func set(_ plans: [SavedPlans.Plan], _ user: User, _ now: Timestamp) -> [EngineAction] {
        var record = users[user] ?? UserRecord()
        guard record.plans != nil || !plans.isEmpty else { return [] }
        record.plans = SavedPlans(revision: max((record.plans?.revision ?? 0) + 1, now.milliseconds), plans: plans)
        users[user] = record
        return [.saveUser(user), .publishPlans(user)]
    }
}

extension Refusal {
    /// The user has no such saved plan.
    fileprivate static let planNotFound = Refusal(code: "plan_not_found", message: "there is no such saved plan")
    /// There is no room for another saved plan.
    fileprivate static let planLimit = Refusal(
        code: "plan_limit",
        message:
            "at most \(SavedPlans.limit) plans of \(SavedPlans.bytes / 1_024) KiB in all can be saved; delete one first"
    )
}
