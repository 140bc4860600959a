import Bus
import DequeModule
import MQTT
import ServiceKit
import Workouts

/// How often the live values of a session go out: every second while the loop has time. In a busy loop they give way to
/// acknowledgements and summaries, and go out every two, then every three seconds.
struct LivePace {
    /// In seconds.
    private(set) var interval = StreamTimes.live
    private var busy: BusyShare?

    /// The loop has handled an event.
    mutating func handled(from begin: Moment, to end: Moment) {
        var busy = self.busy ?? BusyShare(from: begin, window: StreamTimes.liveWindow)
        if let share = busy.handled(from: begin, to: end) {
            if share > StreamTimes.liveBusy { interval = min(interval + StreamTimes.live, StreamTimes.liveSlowest) }
            if share < StreamTimes.liveRested { interval = max(interval - StreamTimes.live, StreamTimes.live) }
        }
        self.busy = busy
    }
}

/// The sessions with live messages to publish. A session is in one of the lists once, so that an item costs no search.
struct LiveNews<Work: StreamWork> {
    typealias Session = OwnedSession<Work>

    /// Where a session is in the interval between its live messages.
    enum Turn {
        case idle
        /// The session is in ``due``.
        case due
        /// The session is in ``resting`` since its last message.
        case resting(hasNews: Bool)
    }

    /// Sessions with unpublished live metrics outside of the rate limit, and when the interval since their last message was
    /// over, if they waited for that.
    private(set) var due: [(session: Session, dueAt: Moment?)] = []
    /// Sessions within the interval since their last message, in the order of their messages.
    private var resting: Deque<(since: Moment, session: Session)> = []

    /// The live metrics of a session have changed.
    mutating func add(_ session: Session) {
        switch session.turn {
        case .idle:
            session.turn = .due
            due.append((session, nil))
        case .due: break
        case .resting: session.turn = .resting(hasNews: true)
        }
    }

    /// Moves sessions to ``due`` whose interval is over, those that waited longest first.
    ///
    /// - Parameter interval: in seconds.
    mutating func advance(to now: Moment, interval: Double) {
        while let (since, session) = resting.first, now.seconds(since: since) >= interval {
            resting.removeFirst()
            guard case .resting(let hasNews) = session.turn else { continue }
            session.turn = hasNews ? .due : .idle
            if hasNews { due.append((session, since + interval)) }
        }
    }

    /// Removes and returns ``due``.
    mutating func takeDue() -> [(session: Session, dueAt: Moment?)] {
        defer { due = [] }
        for (session, _) in due { session.turn = .idle }
        return due
    }

    /// A session's message goes out.
    ///
    /// - Parameter dueAt: as in ``due``.
    mutating func published(_ session: Session, dueAt: Moment?, _ now: Moment) {
        session.turn = .resting(hasNews: false)
        // A late tick delays no later message, or items that come once a second would wait for up to a second.
        let since = dueAt.flatMap { now.seconds(since: $0) <= StreamTimes.liveDelay ? $0 : nil } ?? now
        resting.append((since, session))
    }
}

extension StreamMachine {
    /// The live metrics of a session as of now; `nil` without any.
    ///
    /// - Parameters:
    ///   - dueAt: as in ``LiveNews/due``.
    ///   - floor: a revision that an earlier process may have reached.
    mutating func liveMessage(
        _ session: OwnedSession<Work>, dueAt: Moment?, now: Moment, floor: Int64
    ) -> MQTTMessage? {
        // A session just loaded has no live metrics until its fold.
        guard isKept(session), session.isShown, let live = session.live else { return nil }
        news.published(session, dueAt: dueAt, now)
        let payload = live.payload(
            session.state, revision: nextRevision(session, now, floor), count: session.count,
            isSilent: session.isSilent)
        let kind = Work.kind.live
        return MQTTMessage(topic: session.liveTopicName, payload: payload, qos: kind.qos, retain: kind.isRetained)
    }

    /// Whether a session is still in memory: not evicted, not of another process.
    func isKept(_ session: OwnedSession<Work>) -> Bool { sessions[session.state.key] === session }

    private func nextRevision(_ session: OwnedSession<Work>, _ now: Moment, _ floor: Int64) -> Int64 {
        session.isSilent = session.isSilent || session.becomesSilent(now)
        return session.liveTopic.revise(
            now.wallClock, above: max(floor, evicted[session.state.session.shard] ?? 0))
    }

