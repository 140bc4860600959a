import Bus
import DequeModule
import MQTT
import OrderedCollections
import ServiceKit
import Storage
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
    /// Sessions with an unpublished `heard`.
    var awaitingHeard: Set<SessionKey> = []
    /// Sessions that wait for a summary.
    var awaitingSummary: Set<SessionKey> = []
    /// Sessions whose live metrics must be computed from all items again.
    var stale: Set<SessionKey> = []
    /// The users and items of the running jobs, by number.
    var jobs: [Int: (user: User, items: Int)] = [:]
    var jobCount = 0
    /// The users with due jobs, the next one first.
    var usersInTurn: OrderedSet<User> = []
    /// Sessions with more distance since the last announcement.
    var withSplits: Set<SessionKey> = []
    /// Sessions with a lap to announce.
    var withLaps: Set<SessionKey> = []
    /// Deleted sessions with stored data.
    private(set) var toPurge: Set<SessionKey> = []
    private(set) var statusCounts: [SessionStatus: Int] = [:]
    private var sweptAt: Moment?
    /// The highest live revision of evicted sessions: a session that returns continues above it, even if revisions ran
    /// ahead of the clock.
    private(set) var evicted: [Shard: Int64] = [:]
    /// Sessions with items since the last commit.
    private var touched: [OwnedSession<Work>] = []
    /// The streams with items that only the journal has.
    var journal = JournalLedger<(session: OwnedSession<Work>, index: Int)>()
    /// Sessions with accepted items that are not acknowledged, by the time when they must be.
    private var awaitingAck: Deque<(due: Moment, session: OwnedSession<Work>)> = []
    /// The routes that sessions take in, until they are complete on disk.
    var intakes: [SessionKey: RouteIntake] = [:]
    /// Sessions with a part of their route in the next commit.
    var withRoute: Set<SessionKey> = []
    /// Sessions whose record belongs to the next commit.
    private(set) var unsaved: Set<SessionKey> = []
    /// The items that accounts stored today.
    var quota: DailyQuota

    init(_ bounds: StreamBounds = StreamBounds()) {
        self.bounds = bounds
        quota = DailyQuota(limit: bounds.day)
    }

    // MARK: Items

    /// Receives a batch. Its stream must be in memory.
    mutating func acceptBatch(
        _ batch: ItemBatch<Work.Item>, from device: Device, of session: OwnedSession<Work>, now: Moment
    ) -> StreamOutcome {
        if session.record.state.status == .deleted { return .dropped }
        touch(session)
        let (key, pending) = (session.state.key, session.pendingItems)
        // Those count as bytes of files.
        let isImported = device == .importer
        let daily = isImported ? Int.max : quota.available(to: key.user, now)
        let outcome = session.receive(batch, from: device, daily: daily, now: now)
        if !isImported { quota.spend(session.pendingItems - pending, of: key.user, in: key.session.shard, now) }
        if session.hasNewSkew {
            session.hasNewSkew = false
            unsaved.insert(session.state.key)
            awaitingHeard.insert(session.state.key)
        }
        return outcome
    }

    /// Adds a session to the next commit.
    private mutating func touch(_ session: OwnedSession<Work>) {
        guard !session.isTouched else { return }
        session.isTouched = true
        touched.append(session)
    }

    /// The number of items in the next commit.
    var pendingItems: Int { touched.reduce(0) { $0 + $1.pendingItems } }

    /// The changes that store the pending items and move due ones from the journal into chunks. The record marks a summary that
    /// lacks these items.
    ///
    /// - Parameter limit: the maximum number of due streams.
    mutating func stage(due limit: Int, now: Moment) -> [StreamChange] {
        for (session, index) in journal.due(now, limit: limit, belongs: { $0.session.belongs($0.index, to: $1) }) {
            session.streams[index].isDue = true
            touch(session)
        }
        let isFull = journal.isFull(now)
        var changes: [StreamChange] = []
        for session in touched {
            // Late items of an ended session may be the last, and it is to leave memory.
            let staged = session.stage(saves: isFull || !session.isUnfinished)
            if session.pendingItems > 0, session.isEnded, !session.record.needsSummary {
                session.record.needsSummary = true
                unsaved.insert(session.state.key)
            }
            noteSize(session)
            changes += staged
        }
        return changes
    }

    /// Adds all sessions with items that only the journal has to the next commit, which moves them into chunks.
    mutating func touchUnsaved(in shards: Set<Shard>) {
        for (key, session) in sessions where shards.contains(key.session.shard) && session.hasUnsavedItems {
            for stream in session.streams { stream.isDue = true }
            touch(session)
        }
    }

    /// Notes where the oldest item is that only the journal has, for each stream of a session.
    ///
    /// - Parameter commit: the last commit, if it appended to the journal.
    mutating func noteJournaled(_ session: OwnedSession<Work>, in commit: Int?) {
        for (index, stream) in session.streams.enumerated() {
            let (saved, next) = (stream.stream.saved, stream.stream.next)
            if let journaled = stream.journaled, journaled.first != saved || saved == next {
                journal.release(journaled.commit)
                stream.journaled = nil
            }
            guard let commit, saved < next, stream.journaled == nil else { continue }
            stream.journaled = (saved, commit)
            journal.add((session, index), to: commit)
        }
    }

    /// Records that the session is large, so that a restart knows.
    mutating func noteSize(_ session: OwnedSession<Work>) {
        guard session.hasManyItems, session.record.isLarge == nil else { return }
        session.record.isLarge = true
        unsaved.insert(session.state.key)
    }

    /// The pending items and routes are on disk and count from now on.
    ///
    /// - Parameter journaled: the last record of the commit in the journal, and the size of its items there.
    mutating func committed(now: Moment, journaled: (sequence: Int64, bytes: Int)?) {
        committedRoutes(now)
        let commit = journaled.map { journal.append(through: $0.sequence, bytes: $0.bytes, now) }
        for session in touched {
            let hasNewItems = session.pendingItems > 0
            session.committed(now)
            noteJournaled(session, in: commit)
            guard hasNewItems else { continue }
            let key = session.state.key
            session.receivedAt = now
            session.isSilent = false
            if session.live?.isExact == false { requestFold(key, now) }
            session.unheardSince = now
            if session.owesHeard(now) { awaitingHeard.insert(key) }
            if let count = session.live?.splitCount, session.news.hasSplit(count) { withSplits.insert(key) }
            news.add(session)
            if session.isEnded { requestSummary(key, now) }
        }
        unsaved = []
    }

    /// Drops the pending items and chunks after a failed commit.
    mutating func discardPending(_ now: Moment) {
        discardRoutes()
        for session in touched {
            let key = session.state.key
            quota.spend(-session.dailyItems, of: key.user, in: key.session.shard, now)
            session.discardPending()
            session.isTouched = false
        }
        touched = []
    }

    /// Removes and returns the due acknowledgements by session, one per stream.
    mutating func takeAcks(now: Moment, _ epochs: [Shard: Epoch]) -> [(key: SessionKey, acks: [MQTTMessage])] {
        defer { touched = [] }
        return touched.map { session in
            session.isTouched = false
            let acks = session.takeAcks(now, epochs)
            if !session.awaitsAck, let due = session.ackDue {
                session.awaitsAck = true
                awaitingAck.append((due, session))
            }
            return (session.state.key, acks)
        }
    }

    /// Removes and returns the acknowledgements that no later batch made due.
    mutating func takeDeferredAcks(
        now: Moment, _ epochs: [Shard: Epoch]
    ) -> [(key: SessionKey, acks: [MQTTMessage])] {
        var acks: [(key: SessionKey, acks: [MQTTMessage])] = []
        while let (due, session) = awaitingAck.first, due <= now {
            awaitingAck.removeFirst()
            session.awaitsAck = false
            let key = session.state.key
            // Deleted, or lost to another process.
            guard sessions[key] === session else { continue }
            session.acknowledgeDeferred()
            acks.append((key, session.takeAcks(now, epochs)))
        }
        return acks
    }

    // MARK: States

    /// Loads a session from the store without its streams.
    mutating func load(_ record: StreamRecord<Work.Totals>, now: Moment) {
        let key = record.state.key
        sessions[key] = OwnedSession(stored: record, receivedAt: now, bounds: bounds)
        if record.state.status == .deleted { return }
        requestFold(key, now)
        if record.needsSummary { requestSummary(key, now) }
    }

    /// Adds the session's record to the next commit.
    mutating func save(_ key: SessionKey) {
        unsaved.insert(key)
    }

    /// Receives a session's state. An older state changes nothing.
    mutating func receiveState(_ state: SessionState, now: Moment) {
        let key = state.key
        if let session = sessions[key] {
            let known = session.state
            guard state.revision > known.revision else { return }
            let before = session.profiled
            session.record.state = state
            session.news.note(state, after: known, now: now)
            if session.news.hasLaps { withLaps.insert(key) }
            if !session.isUnfinished, session.hasUnsavedItems { touch(session) }
            requestOtherFold(session, before, now)
        } else {
            sessions[key] = OwnedSession(new: state, receivedAt: now, bounds: bounds)
        }
        guard state.status != .deleted else { return purge(key, state, now) }
        if let session = sessions[key] { news.add(session) }
        unsaved.insert(key)
        if let session = sessions[key], !session.isUnfinished, session.unheardSince != nil { awaitingHeard.insert(key) }
        guard sessions[key]?.isEnded == true else { return }
        sessions[key]?.record.needsSummary = true
        if intakes[key] != nil { withRoute.insert(key) }
        requestSummary(key, now)
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
        unsaved.insert(key)
        guard session.isEnded else { return }
        session.record.needsSummary = true
        requestSummary(key, now)
    }

    // MARK: Time

    /// Applies the time: marks silent sessions and evicts ended ones.
    ///
    /// Returns whether the check was due.
    mutating func sweep(now: Moment) -> Bool {
        guard sweptAt.map({ now.seconds(since: $0) >= StreamTimes.sweep }) ?? true else { return false }
        sweptAt = now
        statusCounts = [:]
        for (key, session) in sessions {
            statusCounts[session.state.status, default: 0] += 1
            if session.becomesSilent(now) { news.add(session) }
            if let since = session.unheardSince, now.seconds(since: since) >= StreamTimes.silence {
                awaitingHeard.insert(key)
            }
            if session.isIdle(now), intakes[key]?.isActive(now) != true, !awaitingSummary.contains(key),
                !unsaved.contains(key), !toPurge.contains(key)
            {
                evicted[key.session.shard] = max(
                    evicted[key.session.shard] ?? 0, session.liveTopic.revision, session.heardTopic.revision)
                forget(key)
            }
        }
        return true
    }

    private mutating func forget(_ key: SessionKey) {
        guard let session = sessions.removeValue(forKey: key) else { return }
        if session.isTouched { touched.removeAll { $0 === session } }
        for stream in session.streams {
            if let journaled = stream.journaled.take() { journal.release(journaled.commit) }
        }
        unsaved.remove(key)
        intakes[key] = nil
        withRoute.remove(key)
        awaitingHeard.remove(key)
        stale.remove(key)
        withSplits.remove(key)
        withLaps.remove(key)
        toPurge.remove(key)
        awaitingSummary.remove(key)
    }

    /// Loads the stream of a device from the store.
    mutating func load(_ stream: ItemStream<Work.Item>, from device: Device, of key: SessionKey) {
        sessions[key]?.load(stream, from: device)
    }

    /// Removes sessions that another process owns now.
    mutating func drop(where isLost: (SessionKey) -> Bool) {
        for key in sessions.keys.filter(isLost) { forget(key) }
    }

    // MARK: Deletion

    /// Drops the pending items and deadlines of a deleted session.
    private mutating func purge(_ key: SessionKey, _ state: SessionState, _ now: Moment) {
        let record = StreamRecord<Work.Totals>(deleted: state)
        forget(key)
        sessions[key] = OwnedSession(stored: record, receivedAt: now, bounds: bounds)
        toPurge.insert(key)
    }

    /// The store keeps only the deletion. Returns the messages that clear the session's retained topics.
    mutating func purged(_ key: SessionKey, now: Moment) -> [MQTTMessage] {
        toPurge.remove(key)
        journal.deleted(now)
        return Self.cleared(key)
    }
}
