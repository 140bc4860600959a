import Bus
import ServiceKit
import Workouts

/// Requests of users: each is applied once, and its reply is kept.
extension SessionEngineMachine {
    /// Ends logins of an account.
    mutating func signOut(_ request: SignOut, of user: User, now: Moment) -> [SessionEngineAction] {
        var record = users[user] ?? UserRecord()
        if var stored = record.replies.first(where: { $0.id == request.id }) {
            stored.now = now.wallClock
            return [.reply(user, request.client, stored)]
        }
        var signedOut = record.signedOut ?? SignedOut()
        signedOut.end(request.kind, revision: record.signedOutTopic.revise(now.wallClock), at: now.wallClock)
        record.signedOut = signedOut
        let reply = Reply(id: request.id, revision: signedOut.revision, now: now.wallClock)
        record.replies = record.replies.suffix(UserRecord.replyLimit - 1) + [reply]
        users[user] = record
        return [.saveUser(user), .publishSignedOut(user), .reply(user, request.client, reply)]
    }

    /// Applies a user's request. The data that it deletes must be in memory.
    mutating func answerRequest(_ request: UserRequest, of user: User, now: Moment) -> [SessionEngineAction] {
        if var stored = reply(to: request, of: user) {
            stored.now = now.wallClock
            return [.reply(user, request.client, stored)]
        }
        switch request.action {
        case .workouts(let query):
            return [.listWorkouts(user, HistoryPage(reader: user, envelope: request.envelope, query: .page(query)))]
        case .workoutChanges(let cursor):
            let page = HistoryPage(reader: user, envelope: request.envelope, query: .changes(after: cursor))
            return [.listWorkouts(user, page)]
        case .setProfile(let profile):
            if let error = profile.validationError(year: now.wallClock.year) {
                return [refuse(request, user, .invalidCommand(error), now)]
            }
            return set(profile, user, now) + accept(request, user, now)
        case .savePlan(let plan, let definition, let base): return save(definition, plan, base, request, user, now)
        case .deletePlan(let plan, let base): return delete(plan, base, request, user, now)
        case .edit(let session, let change): return edit(session, change, request, user, now)
        case .deleteWorkout(let session):
            let key = SessionKey(user, session)
            guard entries[key] != nil else {
                return [refuse(request, user, .workoutNotFound(session), now)]
            }
            return delete(key, now) + accept(request, user, now)
        case .deleteEverything:
            return eraseEverything(of: user, now) + accept(request, user, now)
        }
    }

    /// Applies the request of a viewer of a user.
    func answerViewerRequest(_ request: ViewerRequest, of user: User, from viewer: User) -> [SessionEngineAction] {
        let envelope = Command.Envelope(id: request.id, client: request.client)
        switch request.action {
        case .workouts(let query):
            return [.listWorkouts(user, HistoryPage(reader: viewer, envelope: envelope, query: .page(query)))]
        case .workoutChanges(let cursor):
            let page = HistoryPage(reader: viewer, envelope: envelope, query: .changes(after: cursor))
            return [.listWorkouts(user, page)]
        case .chunks(let session): return publishWorkout(SessionKey(user, session))
        }
    }

    /// Whether a request was accepted before.
    func hasAccepted(_ request: UserRequest, of user: User) -> Bool { reply(to: request, of: user) != nil }

    private func reply(to request: UserRequest, of user: User) -> Reply? {
        users[user]?.replies.first { $0.id == request.id }
    }

    mutating func set(_ profile: Profile, _ user: User, _ now: Moment) -> [SessionEngineAction] {
        var record = users[user] ?? UserRecord()
        record.profile = profile
        record.profileTopic.revise(now.wallClock)
        users[user] = record
        return [.saveUser(user), .publishProfile(user)]
    }

    func refuse(_ request: UserRequest, _ user: User, _ refusal: Refusal, _ now: Moment) -> SessionEngineAction {
        .reply(user, request.client, Reply(id: request.id, revision: nil, now: now.wallClock, error: refusal))
    }

