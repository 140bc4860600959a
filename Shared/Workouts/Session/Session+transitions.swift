extension Session {
    /// Applies a command that happened at `at`. A moment before the last transition counts as that of the transition.
    ///
    /// A refused command changes nothing.
    ///
    /// - Parameter newest: the time of the session's newest known item. `recover` ends the session there.
    package mutating func apply(
        _ action: SessionAction, at: Timestamp, newest: Timestamp? = nil
    ) throws(Refusal) {
        var next = self
        try next.transition(action, at: at, newest: newest)
        next.presence?.note(at)
        self = next
    }

    private mutating func transition(
        _ action: SessionAction, at moment: Timestamp, newest: Timestamp?
    ) throws(Refusal) {
        endCountdown(by: moment)
        let at = max(moment, lastTransition)
        switch (action, status) {
        case (.deviceReady(let device), .unfinished):
            guard device.isWatch else {
                throw .invalidCommand("device: '\(device)' is not a watch; expected a name such as watch-3f9a")
            }
            // Without both permissions the watch measures nothing that the user may see live.
            if allowsWatch { mode = .watch }
            watchAwaitedUntil = nil
            return
        case (.update(let change), .unfinished), (.update(let change), .saving), (.update(let change), .completed):
            units = change.units ?? units
            timeZone = change.timeZone ?? timeZone
            return
        case (.pause, .unfinished(.active(let since))):
            try checkSegments()
            close(since, at)
            status = .unfinished(.paused)
        case (.suspend, .unfinished(.active(let since))):
            try checkSegments()
            close(since, at)
            status = .unfinished(.suspended)
        case (.suspend, .unfinished(.paused)):
            status = .unfinished(.suspended)
        case (.resume, .unfinished(.paused)), (.resume, .unfinished(.suspended)):
            status = .unfinished(.active(since: at))
        case (.lap, .unfinished(.active)):
            guard laps.count < lapLimit else { throw .invalidState("a session has at most \(lapLimit) laps") }
            laps.insert(at, at: laps.firstIndex { $0 > at } ?? laps.endIndex)
            return
        case (.end(let announced), .unfinished(.active(let since))):
            close(since, at)
            try end(announced, at)
        case (.end(let announced), .unfinished(.paused)), (.end(let announced), .unfinished(.suspended)):
            try end(announced, at)
        case (.end(let announced), .saving), (.end(let announced), .completed):
            // The `end` of a second device, or a repetition.
            try add(announced)
            return
        case (.discard, .unfinished(let unfinished)):
            cancel(.discarded, unfinished)
        case (.recover, .canceled(let reason, let unfinished)):
            save(unfinished, newest: newest, discardedAt: reason == .discarded ? lastTransition : nil)
        case (.plan(let action), .unfinished(let unfinished)):
            if case .preparing = unfinished { throw .impossible(.plan(action), statusName) }
            guard var planned else { throw .noPlan }
            // Plan actions may be earlier than the last transition: a set before a pause may arrive after it.
            try planned.apply(action, at: max(moment, startedAt ?? moment), segments)
            self.planned = planned
            return
        case (_, .deleted): throw .sessionNotFound
        case (.start, _): throw .invalidState("the session has already started")
        case (.deviceReady, _), (.update, _), (.pause, _), (.resume, _), (.lap, _), (.suspend, _), (.end, _),
            (.discard, _), (.recover, _), (.plan, _):
            throw .impossible(action, statusName)
        }
        lastTransition = max(at, lastTransition)
    }

    /// Cancels the session after a long silence and leaves its open segment open.
    package mutating func expire() {
        guard case .unfinished(let unfinished) = status else { return }
        cancel(.expired, unfinished)
    }

    /// Restores an expired session after a new event: to its former status, or to `saving` if the user has another
    /// unfinished session.
    package mutating func restore(hasOther: Bool, newest: Timestamp?) {
        guard case .canceled(.expired, let unfinished) = status else { return }
        if hasOther {
            save(unfinished, newest: newest)
        } else {
            status = .unfinished(unfinished)
        }
    }

    /// Completes the session: the summaries hold all announced items, or the timeout has passed.
    package mutating func complete() {
        guard case .saving(let endedAt) = status else { return }
        status = .completed(endedAt: endedAt)
    }

    /// Any device delivered an item.
    package mutating func receiveFirstItem() {
        hasItems = true
        endWithItems()
    }

    /// Removes all recorded data and keeps the session as deleted.
    ///
    /// - Parameter reason: the reason of the cancellation that led to this; `nil` if a user deleted the session.
    package mutating func delete(givenUp reason: CancelReason? = nil) {
        status = .deleted(reason)
        planned = nil
        plannedUntil = nil
        edit = nil
        original = nil
        name = activity.defaultName(environment)
        timeZone = nil
        profile = nil
        permissions = nil
        place = nil
        poolLength = nil
        run = nil
        notSynced = nil
        closedSegments = []
        laps = []
        presence = nil
        openEnd = nil
        streams = [:]
        watchAwaitedUntil = nil
    }

    /// Removes the plan of a discarded session: nothing else makes its record large.
    private mutating func removeDiscardedPlan() {
        guard case .canceled(.discarded, _) = status, let plan = planned else { return }
        plannedUntil = plan.progress.latest
        planned = nil
    }

    private mutating func cancel(_ reason: CancelReason, _ unfinished: Unfinished) {
        watchAwaitedUntil = nil
        status = .canceled(reason, was: unfinished)
        removeDiscardedPlan()
    }

    /// Saves a session without an `end`: the clock stopped at its last item.
    private mutating func save(_ unfinished: Unfinished, newest: Timestamp?, discardedAt: Timestamp? = nil) {
        let endedAt = closedSegments.last?.end ?? lastTransition
        status = .saving(endedAt: endedAt)
        lastTransition = max(endedAt, lastTransition)
        guard case .active(let since) = unfinished else { return }
        close(since, since)
        openEnd = OpenEnd(newest: newest, discardedAt: discardedAt)
        endWithItems()
    }

    private mutating func end(_ announced: [StreamName: Int], _ at: Timestamp) throws(Refusal) {
        try add(announced)
        watchAwaitedUntil = nil
        status = .saving(endedAt: at)
    }

    /// Reserves the last segment for the end of the session.
    private func checkSegments() throws(Refusal) {
        guard closedSegments.count < segmentLimit else {
            throw .invalidState("a session has at most \(segmentLimit) pauses")
        }
    }

    private mutating func close(_ start: Timestamp, _ end: Timestamp) {
        closedSegments.append(Segment(start: start, end: end))
    }

    private mutating func add(_ announced: [StreamName: Int]) throws(Refusal) {
        streams.merge(announced, uniquingKeysWith: max)
        guard streams.count <= SessionAction.streamLimit else {
            throw .invalidCommand("a session has at most \(SessionAction.streamLimit) streams")
        }
    }
}

extension Refusal {
    fileprivate static func impossible(_ action: SessionAction, _ status: SessionStatus) -> Refusal {
        .invalidState(
            "\(action.name) is not possible while the session is \(status.rawValue); "
                + "allowed: \(action.kind.statuses.map(\.rawValue).joined(separator: ", "))")
    }
}
