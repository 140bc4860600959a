import Bus
import MQTT
import ServiceKit
import Timing
import Workouts

/// Live sessions, their registered devices and the pushes these need; users' notifications.
///
/// A pure value: states, snapshots, registrations, outcomes and time go in; actions and pushes come out.
struct LiveActivityPublisherMachine {
    /// How long registrations and snapshots wait for their session's `state`, in seconds.
    static let stateTimeout = 60.0
    /// The maximum number of sessions without a `state`.
    static let strangerLimit = 10_000
    /// The timeout for the retained snapshot after a restart, or when a device shows it for the first time, in seconds.
    static let snapshotTimeout = 1.0
    /// The active time below which a session hardly has metrics, in seconds.
    static let newSession = 2.0
    /// The minimum duration of a restart, in seconds.
    static let restartTime = 0.5

    struct Entry {
        /// `nil` until a device has registered.
        var record: ActivityRecord?
        /// `nil` until its `state` arrives.
        var session: ActivitySession?
        var snapshot: MetricsSnapshot?
        var partner: NearestPartner?
        /// The content to show.
        var content: ContentState?
        var throttles: [Device: PushThrottle] = [:]
        /// Registrations received before the `state`.
        var waiting: [ActivityRegistration] = []
        /// When a state or a snapshot was last received.
        var receivedAt: Moment
        /// For a session whose metrics were just subscribed to: when to push without a snapshot.
        var snapshotAwaitedUntil: Moment?
        /// `activity`.
        var topic: RetainedTopic

        init(record: ActivityRecord? = nil, receivedAt: Moment) {
            self.record = record
            self.receivedAt = receivedAt
            topic = RetainedTopic(revision: record?.revision ?? 0)
        }

        var isOver: Bool { session?.isOver ?? false }
    }

    /// Whether a key is configured; without it no pushes are sent.
    let canPush: Bool
    private(set) var entries: [SessionKey: Entry] = [:]
    /// Sessions with neither a state nor a record.
    private(set) var strangers: Set<SessionKey> = []
    var shown = ShownTopics()
    /// The deadlines of starts and ends, of updates, and of everything else.
    var urgent = Deadlines<SessionKey, Moment>()
    var updates = Deadlines<SessionKey, Moment>()
    var looks = Deadlines<SessionKey, Moment>()
    var trouble = PushTrouble()
    var notifications: Notifications

    init(canPush: Bool) {
        self.canPush = canPush
        notifications = Notifications(canPush: canPush)
    }

    // MARK: Sessions

    /// Loads a session from the store.
    mutating func load(_ record: ActivityRecord, of key: SessionKey, now: Moment) {
        guard entries[key] == nil else { return }
        var record = record
        record.limit(to: now)
        var entry = Entry(record: record, receivedAt: now)
        for device in record.devices {
            var throttle = PushThrottle()
            throttle.pushedAt = now - Self.restartTime
            // Updates missed during the downtime are unknown, so the activity counts as fresh for the full interval.
            let known = record.status?.devices.first { $0.device == device.device }
            if known?.status == .active { throttle.freshUntil = now + PushThrottle.freshness }
            entry.throttles[device.device] = throttle
        }
        entry.snapshotAwaitedUntil = now + Self.snapshotTimeout
        store(entry, key, now)
    }

    /// Receives a session's state; an older one changes nothing.
    ///
    /// - Parameter plan: its plan, if any.
    mutating func receiveState(_ state: SessionState, plan: PlanState? = nil, now: Moment) -> [ActivityAction] {
        let key = state.key
        let session = ActivitySession(state, plan)
        let known = entries[key]
        guard session.revision >= known?.session?.revision ?? known?.record?.stateRevision ?? 0 else { return [] }
        if session.course == .deleted { return delete(key, session, now) }
        let isAwaited = entries[key].map { $0.record != nil || !$0.waiting.isEmpty } ?? false
        // A finished session without devices is evicted.
        guard isAwaited || !session.isOver else {
            forget(key)
            return []
        }
        var actions = change(key, now) { entry in
            if entry.session == nil, entry.record != nil {
                entry.snapshotAwaitedUntil = now + Self.snapshotTimeout
            }
            entry.session = session
            entry.receivedAt = now
        }
        let waiting = entries[key]?.waiting ?? []
        entries[key]?.waiting = []
        for registration in waiting { actions += receiveRegistration(registration, of: key, now: now) }
        if session.isOver, entries[key]?.record == nil { forget(key) }
        return actions
    }

