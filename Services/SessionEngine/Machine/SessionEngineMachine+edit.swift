import Bus
import ServiceKit
import Workouts

/// Edits of finished workouts.
extension SessionEngineMachine {
    /// Applies an edit. The finished record follows at once if the totals do not depend on it, else with the summaries of
    /// the new state. The workout must be in memory.
    mutating func edit(
        _ session: SessionID, _ change: SessionEdit, _ request: UserRequest, _ user: User, _ now: Moment
    ) -> [SessionEngineAction] {
        let key = SessionKey(user, session)
        guard var entry = entries[key] else { return [refuse(request, user, .workoutNotFound(session), now)] }
        let before = entry.record.session
        do throws(Refusal) {
            try entry.record.session.apply(change)
        } catch {
            let refusal = error == .sessionNotFound ? Refusal.workoutNotFound(session) : error
            return [refuse(request, user, refusal, now)]
        }
        guard entry.record.session != before else { return accept(request, user, now) }
        if let wait = quotas[user]?.waitForEdit(now) {
            return [.limited(user, .edits), refuse(request, user, UserLimit.edits.refusal(after: wait), now)]
        }
        quotas[user, default: UserQuota()].edit(now)
        // The owner reads the edit there, and `state` names the revision.
        entry.record.profileRevision = entry.profileTopic.revise(now.wallClock)
        bump(&entry, now)
        if entry.record.lacksEditOfTotals { entry.record.endRevision = entry.record.revision }
        entry.planRevision(now)
        store(entry, now)
        return [.save(key), .saveQuota(user), .publishSessionProfile(key), .publishState(key), .publishCurrent(user)]
            + settle(key, now) + accept(request, user, now)
    }
}
