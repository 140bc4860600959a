import Bus
import Workouts

/// Changes that an outside coach is asked about: awaited for three seconds, and a late answer changes nothing.
extension EngineMachine {
    /// Asks, when the command is for the coach; `nil` when it is to be carried out at once.
    mutating func ask(_ command: Command, _ key: SessionKey, _ now: Timestamp) throws(Refusal) -> [EngineAction]? {
        guard asksCoach, case .plan(let action) = command.action, var entry = entries[key] else { return nil }
        let at = command.at ?? now
        let item: String?
        let difficulty: Difficulty?
        switch action {
        // Whoever names the alternative has chosen.
        case .swapExercise(let id, alternative: nil):
            item = try entry.record.session.planItem(id, at: at)
            difficulty = nil
        case .adjustDifficulty(let id, let wanted):
            // Checks that it can be changed now, though it may be about all items.
            let checked = try entry.record.session.planItem(id, at: at)
            item = id == nil ? nil : checked
            difficulty = wanted
        default: return nil
        }
        guard let state = entry.record.session.planState(now) else { return nil }
        guard entry.question == nil else {
            throw .invalidState("the coach is being asked about another change; try again in a moment")
        }
        var command = command
        command.at = at
        entry.question = CoachQuestion(
            command: command,
            request: CoachRequest(
                id: command.id, session: key.session, type: difficulty == nil ? .swapExercise : .adjustDifficulty,
                activity: entry.record.session.activity, item: item, difficulty: difficulty, plan: state.plan,
                progress: state.progress, answerBy: now + CoachQuestion.patience))
        store(entry, key)
        return [.askCoach(key, command.id)]
    }

    /// Lets a command wait that must not overtake the change that the coach is asked about: `suspend` saves what comes of
    /// it. Says whether it waits.
    mutating func hold(_ command: Command, _ key: SessionKey, _ now: Timestamp) -> Bool {
        guard var entry = entries[key], var question = entry.question else { return false }
        if question.holds(command.id) { return true }
        guard !question.waiting.isEmpty || command.action == .suspend else { return false }
        // Repeated by its client when there is no room.
        guard question.waiting.count < CoachQuestion.waitingLimit else { return true }
        var held = command
        held.at = command.at ?? now
        question.waiting.append(held)
        entry.question = question
        store(entry, key)
        return true
    }

    /// The coach has answered; what nobody awaits any more changes nothing.
    mutating func receive(_ reply: CoachReply, of user: User, now: Timestamp) -> [EngineAction] {
        guard let key = sessions(of: user).first(where: { entries[$0]?.question?.command.id == reply.id }) else {
            return []
        }
        if let question = entries[key]?.question, question.request.answerBy <= now {
            return answer(key, .failure(.coachTimeout), now)
        }
        if let exercises = reply.exercises { return answer(key, .success(CoachAdvice(exercises)), now) }
        return answer(key, .failure(.coachFailed(reply.error ?? "the coach has no advice")), now)
    }

    /// Carries the change out or refuses it, and then what waited for it.
    mutating func answer(
        _ key: SessionKey, _ advice: Result<CoachAdvice, Refusal>, _ now: Timestamp
    ) -> [EngineAction] {
        guard var entry = entries[key], let question = entry.question else { return [] }
        entry.question = nil
        store(entry, key)
        var actions: [EngineAction]
        do throws(Refusal) {
            let advice = try advice.get()
            if let item = question.request.item, advice.exercises.keys.contains(where: { $0 != item }) {
                throw .coachFailed("the coach answered for another exercise")
            }
            try entry.record.session.take(advice, at: question.command.at ?? now)
            actions = accept(question.command, entry, key, now)
        } catch {
            actions = [refuse(question.command.envelope, for: key, error, now: now)]
        }
        for command in question.waiting { actions += receive(command, for: key, now: now) }
        return actions
    }
}

extension Refusal {
    /// The coach was silent for too long.
    static let coachTimeout = Refusal(
        code: "coach_timeout", message: "the coach did not answer within 3 s; nothing has changed")
}
