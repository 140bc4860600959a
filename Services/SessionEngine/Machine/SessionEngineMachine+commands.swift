import Bus
import ServiceKit
import Workouts

extension SessionEngineMachine {
    /// Applies a command once. A repeated command receives the stored reply if it was accepted, and is validated again
    /// if refused.
    mutating func applyCommand(_ command: Command, for key: SessionKey, now: Moment) -> [SessionEngineAction] {
        if let stored = entries[key]?.replies[command.id] {
            let reply = stored.reply(to: command.id, now: now.wallClock)
            var actions: [SessionEngineAction] = [.reply(key.user, command.client, reply)]
            // A device that repeats `end` has not received the record.
            if case .end = command.action, entries[key]?.record.workout != nil { actions.append(.publishWorkout(key)) }
            return actions
        }
        if hold(command, key, now) { return [] }
        let restored = provesUse(command.action) ? restore(key, now) : []
        do throws(Refusal) {
            try check(command, key, now)
            if let (limit, wait) = reached(command, key, now) {
                let refusal = limit.refusal(after: wait)
                return restored + [.limited(key.user, limit), refuse(command.envelope, for: key, refusal, now: now)]
            }
            if let asked = try ask(command, key, now) { return restored + asked }
            return restored + (try apply(command, key, now))
        } catch {
            return restored + [refuse(command.envelope, for: key, error, now: now)]
        }
    }

    /// Whether a command proves that an expired session is still in use.
    private func provesUse(_ action: SessionAction) -> Bool {
        switch action {
        case .deviceReady, .pause, .resume, .lap, .suspend, .end, .discard, .update, .plan: true
        case .start, .recover: false
        }
    }

    /// Refuses a command.
    func refuse(
        _ envelope: Command.Envelope, for key: SessionKey, _ refusal: Refusal, now: Moment
    ) -> SessionEngineAction {
        let revision = entries[key]?.record.revision
        return .reply(
            key.user, envelope.client, Reply(id: envelope.id, revision: revision, now: now.wallClock, error: refusal))
    }

    private mutating func apply(
        _ command: Command, _ key: SessionKey, _ now: Moment
    ) throws(Refusal) -> [SessionEngineAction] {
        let at = command.at ?? now.wallClock
        var actions: [SessionEngineAction] = []
        var entry: EngineSession
        if case .start(let start) = command.action {
            entry = try begin(start, key, at, now)
            actions += [count(start, key.user, now)] + replace(start, key, at, now)
        } else {
            guard let known = entries[key] else { throw .sessionNotFound }
            entry = known
            try entry.record.session.apply(command.action, at: at, newest: entry.record.newest)
            if known.record.session.isUnfinished { entry.record.session.receiveEnd(now: now.wallClock) }
        }
        return actions + accept(command, entry, key, now)
    }

    /// Saves the session that a command changed, and replies.
    mutating func accept(_ command: Command, _ changed: EngineSession, _ key: SessionKey, _ now: Moment)
        -> [SessionEngineAction]
    {
        var entry = changed
        var actions: [SessionEngineAction] = []
        entry.receivedAt = now
        let hasChanged = entries[key].map { !entry.record.session.looks(like: $0.record.session) } ?? true
        let cues = entry.takeCue(now)
        if hasChanged || entry.isActivityOverdue(now) || !cues.isEmpty {
            entry.record.lastActiveAt = now
            bump(&entry, now)
            actions += [.publishState(key), .publishCurrent(key.user)]
        }
        if case .start = command.action { actions += publishProfile(entry) }
        if hasChanged { entry.reviseEnd(now) }
        if hasChanged, entry.record.session.statusName == .saving { entry.finishBy = now + EngineSession.savingTimeout }
        let at = command.at ?? now.wallClock
        if case .end = command.action, !hasChanged, entry.record.workout != nil { actions.append(.publishWorkout(key)) }
        actions += cues
        var reply = Reply(id: command.id, revision: entry.record.revision, now: now.wallClock)
        reply.at = at
        entry.replies[command.id] = AcceptedReply(reply)
        store(entry, now)
        return [.save(key), .saveReply(key, reply)] + actions + settle(key, now)
            + [.reply(key.user, command.client, reply)]
    }

    /// The maximum number of earlier commands. The limit for ending commands is higher, so that every session can be
    /// ended.
    private func replyLimit(_ action: SessionAction) -> Int {
        switch action {
        case .end, .suspend, .discard, .recover: Self.replyLimit + Self.endingLimit
        case .start, .deviceReady, .pause, .resume, .lap, .update, .plan: Self.replyLimit
        }
    }

    /// Refuses commands that are invalid with or without a coach.
    private func check(_ command: Command, _ key: SessionKey, _ now: Moment) throws(Refusal) {
        try check(command.at, "at", now)
        let limit = replyLimit(command.action)
        guard entries[key]?.replies.count ?? 0 < limit else {
            throw .invalidState("the session has reached its limit of \(limit) commands; end it and start another")
        }
    }

    private func check(_ time: Timestamp?, _ field: String, _ now: Moment) throws(Refusal) {
        guard let time, !AcceptedTimes(now: now.wallClock).contains(time) else { return }
        throw .invalidCommand(
            "\(field): \(time.seconds) is out of range; allowed: the year 2000 to 24 hours ahead of the engine's clock")
    }

