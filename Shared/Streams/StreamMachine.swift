import Bus
import MQTT
import ServiceKit
import Storage
import Timing
import Workouts

/// The sessions in memory. Items, states and time change them.
///
/// It reads no clock and performs no effects. Its sessions are objects, so that no message copies one. Accepted items
/// count after their commit.
struct StreamMachine<Work: StreamWork> {
    let bounds: StreamBounds
    var sessions: [SessionKey: OwnedSession<Work>] = [:]
    /// Sessions with unpublished live metrics.
    var news = LiveNews<Work>()
    var schedule = StreamSchedule<Work>()
    var turns: JobTurns
    private(set) var statusCounts: [SessionStatus: Int] = [:]
    private var sweptAt: Moment?
    /// The highest live revision of evicted sessions: a session that returns continues above it, even if revisions ran
    /// ahead of the clock.
    private(set) var evicted: [Shard: Int64] = [:]
    /// The streams that a gain moved out of the journal, until their sessions are in memory.
    var moved: [SessionKey: [Device: StoredStream<Work.Item>]] = [:]
    /// The streams with items that only the journal has.
    var journal = JournalLedger<(session: OwnedSession<Work>, stream: ItemStream<Work.Item>)>()
    /// The items that accounts stored today.
    var quota: DailyQuota

    init(_ bounds: StreamBounds = StreamBounds()) {
        self.bounds = bounds
        turns = JobTurns(itemLimit: bounds.session)
        quota = DailyQuota(limit: bounds.day)
    }

    // MARK: Items

    /// Receives a batch. Its stream must be in memory.
    mutating func acceptBatch(
        _ batch: ItemBatch<Work.Item>, from device: Device, of session: OwnedSession<Work>, now: Moment
    ) -> StreamOutcome {
        if session.record.state.status == .deleted { return .dropped }
        let key = session.state.key
        guard let stream = session.stream(of: device) ?? session.add(from: device) else { return .full }
        schedule.add(.commit, to: session)
        // Items of files count as bytes.
        let isImported = device == .importer
        let daily = isImported ? Int.max : quota.available(to: key.user, now)
        let room = session.room
        let new = batch.first + batch.items.count - stream.expected
        let outcome =
            stream.receive(batch, room: min(room, daily, session.hourly.available(now)))
            ?? .limited(new > room ? .session : new > daily ? .day : .hour)
        switch outcome {
        case .taken, .corrected:
            session.pendingItems += new
            session.hourly.spend(new)
            if !isImported { quota.spend(new, of: key.user, in: key.session.shard, now) }
            if stream.noteAccepted(batch, now) {
                session.record.clockSkew[device] = stream.skew.seconds
                schedule.add(.record, to: session)
                schedule.add(.heard, to: session)
            }
        case .repeated: stream.acknowledge()
        case .gap: stream.answerGap(now)
        case .limited(let limit): stream.refuse(retryAfter: session.retryAfter(new, limit, now), now)
        case .reused, .full, .dropped: break
        }
        return outcome
    }

    /// The number of items in the next commit.
    mutating func countPending() -> Int { schedule.sessions(with: .commit).reduce(0) { $0 + $1.pendingItems } }

    /// The changes that store the pending items and move due ones from the journal into chunks. The record marks a summary that
    /// lacks these items.
    ///
    /// - Parameter limit: the maximum number of due streams.
    mutating func stage(due limit: Int, now: Moment) -> [StreamChange] {
        for (session, stream) in journal.due(now, limit: limit, belongs: { $0.stream.journaled?.commit == $1 }) {
            stream.isDue = true
            schedule.add(.commit, to: session)
        }
        let isFull = journal.isFull(now)
        var changes: [StreamChange] = []
        for session in schedule.sessions(with: .commit) {
            // Late items of an ended session may be the last, and it is to leave memory.
            let staged = session.stage(saves: isFull || !session.isUnfinished)
            if session.pendingItems > 0, session.isEnded, !session.record.needsSummary {
                session.record.needsSummary = true
                schedule.add(.record, to: session)
            }
            noteSize(session)
            changes += staged
        }
        return changes
    }

