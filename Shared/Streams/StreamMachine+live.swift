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

    /// Sessions with unpublished live metrics outside of the rate limit.
    private(set) var due: [Session] = []
    /// Sessions within the interval since their last message, in the order of their messages.
    private var resting: Deque<(since: Moment, session: Session)> = []

    /// The live metrics of a session have changed.
    mutating func add(_ session: Session) {
        switch session.turn {
        case .idle:
            session.turn = .due
            due.append(session)
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
            guard hasNews else { continue }
            due.append(session)
            session.dueAt = since + interval
        }
    }

    /// Removes and returns ``due``.
    mutating func takeDue() -> [Session] {
        defer { due = [] }
        for session in due { session.turn = .idle }
        return due
    }

    /// A session's message goes out.
    mutating func published(_ session: Session, _ now: Moment) {
        session.turn = .resting(hasNews: false)
        // A late tick delays no later message, or items that come once a second would wait for up to a second.
        let due = session.dueAt.take()
        let since = due.flatMap { now.seconds(since: $0) <= StreamTimes.liveDelay ? $0 : nil } ?? now
        resting.append((since, session))
    }
}

extension StreamMachine {
    /// The live metrics of a session as of now; `nil` without any.
    ///
    /// - Parameter floor: a revision that an earlier process may have reached.
    mutating func liveMessage(_ session: OwnedSession<Work>, now: Moment, floor: Int64) -> MQTTMessage? {
        // A session just loaded has no live metrics until its fold.
        guard isKept(session), session.isShown, let live = session.live else { return nil }
        news.published(session, now)
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
}