    private func begin(
        _ start: SessionStart, _ key: SessionKey, _ at: Timestamp, _ now: Moment
    ) throws(Refusal) -> EngineSession {
        guard entries[key] == nil else {
            throw .invalidState("session \(key.session) already exists; start another one with a new id")
        }
        try check(start.startAt, "startAt", now)
        try check(start.endAt, "endAt", now)
        // A late start, which waited for a connection, replaces no session that its sender did not know of.
        let obstacle = obstacles(key.user, from: at, to: start.endAt).first { !start.replace || $0.began(after: at) }
        if let obstacle { throw .sessionInProgress(obstacle.key.session) }
        let session = Session(key: key, start: start, profile: profile(key.user), at: at, now: now.wallClock)
        let record = SessionRecord(session: session, revision: 0, lastActiveAt: now, publishedAt: now)
        var entry = EngineSession(record: record, receivedAt: now)
        if session.profile != nil { entry.record.profileRevision = entry.profileTopic.revise(now.wallClock) }
        return entry
    }

    /// Discards the sessions that a new one replaces.
    private mutating func replace(
        _ start: SessionStart, _ key: SessionKey, _ at: Timestamp, _ now: Moment
    ) -> [SessionEngineAction] {
        var actions: [SessionEngineAction] = []
        for obstacle in obstacles(key.user, from: at, to: start.endAt).map(\.key) {
            // Every unfinished session can be discarded.
            guard var other = entries[obstacle], (try? other.record.session.apply(.discard, at: at)) != nil else {
                continue
            }
            bump(&other, now)
            store(other, now)
            actions += [.save(obstacle), .publishState(obstacle)]
        }
        return actions
    }
}

/// Changes that depend on an external coach. The timeout is three seconds; a late answer changes nothing.
extension SessionEngineMachine {
    /// Asks the coach about a command; `nil` if the command takes effect at once.
    mutating func ask(_ command: Command, _ key: SessionKey, _ now: Moment) throws(Refusal) -> [SessionEngineAction]? {
        guard asksCoach, case .plan(let action) = command.action, var entry = entries[key] else { return nil }
        let at = command.at ?? now.wallClock
        let item: String?
        let difficulty: Difficulty?
        switch action {
        // A named alternative needs no advice.
        case .swapExercise(let id, alternative: nil):
            item = try entry.record.session.planItem(id, at: at)
            difficulty = nil
        case .adjustDifficulty(let id, let wanted):
            // Validates the item first, even if the command is about all items.
            let checked = try entry.record.session.planItem(id, at: at)
            item = id == nil ? nil : checked
            difficulty = wanted
        default: return nil
        }
        guard let state = entry.record.session.planState(now.wallClock) else { return nil }
        guard entry.question == nil else {
            throw .invalidState(
                "another change is pending with the coach; try again in \(Int(CoachQuestion.timeout)) s")
        }
        var command = command
        command.at = at
        let answerBy = now + CoachQuestion.timeout
        entry.question = CoachQuestion(
            command: command,
            request: CoachRequest(
                id: command.id, session: key.session, type: difficulty == nil ? .swapExercise : .adjustDifficulty,
                activity: entry.record.session.activity, item: item, difficulty: difficulty, plan: state.plan,
                progress: state.progress, answerBy: answerBy.wallClock),
            answerBy: answerBy)
        store(entry, now)
        return [.askCoach(key, command.id)]
    }

    /// Delays a command that must follow the pending change: `suspend` saves its result. Returns whether the command
    /// waits.
    mutating func hold(_ command: Command, _ key: SessionKey, _ now: Moment) -> Bool {
        guard var entry = entries[key], var question = entry.question else { return false }
        if question.holds(command.id) { return true }
        guard !question.waiting.isEmpty || command.action == .suspend else { return false }
        // The client repeats the command if the buffer is full.
        guard question.waiting.count < CoachQuestion.waitingLimit else { return true }
        var held = command
        held.at = command.at ?? now.wallClock
        question.waiting.append(held)
        entry.question = question
        store(entry, now)
        return true
    }

    /// Applies a coach's answer. An answer without a pending question changes nothing.
    mutating func receiveCoachReply(_ reply: CoachReply, of user: User, now: Moment) -> [SessionEngineAction] {
        guard let key = table.sessions(of: user).first(where: { entries[$0]?.question?.command.id == reply.id }) else {
            return []
        }
        if let question = entries[key]?.question, question.answerBy <= now {
            return answer(key, .failure(.coachTimeout), now)
        }
        if let exercises = reply.exercises { return answer(key, .success(CoachAdvice(exercises)), now) }
        return answer(key, .failure(.coachFailed(reply.error ?? "the coach has no advice")), now)
    }

    /// Applies or refuses the change, then the commands that waited for it.
    mutating func answer(
        _ key: SessionKey, _ advice: Result<CoachAdvice, Refusal>, _ now: Moment
    ) -> [SessionEngineAction] {
        guard var entry = entries[key], let question = entry.question else { return [] }
        entry.question = nil
        store(entry, now)
        var actions: [SessionEngineAction]
        do throws(Refusal) {
            let advice = try advice.get()
            if let item = question.request.item, advice.exercises.keys.contains(where: { $0 != item }) {
                throw .coachFailed(
                    "the coach answered about another item than '\(item)'; the plan is unchanged, try again")
            }
            try entry.record.session.take(advice, at: question.command.at ?? now.wallClock)
            actions = accept(question.command, entry, key, now)
        } catch {
            actions = [refuse(question.command.envelope, for: key, error, now: now)]
        }
        for command in question.waiting { actions += applyCommand(command, for: key, now: now) }
        return actions
    }
}

extension Refusal {
    /// The coach did not answer before the timeout.
    static let coachTimeout = Refusal(
        code: "coach_timeout",
        message: "the coach did not answer within \(Int(CoachQuestion.timeout)) s; the plan is unchanged, try again")
}