    /// Adds all sessions with items that only the journal has to the next commit, which moves them into chunks.
    mutating func stageUnsaved(in shards: Set<Shard>) {
        for (key, session) in sessions where shards.contains(key.session.shard) && session.hasUnsavedItems {
            for stream in session.streams { stream.isDue = true }
            schedule.add(.commit, to: session)
        }
    }

    /// Notes where the oldest item is that only the journal has, for each stream of a session.
    ///
    /// - Parameter commit: the last commit, if it appended to the journal.
    mutating func noteJournaled(_ session: OwnedSession<Work>, in commit: Int?) {
        for stream in session.streams {
            if let journaled = stream.journaled, journaled.first != stream.saved || stream.saved == stream.next {
                journal.release(journaled.commit)
                stream.journaled = nil
            }
            guard let commit, stream.saved < stream.next, stream.journaled == nil else { continue }
            stream.journaled = (stream.saved, commit)
            journal.add((session, stream), to: commit)
        }
    }

    /// Records that the session is large, so that a restart knows.
    mutating func noteSize(_ session: OwnedSession<Work>) {
        guard session.hasManyItems, session.record.isLarge == nil else { return }
        session.record.isLarge = true
        schedule.add(.record, to: session)
    }

    /// The pending items and routes are on disk and count from now on.
    ///
    /// - Parameter journaled: the last record of the commit in the journal, and the size of its items there.
    mutating func committed(now: Moment, journaled: (sequence: Int64, bytes: Int)?) {
        committedRoutes(now)
        let commit = journaled.map { journal.append(through: $0.sequence, bytes: $0.bytes, now) }
        for session in schedule.sessions(with: .commit) {
            let hasNewItems = session.pendingItems > 0
            session.committed(now)
            noteJournaled(session, in: commit)
            guard hasNewItems else { continue }
            session.receivedAt = now
            session.isSilent = false
            if session.live?.isExact == false { requestFold(session, now) }
            session.heard.stored(now)
            if session.owesHeard(now) { schedule.add(.heard, to: session) }
            if let count = session.live?.splitCount, session.news.hasSplit(count) { schedule.add(.splits, to: session) }
            news.add(session)
            if session.isEnded { requestSummary(session, now) }
        }
        _ = schedule.take(.record)
    }

    /// Drops the pending items and chunks after a failed commit.
    mutating func discardPending(_ now: Moment) {
        discardRoutes()
        for session in schedule.take(.commit) {
            let key = session.state.key
            quota.spend(-session.dailyItems, of: key.user, in: key.session.shard, now)
            session.discardPending()
        }
    }

    /// Removes and returns the due acknowledgements by session, one per stream.
    mutating func takeAcks(now: Moment, _ epochs: [Shard: Epoch]) -> [(key: SessionKey, acks: [MQTTMessage])] {
        schedule.take(.commit).map { session in
            let acks = session.takeAcks(now, epochs)
            if let due = session.ackDue, schedule.add(.ack, to: session) { session.ackAt = due }
            return (session.state.key, acks)
        }
    }

    /// Removes and returns the acknowledgements that no later batch made due.
    mutating func takeDeferredAcks(
        now: Moment, _ epochs: [Shard: Epoch]
    ) -> [(key: SessionKey, acks: [MQTTMessage])] {
        schedule.takeAcks(now).map { session in
            session.acknowledgeDeferred()
            return (session.state.key, session.takeAcks(now, epochs))
        }
    }

    // MARK: States

    /// Loads a session from the store. Of its streams it has those that a gain moved; the others are read when necessary.
    @discardableResult
    mutating func load(_ record: StreamRecord<Work.Totals>, now: Moment) -> OwnedSession<Work> {
        let key = record.state.key
        let session = OwnedSession<Work>(stored: record, receivedAt: now, bounds: bounds)
        sessions[key] = session
        // Once: from here on the session's own streams change.
        let moved = moved.removeValue(forKey: key) ?? [:]
        if record.state.status == .deleted { return session }
        for (device, stream) in moved.sorted(by: { $0.key < $1.key }) { session.load(stream, from: device) }
        requestFold(session, now)
        if record.needsSummary { requestSummary(session, now) }
        return session
    }