    mutating func accept(_ request: UserRequest, _ user: User, _ now: Moment) -> [SessionEngineAction] {
        var record = users[user] ?? UserRecord()
        let isPlan =
            switch request.action {
            case .savePlan, .deletePlan: true
            case .setProfile, .workouts, .workoutChanges, .edit, .deleteWorkout, .deleteEverything: false
            }
        // The revision that the request publishes.
        var revision = isPlan ? record.plans?.revision : record.profileTopic.revision
        if case .edit(let session, _) = request.action {
            revision = entries[SessionKey(user, session)]?.record.revision
        }
        let reply = Reply(id: request.id, revision: revision, now: now.wallClock)
        record.replies = record.replies.suffix(UserRecord.replyLimit - 1) + [reply]
        users[user] = record
        return [.saveUser(user), .reply(user, request.client, reply)]
    }

    /// Publishes a finished workout again whose retained topics were cleared or lost.
    func answerSessionRequest(_ request: SessionRequest, for key: SessionKey) -> [SessionEngineAction] {
        guard case .chunks = request.action else { return [] }
        return publishWorkout(key)
    }

    private func publishWorkout(_ key: SessionKey) -> [SessionEngineAction] {
        guard let record = entries[key]?.record, record.workout != nil else { return [] }
        // The owner reads there what viewers may not.
        return [.publishWorkout(key)] + (record.session.edit == nil ? [] : [.publishSessionProfile(key)])
    }
}

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

/// The user's saved plans. A session has its own copy, so changes here do not affect it.
extension SessionEngineMachine {
    mutating func save(
        _ definition: WorkoutDefinition, _ id: PlanID, _ base: SavedPlans.Version?, _ request: UserRequest,
        _ user: User, _ now: Moment
    ) -> [SessionEngineAction] {
        var plans = users[user]?.plans?.plans ?? []
        let saved = plans.first { $0.plan == id }
        guard base == nil || base?.savedAt == saved?.savedAt else { return [refuse(request, user, .planChanged, now)] }
        plans.removeAll { $0.plan == id }
        // Two versions of a plan differ in their time, also if the clock stepped backwards.
        let savedAt = max(now.wallClock, (saved?.savedAt ?? now.wallClock - 1) + 0.001)
        plans.append(SavedPlans.Plan(plan: id, savedAt: savedAt, definition: definition))
        guard plans.count <= SavedPlans.limit, JSONCoding.encode(plans).count <= SavedPlans.bytes else {
            return [refuse(request, user, .planLimit, now)]
        }
        return set(plans, user, now) + accept(request, user, now)
    }

    mutating func delete(
        _ id: PlanID, _ base: SavedPlans.Version?, _ request: UserRequest, _ user: User, _ now: Moment
    ) -> [SessionEngineAction] {
        let plans = users[user]?.plans?.plans ?? []
        guard let saved = plans.first(where: { $0.plan == id }) else {
            return [refuse(request, user, .planNotFound(id), now)]
        }
        guard base == nil || base?.savedAt == saved.savedAt else { return [refuse(request, user, .planChanged, now)] }
        return set(plans.filter { $0.plan != id }, user, now) + accept(request, user, now)
    }

    /// Replaces a user's plans. A user without plans publishes none.
    mutating func set(_ plans: [SavedPlans.Plan], _ user: User, _ now: Moment) -> [SessionEngineAction] {
        var record = users[user] ?? UserRecord()
        guard record.plans != nil || !plans.isEmpty else { return [] }
        record.plans = SavedPlans(revision: record.plansTopic.revise(now.wallClock), plans: plans)
        users[user] = record
        return [.saveUser(user), .publishPlans(user)]
    }
}

extension Refusal {
    fileprivate static func planNotFound(_ id: PlanID) -> Refusal {
        Refusal(code: "plan_not_found", message: "saved plan \(id) not found; the topic plans lists the saved plans")
    }
    /// The saved plans have reached their limit.
    fileprivate static let planLimit = Refusal(
        code: "plan_limit",
        message:
            "at most \(SavedPlans.limit) saved plans of \(SavedPlans.bytes / 1_024) KiB in total; delete one first"
    )
}

extension Timestamp {
    /// The year of the Gregorian calendar in UTC, accurate to a day at its ends.
    fileprivate var year: Int { 1_970 + Int(seconds / 31_556_952) }
}

extension Refusal {
    static func workoutNotFound(_ session: SessionID) -> Refusal {
        Refusal(
            code: "session_not_found",
            message: "workout \(session) not found; the request workouts lists the workouts, state names other sessions"
        )
    }
}
