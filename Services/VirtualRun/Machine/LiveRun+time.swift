import Bus
import ServiceKit
import Workouts

/// Links, prompts, and when messages go out.
extension LiveRun {
    /// Seconds between two `partners` of a reader without changes, and before an urgent one.
    static let keepAlive = 10.0
    static let urgentInterval = 0.25
    /// Seconds by which the average interval is shorter than that of snapshots.
    static let catchUp = 0.05
    /// Seconds for which a change that came too early for a run of two waits for the next one, which goes out at once.
    static let pairWait = 1.0
    /// Seconds of a lost link until the prompt, and until it comes again.
    static let promptDelay = 180.0
    /// The ages at which a link changes, in microseconds.
    static let staleAge = Int64(RunLink.staleAge * 1e6)
    static let disconnectedAge = Int64(RunLink.disconnectedAge * 1e6)

    /// - Parameter isFed: whether this service is connected and a metrics-aggregator is online. Ages stand while it is not,
    ///   so the machine also calls this when it changes.
    mutating func advance(isFed: Bool, now: Moment) -> [LiveOutput] {
        tick(now)
        if isFed, !self.isFed {
            promptsFrom = max(promptsFrom, fed + Self.grace)
            promptsChangeAt = 0
        }
        self.isFed = isFed
        if isLive {
            refreshLinks(now)
            refreshPrompts(now)
            var rows: [Partners.Row?] = []
            for index in readers.indices where due(index, readers[index], now).map({ $0 <= now }) ?? false {
                if rows.isEmpty { rows = sharedRows }
                send(rows, to: index, now)
            }
        }
        defer { pending = [] }
        return pending
    }

    /// The time of the next output or change; `nil` if none comes without an event.
    var due: Moment? {
        guard pending.isEmpty else { return moment(ofFed: fed) }
        guard isLive else { return nil }
        var next: Moment?
        func note(_ moment: Moment?) {
            if let moment { next = min(next ?? moment, moment) }
        }
        for index in readers.indices { note(due(index, readers[index], moment(ofFed: fed))) }
        guard isFed else { return next }
        let change = min(linksChangeAt, promptsChangeAt)
        if change < .max { note(moment(ofFed: change)) }
        return next
    }

    /// When the next message of a reader is due.
    func due(_ index: Int, _ reader: Reader, _ now: Moment) -> Moment? {
        guard reader.isActive else { return nil }
        guard let sent = reader.sentAt, !reader.awaitsSplit else { return now }
        if reader.isUrgent { return sent + Self.urgentInterval }
        let newest = newest(for: index)
        guard newest.count > reader.seen else { return sent + Self.keepAlive }
        let from = reader.changesFrom ?? newest.at
        let isEarly = newest.at < from
        return max(sent + Self.urgentInterval, isEarly ? from + (isPair ? Self.pairWait : 0) : newest.at)
    }

    /// Counts a message as the one of an interval. In a run of two, only one that carries a change which did not come too
    /// early: else snapshots would wait for as long as an earlier one did.
    mutating func countMessage(to index: Int, _ now: Moment) {
        let (reader, newest) = (readers[index], newest(for: index))
        let from = reader.changesFrom ?? (isPair ? now : now - reader.interval)
        guard isPair ? newest.count > reader.seen && newest.at >= from : now >= from else { return }
        // After a silence several may follow: between two, a stall brings two at once, and the next is not to wait for them.
        let silence = isPair ? 2 * reader.interval : reader.interval
        readers[index].changesFrom = max(from, now - silence) + reader.interval - Self.catchUp
    }

    // MARK: - Links

    private mutating func refreshLinks(_ now: Moment) {
        guard fed >= linksChangeAt else { return }
        linksChangeAt = .max
        for index in runners.indices { refreshLink(index, now) }
    }

    /// Seconds.
    func age(_ index: Int) -> Double { Double(max(0, fed - runners[index].arrivedAt)) / 1e6 }