    /// Removes and returns the splits that were just completed.
    mutating func takeFinishedSplits(now: Moment) -> [(state: SessionState, split: LiveStretch)] {
        let due = schedule.take(.splits) { session in
            !session.news.awaitsFold || !session.tasks.contains(.fold) && session.job?.missed == nil
        }
        return due.compactMap { session in
            guard session.isShown, let live = session.live else { return nil }
            return session.news.takeSplit(of: live, skews: session.skews, now: now).map { (session.state, $0) }
        }
    }

    /// Removes and returns the laps that just ended. A restart announces none again, because their state is stored.
    mutating func takeFinishedLaps(now: Moment) -> [(state: SessionState, lap: LiveStretch)] {
        var laps: [(state: SessionState, lap: LiveStretch)] = []
        for session in schedule.sessions(with: .laps) where !session.tasks.contains(.record) {
            let ended = session.news.takeLaps(
                of: session.live, session.state, isStale: session.tasks.contains(.fold), skews: session.skews, now: now)
            laps += ended.map { (session.state, $0) }
            if !session.news.hasLaps { session.tasks.remove(.laps) }
        }
        return laps
    }

    /// The sessions with a due `heard`: their items are read, and it is outside the rate limit.
    mutating func heardDue(now: Moment) -> [OwnedSession<Work>] {
        schedule.sessions(with: .heard) { $0.isShown && $0.heard.isDue(now) }
    }

    /// What the service has stored of a session's items.
    func heardMessage(_ session: OwnedSession<Work>, now: Moment, floor: Int64) -> MQTTMessage? {
        let floor = max(floor, evicted[session.state.session.shard] ?? 0)
        // Lost to another process, or its items are not read.
        guard isKept(session),
            var heard = session.heard.next(
                now, above: floor, count: session.count, hasLiveMetrics: session.hasLiveMetrics)
        else { return nil }
        session.tasks.remove(.heard)
        heard.clockSkew = session.record.clockSkew
        return Topic.session(session.state.key, Work.kind.heard).message(heard.payload)
    }
}

/// Live folds: in the loop for a session with few items, as jobs for others.
extension StreamMachine {
    /// Schedules a fold over all items if the live fold depends on what has changed.
    mutating func requestOtherFold(_ session: OwnedSession<Work>, _ before: ProfiledState, _ now: Moment) {
        let isOther = Work.Live.isOther(session.profiled, than: before)
        guard isOther || session.live?.follow(session.state) == false else { return }
        schedule.add(.fold, to: session)
        session.fold.request(now)
    }

    /// Schedules a fold over all items: at once, or when the rate limit allows it.
    mutating func requestFold(_ session: OwnedSession<Work>, _ now: Moment) {
        guard schedule.add(.fold, to: session) else { return }
        session.fold.request(now, interval: session.isLarge ? StreamTimes.longFold : StreamTimes.fold)
    }

    /// The sessions with a due fold over all items.
    mutating func foldsDue(now: Moment, isLarge: Bool = false) -> [OwnedSession<Work>] {
        schedule.sessions(with: .fold) { $0.isShown && $0.isLarge == isLarge && $0.fold.dueAt <= now }
    }

    /// Loads all items of a session from the store and computes the live fold.
    ///
    /// - Parameter stored: all items on disk.
    mutating func fold(_ session: OwnedSession<Work>, _ stored: StoredItems<Work>, now: Moment) {
        for device in stored.streams.keys.sorted() {
            if let stream = stored.streams[device] { session.load(stream, from: device) }
        }
        noteJournaled(session, in: nil)
        session.hasAllStreams = true
        session.isCorrupt = false
        session.heard.items = stored.heard
        noteSize(session)
        let live = Work.Live(streams: stored.items, state: session.profiled, now: now.wallClock, shown: session.live)
        show(live, session, now)
    }

    /// Replaces the live fold of a session.
    mutating func show(_ live: Work.Live, _ session: OwnedSession<Work>, _ now: Moment) {
        session.live = live
        if let companion = session.pendingCompanion.take() {
            _ = session.live?.receive(companion, of: session.state, now: now.wallClock)
        }
        session.fold.done(now)
        session.tasks.remove(.fold)
        schedule.add(.splits, to: session)
        news.add(session)
    }
}
