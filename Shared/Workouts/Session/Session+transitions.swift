extension Session {
    /// Applies a command that happened at `at`; a moment before the last transition counts as that transition's.
    ///
    /// A refusal changes nothing.
    ///
    /// - Parameter newest: the time of the session's newest item, as far as it is known; where `recover` ends it.
    package mutating func apply(
        _ action: SessionAction, at: Timestamp, newest: Timestamp? = nil
    ) throws(Refusal) {
        var next = self
        try next.transition(action, at: at, newest: newest)
        self = next
    }

    private mutating func transition(
        _ action: SessionAction, at moment: Timestamp, newest: Timestamp?
    ) throws(Refusal) {
        endCountdown(by: moment)
        let at = max(moment, lastTransition)
        switch (action, status) {
        case (.deviceReady(let device), .unfinished):
            guard device.kind == "watch" else { throw .invalidCommand("device: only a watch makes watch mode") }
            mode = .watch
            watchAwaitedUntil = nil
            banner = nil
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
            let lapLimit = planned == nil ? Self.lapLimit : Self.plannedLapLimit
            guard laps.count < lapLimit else { throw .invalidState("a session has at most \(lapLimit) laps") }
            laps.append(at)
        case (.end(let announced), .unfinished(.active(let since))):
            close(since, at)
            try end(announced, at)
        case (.end(let announced), .unfinished(.paused)), (.end(let announced), .unfinished(.suspended)):
            try end(announced, at)
        case (.end(let announced), .saving), (.end(let announced), .completed):
            // A second device's `end`, or the first one's again.
            try add(announced)
            return
        case (.discard, .unfinished(let unfinished)):
            cancel(.discarded, unfinished)
        case (.recover, .canceled(let reason, let unfinished)):
            // Without any item only the discard tells until when it went on.
            save(unfinished, newest: reason == .discarded && !hasItems ? lastTransition : newest)
        case (.plan(let action), .unfinished(let unfinished)):
            if case .preparing = unfinished { throw .impossible(action.name, statusName) }
            guard var planned else { throw .noPlan }
            // Earlier than the last transition as well: what was done before a pause may be told after it.
            try planned.apply(action, at: max(moment, startedAt ?? moment), segments)
            self.planned = planned
            return
        case (_, .deleted): throw .sessionNotFound
        case (.start, _), (.deviceReady, _), (.pause, _), (.resume, _), (.lap, _), (.suspend, _), (.end, _),
            (.discard, _), (.recover, _), (.plan, _):
            throw .impossible(action.name, statusName)
        }
        lastTransition = max(at, lastTransition)
    }

    /// Nothing was heard of it for too long: it is given up, its open segment left open.
    package mutating func expire() {
        guard case .unfinished(let unfinished) = status else { return }
        cancel(.expired, unfinished)
    }

    /// An expired session is heard of again: it goes on where it was, or is saved when its user has another by now.
    package mutating func hearAgain(hasOther: Bool, newest: Timestamp?) {
        guard case .canceled(.expired, let unfinished) = status else { return }
        if hasOther {
            save(unfinished, newest: newest)
        } else {
            status = .unfinished(unfinished)
        }
    }

    /// The summaries hold all that was announced, or enough was waited: the record is out.
    package mutating func complete() {
        guard case .saving(let endedAt) = status else { return }
        status = .completed(endedAt: endedAt)
    }

    /// The first item of any device: live metrics are there after all.
    package mutating func receiveFirstItem() {
        hasItems = true
        banner = nil
    }

    /// All that was recorded goes; that it was stays.
    ///
    /// - Parameter reason: why it had been given up, when it goes because of that and nobody deleted it.
    package mutating func delete(givenUp reason: CancelReason? = nil) {
        status = .deleted(reason)
        planned = nil
        name = activity.defaultName(environment)
        timeZone = nil
        profile = nil
        permissions = nil
        place = nil
        run = nil
        notSynced = nil
        closedSegments = []
        laps = []
        streams = [:]
        banner = nil
        watchAwaitedUntil = nil
    }

    private mutating func cancel(_ reason: CancelReason, _ unfinished: Unfinished) {
        watchAwaitedUntil = nil
        banner = nil
        status = .canceled(reason, was: unfinished)
    }

    /// Saves a session that nobody ended: the clock stopped at its last item.
    private mutating func save(_ unfinished: Unfinished, newest: Timestamp?) {
        var endedAt = closedSegments.last?.end ?? lastTransition
        if case .active(let since) = unfinished {
            // No earlier than the last lap or set, which is somebody's word that it went on until then.
            endedAt = max(since, newest ?? since, laps.last ?? since, planned?.progress.latest ?? since)
            close(since, endedAt)
        }
        status = .saving(endedAt: endedAt)
        lastTransition = max(endedAt, lastTransition)
    }

    private mutating func end(_ announced: [StreamName: Int], _ at: Timestamp) throws(Refusal) {
        try add(announced)
        watchAwaitedUntil = nil
        status = .saving(endedAt: at)
    }

    /// Room is left for the last segment, which ends the session.
    private func checkSegments() throws(Refusal) {
        let segmentLimit = planned == nil ? Self.segmentLimit : Self.plannedSegmentLimit
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
    fileprivate static func impossible(_ action: String, _ status: SessionStatus) -> Refusal {
        .invalidState("\(action) is not possible while the session is \(status.rawValue)")
    }
}
