import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import Storage
import Timing
import Workouts

/// The service's single event loop: applies events to the machine, commits and publishes.
struct LiveActivityPublisherLoop {
    /// Concurrent pushes: at ten rounds a second enough for thousands of pushes a second.
    static let concurrency = 500
    /// The interval of counting activities, in seconds.
    private static let countInterval = 5.0

    let context: ServiceContext
    let store: any Store
    let metrics: LiveActivityPublisherMetrics
    var machine: LiveActivityPublisherMachine
    var outbox: Outbox<LiveActivityPublisherMachine>
    /// Pushes to send after the next commit.
    private var unsaved: [Push] = []
    /// Pushes to send, oldest first.
    private var ready: [Push] = []
    /// The pushes under way, by their `apns-id`, and their events.
    private var underway: [UUID: (shard: Shard, event: String?)] = [:]
    private var countedAt: Moment?
    /// The rate of lines about failed pushes.
    private var failures = RateTable<User, Moment>(burst: 20, perSecond: 0.1)
    /// Whether the machine's subscriptions are others than at the last call of ``takeSubscriptionChange()``.
    private var haveSubscriptionsChanged = false

    /// - Parameter canPush: whether there is a key.
    init(context: ServiceContext, canPush: Bool, store: any Store) {
        self.context = context
        self.store = store
        outbox = Outbox(context: context, store: store)
        machine = LiveActivityPublisherMachine(canPush: canPush)
        metrics = LiveActivityPublisherMetrics(context.metrics)
        context.limits.begin(["notification_registrations", "notification_alerts"])
    }

    /// - Parameter outcomes: the outcomes of pushes since the last event.
    /// - Returns: the pushes to send now; the store has what must survive a crash.
    mutating func handle(_ event: ServiceEvent, outcomes: [EndedPush] = []) async throws -> [Push] {
        let now = context.clock.moment
        for outcome in outcomes { take(outcome, now) }
        // The next owner needs the outcomes that came before the release.
        if case .ownership(.releasing) = event { await flush(now) }
        outbox.begin(event, with: &machine, at: now)
        switch event {
        case .ownership(.gained(let gained)): try await load(Set(gained.keys), now)
        case .ownership(.releasing(let shards)), .ownership(.lost(let shards)): drop(shards)
        case .announce, .connected, .disconnected: break
        case .batch(let batch):
            metrics.received(batch.messages.count)
            for message in batch.messages { receiveMessage(message, now) }
        case .tick:
            showCounts(now)
            // Not with each batch: a change costs as much as there are subscriptions.
            if machine.takeSubscriptionChange() { haveSubscriptionsChanged = true }
        }
        choosePushes(now)
        await flush(now)
        defer { metrics.show(inFlight: underway.count) }
        return beginPushes()
    }

    mutating func takeSubscriptionChange() -> Bool {
        defer { haveSubscriptionsChanged = false }
        return haveSubscriptionsChanged
    }

    private mutating func flush(_ now: Moment) async {
        let flushed = await outbox.flush(&machine, at: now)
        report(flushed)
        drop(flushed.lost)
        guard flushed.isSaved else { return }
        ready += unsaved.compactMap { machine.remake($0, now: now) }
        unsaved = []
    }

    /// Takes the last outcomes, at shutdown.
    mutating func finish(_ outcomes: [EndedPush]) async {
        let now = context.clock.moment
        for outcome in outcomes { take(outcome, now) }
        report(await outbox.finish(&machine, at: now))
    }

    private mutating func load(_ shards: Set<Shard>, _ now: Moment) async throws {
        for record in try await store.records(in: ActivityRecord.activities, shards: shards) {
            do throws(PayloadError) {
                guard let key = SessionKey(record.key) else { throw .malformed("not a session's key") }
                machine.load(
                    try JSONCoding.decode(ActivityRecord.self, from: record.value, now: now), of: key, now: now)
            } catch {
                // Devices register again.
                context.logger.error("corrupt record ignored", metadata: LogKey.record("activities", record.key))
            }
        }
        for record in try await store.records(in: NotificationRecord.notifications, shards: shards) {
            do throws(PayloadError) {
                guard let user = User(record.key) else { throw .malformed("not a user") }
                machine.notifications.load(
                    try JSONCoding.decode(NotificationRecord.self, from: record.value, now: now), of: user, now: now)
            } catch {
                context.logger.error("corrupt record ignored", metadata: LogKey.record("notifications", record.key))
            }
        }
        context.logger.info("activities loaded", metadata: [LogKey.count: "\(machine.entries.count)"])
    }

