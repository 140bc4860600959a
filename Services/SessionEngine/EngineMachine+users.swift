import Bus
import Workouts

extension EngineMachine {
    /// Carries out a request of a user, of whom in memory is what the request deletes.
    mutating func receive(_ request: UserRequest, of user: User, now: Timestamp) -> [EngineAction] {
        if var stored = reply(to: request, of: user) {
            stored.now = now
            return [.reply(user, request.client, stored)]
        }
        switch request.action {
        case .workouts(let before, let limit):
            return [.listWorkouts(user, UserRequest.Page(envelope: request.envelope, before: before, limit: limit))]
        case .setProfile(let profile):
            if let flaw = profile.flaw(year: now.year) {
                return [refuse(request, user, .invalidCommand(flaw), now)]
            }
            return set(profile, user, now) + accept(request, user, now)
        case .savePlan(let plan, let definition): return save(definition, plan, request, user, now)
        case .deletePlan(let plan): return delete(plan, request, user, now)
        case .deleteWorkout(let session):
            let key = SessionKey(user, session)
            guard entries[key] != nil else {
                return [refuse(request, user, .sessionNotFound, now)]
            }
            return delete(key, now) + accept(request, user, now)
        case .deleteEverything:
            let sessions = sessions(of: user).flatMap { delete($0, now) }
            return sessions + set(Profile(), user, now) + set([], user, now) + accept(request, user, now)
        }
    }

    /// Whether a request was carried out before.
    func hasAccepted(_ request: UserRequest, of user: User) -> Bool { reply(to: request, of: user) != nil }

    private func reply(to request: UserRequest, of user: User) -> Reply? {
        users[user]?.replies.first { $0.id == request.id }
    }

    private mutating func set(_ profile: Profile, _ user: User, _ now: Timestamp) -> [EngineAction] {
        var record = users[user] ?? UserRecord()
        record.profile = profile
        record.revision = max(record.revision + 1, now.milliseconds)
        users[user] = record
        return [.saveUser(user), .publishProfile(user)]
    }

    func refuse(_ request: UserRequest, _ user: User, _ refusal: Refusal, _ now: Timestamp) -> EngineAction {
        .reply(user, request.client, Reply(id: request.id, revision: nil, now: now, error: refusal))
    }

    mutating func accept(_ request: UserRequest, _ user: User, _ now: Timestamp) -> [EngineAction] {
        var record = users[user] ?? UserRecord()
        let isPlan =
            switch request.action {
            case .savePlan, .deletePlan: true
            case .setProfile, .workouts, .deleteWorkout, .deleteEverything: false
            }
        // Of what is published for it.
        let revision = isPlan ? record.plans?.revision : record.revision
        let reply = Reply(id: request.id, revision: revision, now: now)
        record.replies = record.replies.suffix(UserRecord.replyLimit - 1) + [reply]
        users[user] = record
        return [.saveUser(user), .reply(user, request.client, reply)]
    }

    /// Somebody wants to read a finished workout whose retained topics are gone, or were lost.
    func receive(_ request: SessionRequest, for key: SessionKey) -> [EngineAction] {
        guard case .chunks = request.action, entries[key]?.record.workout != nil else { return [] }
        return [.publishWorkout(key)]
    }

    /// A page of a user's finished workouts, as far as they are in memory.
    func history(_ page: UserRequest.Page, of user: User) -> HistoryPage {
        var history = HistoryPage(page)
        for key in sessions(of: user) {
            if let workout = entries[key]?.record.workout { history.take(WorkoutOverview(workout)) }
        }
        return history
    }
}

extension Timestamp {
    /// The year of the Gregorian calendar in UTC, right to a day or so at its ends.
    fileprivate var year: Int { 1_970 + Int(seconds / 31_556_952) }
}
