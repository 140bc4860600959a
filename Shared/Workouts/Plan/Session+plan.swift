/// What time makes of a session's plan.
extension Session {
    /// The moment as of which a plan is shown: of a live session whose clock runs the service's time, else when something
    /// last happened.
    private func planMoment(_ now: Timestamp) -> Timestamp {
        if let endedAt { return endedAt }
        if isLive, case .unfinished(.active) = status { return now }
        return max(lastTransition, planned?.progress.latest ?? lastTransition)
    }

    /// Plan, progress and timer as of `now`; `nil` without a plan.
    package func planState(_ now: Timestamp) -> PlanState? {
        planned?.state(at: planMoment(now), segments)
    }

    /// How far the plan had come as of `now`.
    package func planProgress(_ now: Timestamp) -> ProgressReport? {
        guard let planned else { return nil }
        let moment = planMoment(now)
        return planned.report(planned.timer(at: moment, segments), at: moment, segments)
    }

    /// When the phase that is on at `now` is over by itself: only while the clock of a live session runs.
    package func phaseEnd(after now: Timestamp) -> Timestamp? {
        guard let planned, isLive, case .unfinished(.active) = status else { return nil }
        let clock = ActiveClock(segments)
        return planned.timer(at: now, clock).phaseEnd.flatMap(clock.start)
    }

    /// What is to be said of the phase that is on at `now`: only while the clock of a live session runs.
    package func planCue(_ now: Timestamp) -> PlanCue? {
        guard let planned, isLive, case .unfinished(.active) = status else { return nil }
        let clock = ActiveClock(segments)
        return planned.cue(planned.timer(at: now, clock), at: now, clock)
    }

    /// The item that an action is about, if it may be carried out now; `nil` is the one that is on.
    package func planItem(_ id: String?, at: Timestamp) throws(Refusal) -> String {
        var session = self
        session.endCountdown(by: at)
        if case .deleted = status { throw .sessionNotFound }
        guard let planned else { throw .noPlan }
        guard isUnfinished, session.statusName != .preparing else {
            throw .invalidState("nothing can be changed while the session is \(statusName.rawValue)")
        }
        guard let id else { return planned.timer(at: at, segments).item }
        guard planned.plan.item(id) != nil else { throw .noSuchItem(id) }
        return id
    }

    /// Takes what a coach advised, if the session still goes on.
    ///
    /// - Parameter at: when it was asked for.
    package mutating func take(_ advice: CoachAdvice, at: Timestamp) throws(Refusal) {
        guard isUnfinished else { throw .invalidState("the session is \(statusName.rawValue)") }
        guard var planned else { throw .noPlan }
        try planned.take(advice, at, ActiveClock(segments))
        self.planned = planned
    }
}

extension PlanProgress {
    /// When somebody last did something.
    var latest: Timestamp? {
        (visits.map(\.at) + [focus?.at].compactMap(\.self) + completed.values.flatMap { $0.map(\.at) }).max()
    }
}

extension Refusal {
    static let noPlan = Refusal.invalidState("the session has no plan; start one with a definition")
}