    /// Removes the pushes of shards that another process owns.
    private mutating func drop(_ shards: Set<Shard>) {
        guard !shards.isEmpty else { return }
        unsaved.removeAll { shards.contains($0.owner.shard) }
        ready.removeAll { shards.contains($0.owner.shard) }
    }

    /// Shows the counts of activities at intervals, because counting is expensive.
    private mutating func showCounts(_ now: Moment) {
        if let countedAt, now.seconds(since: countedAt) < Self.countInterval { return }
        countedAt = now
        metrics.show(machine)
    }

    // MARK: Pushes

    private mutating func take(_ ended: EndedPush, _ now: Moment) {
        if let event = underway.removeValue(forKey: ended.push.id)?.event {
            metrics.ended(event, ended)
            log(ended, event, now)
        }
        outbox.add(machine.recordOutcome(ended.outcome, for: ended.push, now: now))
    }

    /// Logs a push that is part of a story: not each update, and failures of a user within a rate.
    private mutating func log(_ ended: EndedPush, _ event: String, _ now: Moment) {
        let (text, reason): (Logger.Message, String?) =
            switch ended.outcome {
            case .delivered: ("push delivered", nil)
            case .tokenGone(let reason): ("APNs token expired, removed", reason)
            case .refused(let reason): ("push refused", reason)
            case .failed(let reason, _): ("push failed", reason)
            }
        if reason == nil, event == "update" { return }
        guard reason == nil || failures.take(ended.push.owner.user, now) else { return }
        var metadata: Logger.Metadata = [LogKey.device: "\(ended.push.device)", LogKey.action: "\(event)"]
        metadata[LogKey.reason] = reason.map { "\($0)" }
        switch ended.push.owner {
        case .session(let key): metadata = LogKey.session(key, metadata)
        case .user(let user): metadata[LogKey.user] = "\(user)"
        }
        context.logger.info(text, metadata: metadata)
    }

    /// The due pushes, as far as there is room. Those that wait for the disk take none, so that the others continue. Alerts
    /// always wait: views store them without pushing.
    private mutating func choosePushes(_ now: Moment) {
        let room = Self.concurrency - underway.count - ready.count
        let (pushes, saves) = machine.pushes(now: now, room: max(0, room))
        let keys = Set(saves.compactMap { if case .save(let key) = $0 { key } else { nil } })
        for push in pushes {
            if case .session(let key) = push.owner, !keys.contains(key) {
                ready.append(push)
            } else {
                unsaved.append(push)
            }
        }
        outbox.add(saves)
    }

    private mutating func beginPushes() -> [Push] {
        let pushes = Array(ready.prefix(Self.concurrency - underway.count))
        ready.removeFirst(pushes.count)
        for push in pushes { underway[push.id] = (push.owner.shard, machine.event(of: push)) }
        return pushes
    }

    /// The ids of the pushes under way for sessions in some shards.
    func pushes(in shards: Set<Shard>) -> Set<UUID> {
        Set(underway.filter { shards.contains($0.value.shard) }.keys)
    }

    private func report(_ flushed: Flushed<ActivityAction>) {
        for case .reply(.user(let user), _, let reply) in flushed.performed where reply.error == .tooManyRegistrations {
            context.limits.reached("notification_registrations", by: user, at: context.clock.moment)
        }
        for case .dropAlert(let user) in flushed.performed {
            context.limits.reached("notification_alerts", by: user, at: context.clock.moment)
        }
        for case .report(let report) in flushed.performed {
            switch report {
            case .answering: context.logger.notice("pushes succeed again")
            case .failing(let reason):
                context.logger.warning("push failed, retrying", metadata: [LogKey.reason: "\(reason)"])
            case .refusing(let reason):
                context.logger.error(
                    "pushes refused, check APNS_KEY_ID, APNS_TEAM_ID and APNS_BUNDLE_ID",
                    metadata: [LogKey.reason: "\(reason)"])
            }
        }
    }
}

extension LiveActivityPublisherMachine {
    /// What a push does, for the metrics.
    fileprivate func event(of push: Push) -> String? {
        switch push.owner {
        case .session(let key):
            entries[key]?.throttles[push.device]?.underway.flatMap { $0.id == push.id ? "\($0.event)" : nil }
        case .user(let user): notifications.kind(of: push, for: user)?.rawValue
        }
    }
}
