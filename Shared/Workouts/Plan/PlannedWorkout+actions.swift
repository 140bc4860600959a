extension PlannedWorkout {
    /// Applies an action that happened at `at`. A refusal changes nothing.
    mutating func apply(_ action: PlanAction, at: Timestamp, _ segments: [Segment]) throws(Refusal) {
        var next = self
        try next.perform(action, at, ActiveClock(segments))
        try next.note(changesSince: self, at)
        self = next
    }

    private mutating func perform(_ action: PlanAction, _ at: Timestamp, _ clock: ActiveClock) throws(Refusal) {
        let now = timer(at: at, clock)
        switch action {
        case .completeSet(let completion): try complete(completion, try place(completion.reference.item, now), now, at)
        case .uncompleteSet(let reference): try uncomplete(reference, at, clock)
        case .skipExercise(let item): try skip(try place(item, now), now, at)
        case .flagPain(let item): progress.painFlagged.insert(plan[try place(item, now)].id)
        case .swapExercise(let item, let alternative): try swap(try place(item, now), alternative, now, at)
        case .adjustDifficulty(let item, let difficulty):
            try adjust(try item.map { (id) throws(Refusal) in try place(id, now) }, difficulty)
        case .goTo(let item): try go(to: try place(item, now), now, at, clock)
        case .setPresentationMode(let mode): progress.presentationMode = mode
        }
    }

    /// Where the item that is meant stands: the one that is on when none is named.
    private func place(_ id: String?, _ timer: PlanTimer) throws(Refusal) -> SessionPlan.Place {
        let id = id ?? timer.item
        guard let place = plan.place(of: id) else { throw .noSuchItem(id) }
        return place
    }
}

extension Refusal {
    static func noSuchItem(_ id: String) -> Refusal {
        .invalidCommand("item: the plan has no item \(id.prefix(PlanLimits.id))")
    }

    /// The coach's answer cannot be taken.
    package static func coachFailed(_ message: String) -> Refusal { Refusal(code: "coach_failed", message: message) }
}