    /// Receives a session's state. An older state changes nothing.
    mutating func receiveState(_ state: SessionState, now: Moment) {
        let key = state.key
        let session: OwnedSession<Work>
        if let known = sessions[key] {
            session = known
            let known = session.state
            guard state.revision > known.revision else { return }
            let before = session.profiled
            session.record.state = state
            session.news.note(state, after: known, now: now)
            if session.news.hasLaps { schedule.add(.laps, to: session) }
            if !session.isUnfinished, session.hasUnsavedItems { schedule.add(.commit, to: session) }
            requestOtherFold(session, before, now)
        } else {
            session = OwnedSession(new: state, receivedAt: now, bounds: bounds)
            sessions[key] = session
            moved[key] = nil
        }
        guard state.status != .deleted else { return purge(session, state, now) }
        news.add(session)
        schedule.add(.record, to: session)
        if !session.isUnfinished, session.heard.unsentSince != nil { schedule.add(.heard, to: session) }
        guard session.isEnded else { return }
        session.record.needsSummary = true
        if session.intake != nil { schedule.add(.route, to: session) }
        requestSummary(session, now)
    }

    /// Receives the profile of a session. An older one changes nothing.
    mutating func receiveProfile(_ profile: SessionProfile, of key: SessionKey, now: Moment) {
        guard let session = sessions[key], session.state.status != .deleted,
            profile.revision > session.record.profile?.revision ?? -1
        else { return }
        let before = session.profiled
        // The note of an edit is for its owner alone.
        session.record.profile = SessionProfile(revision: profile.revision, profile: profile.profile)
        requestOtherFold(session, before, now)
        schedule.add(.record, to: session)
        guard session.isEnded else { return }
        session.record.needsSummary = true
        requestSummary(session, now)
    }

    // MARK: Time

    /// Applies the time: marks silent sessions and evicts ended ones.
    ///
    /// Returns whether the check was due.
    mutating func sweep(now: Moment) -> Bool {
        guard sweptAt.map({ now.seconds(since: $0) >= StreamTimes.sweep }) ?? true else { return false }
        sweptAt = now
        statusCounts = [:]
        for session in sessions.values {
            statusCounts[session.state.status, default: 0] += 1
            if session.becomesSilent(now) { news.add(session) }
            if let since = session.heard.unsentSince, now.seconds(since: since) >= StreamTimes.silence {
                schedule.add(.heard, to: session)
            }
            if session.isIdle(now) {
                let shard = session.state.session.shard
                evicted[shard] = max(evicted[shard] ?? 0, session.liveTopic.revision, session.heard.revision)
                forget(session)
            }
        }
        return true
    }

    /// A session leaves memory, and its tasks with it.
    private mutating func forget(_ session: OwnedSession<Work>) {
        sessions[session.state.key] = nil
        session.tasks = StreamTasks()
        for stream in session.streams {
            if let journaled = stream.journaled.take() { journal.release(journaled.commit) }
        }
    }

    /// Removes sessions that another process owns now.
    mutating func drop(where isLost: (SessionKey) -> Bool) {
        for session in sessions.values.filter({ isLost($0.state.key) }) { forget(session) }
        moved = moved.filter { !isLost($0.key) }
        schedule.prune()
    }

    // MARK: Deletion

    /// Drops the pending items and tasks of a deleted session.
    private mutating func purge(_ session: OwnedSession<Work>, _ state: SessionState, _ now: Moment) {
        forget(session)
        let deleted = OwnedSession<Work>(
            stored: StreamRecord(deleted: state), receivedAt: now, bounds: bounds)
        sessions[state.key] = deleted
        schedule.add(.purge, to: deleted)
    }

    /// The store keeps only the deletion. Returns the messages that clear the session's retained topics.
    mutating func purged(_ session: OwnedSession<Work>, now: Moment) -> [MQTTMessage] {
        session.tasks.remove(.purge)
        journal.deleted(now)
        return Self.cleared(session.state.key)
    }
}