    /// The session's `state` was cleared: the session is over.
    mutating func forgetState(of key: SessionKey, now: Moment) -> [ActivityAction] {
        guard let entry = entries[key], let session = entry.session, !session.isOver else { return [] }
        guard entry.record != nil else {
            forget(key)
            return []
        }
        return change(key, now) { $0.session?.course = .over }
    }

    /// Receives the live metrics of a session whose devices show them; older ones change nothing.
    mutating func receiveMetrics(_ snapshot: MetricsSnapshot, of key: SessionKey, now: Moment) {
        guard var entry = entries[key], shown.hasMetrics(of: key),
            snapshot.revision >= entry.snapshot?.revision ?? 0
        else { return }
        // A subscription after a while without one may bring the known metrics again.
        if snapshot.revision > entry.snapshot?.revision ?? -1 {
            entry.snapshot = snapshot
            if entry.session != nil { entry.receivedAt = now }
        }
        entry.snapshotAwaitedUntil = nil
        store(entry, key, now)
    }

    /// Receives the partners in a session's virtual run; `nil` once they are cleared.
    mutating func receivePartners(_ partners: Partners?, of key: SessionKey, now: Moment) {
        guard var entry = entries[key] else { return }
        entry.partner = partners.flatMap(NearestPartner.init)
        store(entry, key, now)
    }

    /// A new entry for an unknown session; `nil` at the limit.
    func stranger(_ now: Moment) -> Entry? {
        strangers.count < Self.strangerLimit ? Entry(receivedAt: now) : nil
    }

    /// Sends the end to shown activities and removes everything else immediately.
    private mutating func delete(_ key: SessionKey, _ session: ActivitySession, _ now: Moment) -> [ActivityAction] {
        guard var entry = entries[key] else { return [] }
        let refusals = entry.waiting.map { answer($0, key, now, .sessionNotFound) }
        guard entry.record != nil else {
            forget(key)
            return refusals
        }
        guard entry.session?.course != .deleted else { return [] }
        entry.waiting = []
        entry.snapshot = nil
        store(entry, key, now)
        return change(key, now) { $0.session = session } + [.publish(key)] + refusals
    }

    // MARK: Keeping

    /// Changes a session, updates its devices and returns what to save and publish.
    mutating func change(
        _ key: SessionKey, _ now: Moment, _ body: (inout Entry) -> Void
    ) -> [ActivityAction] {
        var entry = entries[key] ?? Entry(receivedAt: now)
        let before = entry.record
        body(&entry)
        entry.follow(now, canPush: canPush)
        if let session = entry.session { entry.record?.stateRevision = session.revision }
        if entry.isDone {
            forget(key)
            return before == nil ? [] : [.erase(key), .publish(key)]
        }
        let isNews = entry.revise(key, now, canPush: canPush)
        let isChanged = entry.record != before
        store(entry, key, now)
        return (isChanged ? [.save(key)] : []) + (isNews ? [.publish(key)] : [])
    }