    mutating func refreshLink(_ index: Int, _ now: Moment) {
        guard runners[index].isAwaited else { return }
        let age = age(index)
        let link = RunLink(age: age, isPaused: runners[index].metrics?.isPaused ?? false)
        switch link {
        case .connected: linksChangeAt = min(linksChangeAt, runners[index].arrivedAt + Self.staleAge)
        // A microsecond later it is disconnected.
        case .stale: linksChangeAt = min(linksChangeAt, runners[index].arrivedAt + Self.disconnectedAge + 1)
        case .disconnected, .paused, .finished: break
        }
        let lostAt = link == .disconnected ? now.wallClock - (age - RunLink.disconnectedAge) : nil
        if (lostAt == nil) != (runners[index].facts.lostAt == nil) {
            runners[index].facts.lostAt = lostAt
            factsChanged()
        }
        guard link != runners[index].link else { return }
        runners[index].link = link
        promptsChangeAt = 0
        alarm(but: index)
    }

    // MARK: - Prompts

    /// The runners that others wait for: how many are not lost, which one, and who of the lost was so last.
    struct Losses {
        var presentCount = 0
        var present = -1
        /// The index and the newest arrival of the two that were lost last.
        var last: (index: Int, arrivedAt: Int64)?
        var nextToLast: Int64?
    }

    private var losses: Losses {
        var losses = Losses()
        for index in runners.indices where runners[index].isAwaited {
            guard runners[index].link == .disconnected else {
                losses.presentCount += 1
                losses.present = index
                continue
            }
            let arrivedAt = runners[index].arrivedAt
            if losses.last.map({ arrivedAt > $0.arrivedAt }) ?? true {
                losses.nextToLast = losses.last?.arrivedAt
                losses.last = (index, arrivedAt)
            } else {
                losses.nextToLast = max(losses.nextToLast ?? arrivedAt, arrivedAt)
            }
        }
        return losses
    }

    /// When the prompt of a runner comes, and when an item of a partner last arrived, on the clock of ages; `nil` while an
    /// unfinished partner is not lost, and without any.
    private func promptMoment(_ index: Int, _ losses: Losses) -> (due: Int64, newest: Int64)? {
        guard runners[index].isAwaited, losses.presentCount == 0 || losses.presentCount == 1 && losses.present == index,
            let last = losses.last, let newest = last.index == index ? losses.nextToLast : last.arrivedAt
        else { return nil }
        let delay = Int64(Self.promptDelay * 1e6)
        let first = newest + Self.disconnectedAge + delay
        guard let waitsUntil = runners[index].facts.waitsUntil else { return (first, newest) }
        let wait = waitsUntil.microseconds - moment(ofFed: fed).wallClock.microseconds
        // A clock that stepped backwards delays it by no more than the whole wait.
        return (max(first, fed + min(wait, delay)), newest)
    }

    private mutating func refreshPrompts(_ now: Moment) {
        guard fed >= promptsChangeAt else { return }
        promptsChangeAt = .max
        let losses = losses
        for index in runners.indices {
            guard let (moment, newest) = promptMoment(index, losses) else {
                if runners[index].facts.promptAt != nil || runners[index].facts.waitsUntil != nil { clearPrompt(index) }
                continue
            }
            guard runners[index].facts.promptAt == nil else { continue }
            guard fed >= max(moment, promptsFrom), isFed else {
                promptsChangeAt = min(promptsChangeAt, max(moment, promptsFrom))
                continue
            }
            let since = now.wallClock - Double(fed - newest) / 1e6
            runners[index].facts.promptAt = since
            runners[index].facts.waitsUntil = nil
            factsChanged()
            let user = runners[index].participant.user
            pending.append(.prompt(user, since: since))
            pending.append(.cue(user, Announcement(.lost, at: now.wallClock)))
        }
    }

    mutating func clearPrompt(_ index: Int) {
        if runners[index].facts.promptAt != nil {
            pending.append(.prompt(runners[index].participant.user, since: nil))
        }
        (runners[index].facts.promptAt, runners[index].facts.waitsUntil) = (nil, nil)
        factsChanged()
    }

    /// Since when the user's prompt says that no data arrive; `nil` without one.
    func prompt(of user: User) -> Timestamp? {
        runners.first { $0.participant.user == user }?.facts.promptAt
    }

    /// The prompt disappears, and comes again after 180 s.
    mutating func keepWaiting(_ user: User, now: Moment) {
        guard let index = runners.firstIndex(where: { $0.participant.user == user }),
            runners[index].facts.promptAt != nil
        else { return }
        clearPrompt(index)
        runners[index].facts.waitsUntil = now.wallClock + Self.promptDelay
        promptsChangeAt = 0
    }
}
