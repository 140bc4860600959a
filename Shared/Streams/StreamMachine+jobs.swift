import Bus
import ServiceKit
import Workouts

/// Folds and summaries of sessions with many items run as jobs outside of the loop.
extension StreamMachine {
    /// Starts the due jobs whose turn it is.
    mutating func startJobs(now: Moment) -> [StreamJob<Work>] {
        guard turns.hasRoom else { return [] }
        let folds = foldsDue(now: now, isLarge: true).map { ($0, StreamJob<Work>.Purpose.fold(shown: $0.live)) }
        let summaries = summariesDue(now: now, isLarge: true).map { ($0, StreamJob<Work>.Purpose.summary) }
        let chunks = chunksDue(now: now, isLarge: true).map { ($0, StreamJob<Work>.Purpose.chunks) }
        // A user with a running job is not in turn.
        let due = (folds + summaries + chunks).filter { session, _ in !turns.hasJob(session.state.key.user) }
        let first = Dictionary(due.map { ($0.0.state.key.user, $0) }) { first, _ in first }
        var started: [StreamJob<Work>] = []
        for user in turns.queue(Set(first.keys)) {
            guard let (session, purpose) = first[user] else { continue }
            let items =
                session.hasAllStreams ? session.count + (session.route(for: purpose)?.rows ?? 0) : bounds.session
            // The first in turn waits for room, and the others for the first.
            guard let number = turns.begin(user, items: items) else { break }
            started.append(start(number, purpose, session, now))
        }
        return started
    }

    private mutating func start(
        _ number: Int, _ purpose: StreamJob<Work>.Purpose, _ session: OwnedSession<Work>, _ now: Moment
    ) -> StreamJob<Work> {
        session.job = number
        switch purpose {
        case .fold:
            session.tasks.remove(.fold)
            session.sinceFold = []
        // A summary is awaited until the job ends.
        case .summary: break
        case .chunks:
            session.tasks.remove(.chunks)
            session.repeatedAt = now
        }
        return StreamJob(
            number: number, key: session.state.key, profiled: session.profiled, route: session.route(for: purpose),
            purpose: purpose, unsaved: session.unsavedChunks, startedAt: now.wallClock)
    }

    /// Loads the streams that a job read. Returns `nil` if the session has left memory since: then the result is void.
    mutating func end(_ end: StreamJob<Work>.End) -> OwnedSession<Work>? {
        guard let session = sessions[end.job.key], session.job == end.job.number else {
            release(end.job)
            return nil
        }
        switch end.outcome {
        case .folded: session.foldCost = end.cost
        case .finished: session.summaryCost = end.cost
        case .corrupt, .failed, .outdated: return session
        }
        session.loadMissing(end.streams)
        return session
    }

    /// The job has ended, and its results are published or void.
    mutating func release(_ job: StreamJob<Work>) {
        turns.end(job.number)
        guard let session = sessions[job.key], session.job == job.number else { return }
        session.job = nil
        session.sinceFold = nil
    }

    /// Adopts the fold of a job and adds the items that were committed since. A fold over other segments is void.
    mutating func adopt(_ live: Work.Live, _ end: StreamJob<Work>.End, now: Moment) {
        guard let session = sessions[end.job.key] else { return }
        session.foldedAt = now
        session.heard = end.heard
        for part in session.sinceFold ?? [] { session.heard?.addItems(part.items) }
        var live = live
        guard !Work.Live.isOther(session.profiled, than: end.job.profiled), live.follow(session.state) else {
            schedule.add(.fold, to: session)
            session.foldAt = now + session.spacing(session.foldCost)
            return
        }
        if let shown = session.live { live.continueDisplay(of: shown) }
        for part in session.sinceFold ?? [] {
            let known = (end.streams[part.device]?.next ?? 0) - part.first
            live.addItems(
                Array(part.items.dropFirst(max(0, known))), from: part.device, segments: session.state.segments,
                now: now.wallClock)
        }
        show(live, session, now)
        if !live.isExact { requestFold(session, now) }
    }

    /// Schedules the work of a job again: at once in the loop if items are corrupt, else as another job.
    mutating func retry(_ end: StreamJob<Work>.End, now: Moment) {
        guard let session = sessions[end.job.key] else { return }
        if case .corrupt = end.outcome { session.isCorrupt = true }
        let due = session.isCorrupt ? now : now + StreamTimes.retry
        switch end.job.purpose {
        case .fold:
            schedule.add(.fold, to: session)
            session.foldAt = due
        case .summary: session.summaryAt = due
        case .chunks: schedule.add(.chunks, to: session)
        }
    }
}

/// Live folds: in the loop for a session with few items, as jobs for others.
extension StreamMachine {
    /// Schedules a fold over all items if the live fold depends on what has changed.
    mutating func requestOtherFold(_ session: OwnedSession<Work>, _ before: ProfiledState, _ now: Moment) {
        let isOther = Work.Live.isOther(session.profiled, than: before)
        guard isOther || session.live?.follow(session.state) == false else { return }
        schedule.add(.fold, to: session)
        session.foldAt = max(now, session.foldedAt.map { $0 + session.spacing(session.foldCost) } ?? now)
    }

    /// Schedules a fold over all items: at once, or when the rate limit allows it.
    mutating func requestFold(_ session: OwnedSession<Work>, _ now: Moment) {
        guard schedule.add(.fold, to: session) else { return }
        let interval =
            session.isLarge ? max(StreamTimes.longFold, session.spacing(session.foldCost)) : StreamTimes.fold
        session.foldAt = max(now, session.foldedAt.map { $0 + interval } ?? now)
    }

    /// The sessions with a due fold over all items.
    mutating func foldsDue(now: Moment, isLarge: Bool = false) -> [OwnedSession<Work>] {
        schedule.sessions(with: .fold).filter { $0.isShown && $0.isLarge == isLarge && $0.foldAt <= now }
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
        session.heard = stored.heard
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
        session.foldedAt = now
        session.tasks.remove(.fold)
        schedule.add(.splits, to: session)
        news.add(session)
    }
}