    mutating func store(_ entry: Entry, _ key: SessionKey, _ now: Moment) {
        var entry = entry
        let isShown = canPush && entry.isShown
        if isShown, !shown.hasMetrics(of: key), entry.mayHaveMetrics(now) {
            entry.snapshotAwaitedUntil = now + Self.snapshotTimeout
        }
        entry.content = entry.session.map { ContentState($0, entry.snapshot, entry.partner) }
        entries[key] = entry
        shown.show(metrics: isShown, of: key)
        shown.show(isShown && !entry.isOver ? entry.session?.run : nil, in: key)
        if entry.session == nil, entry.record == nil { strangers.insert(key) } else { strangers.remove(key) }
        schedule(entry, key, now)
    }

    mutating func forget(_ key: SessionKey) {
        shown.show(metrics: false, of: key)
        shown.show(nil, in: key)
        entries[key] = nil
        strangers.remove(key)
        urgent.remove(key)
        updates.remove(key)
        looks.remove(key)
    }
}

/// The topics to subscribe to besides those of shards: what devices show, and the retained views of new users.
extension LiveActivityPublisherMachine {
    func subscriptions(of shards: Set<Shard>) -> [MQTTSubscription] {
        shown.subscriptions(of: shards)
            + notifications.newUsers.filter { shards.contains($0.shard) }.map { TopicFilter.virtualRuns(of: $0) }
    }

    /// Returns whether they are others than at the last call.
    mutating func takeSubscriptionChange() -> Bool {
        defer { (shown.haveChanged, notifications.haveNewUsersChanged) = (false, false) }
        return shown.haveChanged || notifications.haveNewUsersChanged
    }
}

extension LiveActivityPublisherMachine.Entry {
    /// Whether a push may show the session's values.
    fileprivate var isShown: Bool {
        session?.course != .deleted && record?.devices.contains { $0.isShown(isOver: isOver) } ?? false
    }

    /// Whether the session has run for long enough to have metrics.
    fileprivate func mayHaveMetrics(_ now: Moment) -> Bool {
        guard let session else { return false }
        let open = session.openSince.map { now.wallClock.seconds(since: $0) } ?? 0
        return session.closedSeconds + open >= LiveActivityPublisherMachine.newSession
    }
}

/// Retained topics: the broker may lose them or restore old ones, and the owner corrects them.
extension LiveActivityPublisherMachine {
    /// A new connection: all retained topics are published again, unfinished sessions first.
    mutating func connected(now: Moment) -> [ActivityAction] {
        for key in entries.keys { entries[key]?.topic.reconnected() }
        return announce(Set(Shard.all), now: now)
    }

    /// The retained topics of some shards, unfinished sessions first.
    func announce(_ shards: Set<Shard>, now: Moment) -> [ActivityAction] {
        let standing = entries.filter { $0.value.record?.status != nil && shards.contains($0.key.session.shard) }
        return standing.sorted { ($0.value.isOver ? 1 : 0, $0.key) < ($1.value.isOver ? 1 : 0, $1.key) }
            .map { .publish($0.key) }
    }

    /// The status message of a session's activities; empty, to clear the topic, if there are none.
    mutating func message(of key: SessionKey) -> MQTTMessage {
        let topic = Topic.session(key, .activity)
        guard let status = entries[key]?.record?.status else { return topic.message([]) }
        entries[key]?.topic.published(status.revision)
        return topic.message(JSONCoding.encode(status))
    }

    /// Receives a revision of the retained `activity` topic.
    mutating func see(_ revision: Int64, of key: SessionKey, now: Moment) -> [ActivityAction] {
        // The broker restored a cleared status, or one that this store does not know.
        guard var entry = entries[key], entry.record?.status != nil else { return [.publish(key)] }
        switch entry.topic.see(revision, now.wallClock) {
        case .known: return []
        case .republish: return [.publish(key)]
        case .revised:
            return change(key, now) { changed in
                changed.topic = entry.topic
                changed.record?.revise(entry.topic.revision, now)
            } + [.publish(key)]
        }
    }
}

extension ActivityRecord {
    /// Adopts the topic's new revision.
    mutating func revise(_ revision: Int64, _ now: Moment) {
        self.revision = revision
        status?.revision = revision
        changedAt = now
    }
}
