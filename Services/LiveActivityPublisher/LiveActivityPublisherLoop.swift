import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

/// The service's one flow of events and the only place where its machine meets disk and bus.
struct LiveActivityPublisherLoop {
    /// Pushes under way at one time: at ten rounds a second enough for thousands of pushes a second.
    static let concurrency = 500
    /// How often activities are counted, in seconds.
    private static let countInterval = 5.0

    let context: ServiceContext
    let store: any Store
    let metrics: LiveActivityPublisherMetrics
    var machine: LiveActivityPublisherMachine
    var epochs: [Shard: Epoch] = [:]
    /// What is still to be done; more than one event's worth only while the disk refuses.
    var actions: [ActivityAction] = []
    /// Pushes that may be sent when what is to be done is on disk.
    var unsaved: [Push] = []
    /// Pushes that may be sent, oldest first.
    var ready: [Push] = []
    /// What the pushes under way do, by their `apns-id`.
    private(set) var underway: [UUID: DevicePace.Event] = [:]
    /// Refused payloads that operators are to be told of.
    var rejected: [MQTTMessage] = []
    /// The commits to it, with a disk left alone that refuses.
    var commits: StoreCommits
    /// The newest metrics of sessions that no device shows, unread: one may register in a pause, when none come.
    private var unread: [SessionKey: [UInt8]] = [:]
    private var rejections = Rejections(service: "live-activity-publisher")
    private var countedAt: Timestamp?

    /// - Parameter canPush: whether there is a key.
    init(context: ServiceContext, canPush: Bool, store: any Store, health: StoreHealth = StoreHealth()) {
        self.context = context
        self.store = store
        commits = StoreCommits(store, health, context.logger, complaint: "activities not saved, trying again")
        machine = LiveActivityPublisherMachine(canPush: canPush)
        metrics = LiveActivityPublisherMetrics(context.metrics)
    }

    /// - Parameter outcomes: what came of pushes since the last event.
    /// - Returns: what is to be sent now; what is to be known of it after a crash is on disk.
    mutating func handle(_ event: ServiceEvent, outcomes: [EndedPush] = []) async throws -> [Push] {
        let now = context.clock.now
        for outcome in outcomes { take(outcome, now) }
        var acknowledge = {}
        switch event {
        case .ownership(.gained(let gained)):
            epochs.merge(gained) { $1 }
            try await load(Set(gained.keys), now)
        case .ownership(.releasing(let shards)), .ownership(.lost(let shards)): drop(shards)
        case .announce(let shards): actions += machine.announce(shards)
        case .connected: actions += machine.connected()
        case .disconnected: break
        case .batch(let batch):
            metrics.received(batch.messages.count)
            for message in batch.messages { receive(message, now) }
            acknowledge = { batch.acknowledge() }
        case .tick: pass(now)
        }
        choosePushes(now)
        await perform(now, acknowledge: acknowledge)
        defer { metrics.show(inFlight: underway.count) }
        return begin()
    }

    /// Takes what came last, before the end.
    mutating func finish(_ outcomes: [EndedPush]) async {
        let now = context.clock.now
        for outcome in outcomes { take(outcome, now) }
        commits.endRest()
        await perform(now) {}
    }

    private mutating func pass(_ now: Timestamp) {
        actions += machine.advance(to: now)
        // Counting takes time.
        if let countedAt, (0..<Self.countInterval).contains(now.seconds(since: countedAt)) { return }
        countedAt = now
        metrics.show(machine)
        unread = unread.filter { machine.entries[$0.key] != nil }
    }

    // MARK: Pushes

    private mutating func take(_ ended: EndedPush, _ now: Timestamp) {
        if let event = underway.removeValue(forKey: ended.push.id) { metrics.ended(event, ended) }
        if case .tokenGone(let reason) = ended.outcome {
            context.logger.debug(
                "APNs knows a token no more",
                metadata: [
                    LogKey.session: "\(ended.push.key)", LogKey.device: "\(ended.push.device)",
                    LogKey.reason: "\(reason)",
                ])
        }
        actions += machine.receive(ended.outcome, for: ended.push, now: now)
    }

    /// What is due, as far as there is room for it. What waits for the disk takes none, so that the rest goes on.
    private mutating func choosePushes(_ now: Timestamp) {
        let room = Self.concurrency - underway.count - ready.count
        let (pushes, saves) = machine.pushes(now: now, room: max(0, room))
        guard !saves.isEmpty else {
            ready += pushes
            return
        }
        let keys = Set(saves.compactMap { if case .save(let key) = $0 { key } else { nil } })
        unsaved += pushes.filter { keys.contains($0.key) }
        ready += pushes.filter { !keys.contains($0.key) }
        actions += saves
    }

    private mutating func begin() -> [Push] {
        let pushes = Array(ready.prefix(Self.concurrency - underway.count))
        ready.removeFirst(pushes.count)
        for push in pushes { underway[push.id] = machine.event(of: push) }
        return pushes
    }

    // MARK: Messages

    private mutating func receive(_ message: MQTTMessage, _ now: Timestamp) {
        guard case .session(let key, let topic)? = Topic(message.topic) else {
            return reject(message, "bad_topic", now)
        }
        guard epochs[key.session.shard] != nil else { return }
        do throws(PayloadError) {
            switch topic {
            case .state where message.payload.isEmpty: actions += machine.forgetState(of: key, now: now)
            case .state:
                let state = try SessionState(message.payload)
                guard state.key == key else { throw .malformed("user or session is not the topic's") }
                actions += machine.receive(state, plan: try PlanState(message.payload), now: now)
            // Most sessions are shown nowhere, and reading their metrics is most of the work.
            case .metrics where machine.wantsMetrics(of: key) && !message.payload.isEmpty:
                machine.receive(try MetricsSnapshot(message.payload), of: key, now: now)
            // A slice would keep the bytes of its whole batch.
            case .metrics where machine.entries[key] != nil: unread[key] = [UInt8](message.payload)
            case .activityRegister:
                let registration = try JSONCoding.decode(ActivityRegistration.self, from: message.payload)
                actions += machine.receive(registration, of: key, now: now)
                readMetrics(of: key, now)
            case .activity where !message.payload.isEmpty:
                let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
                actions += machine.see(seen.revision, of: key, now: now)
            default: break
            }
        } catch {
            reject(message, error.reason, now)
        }
    }

    /// Somebody may show the session now.
    private mutating func readMetrics(of key: SessionKey, _ now: Timestamp) {
        guard machine.wantsMetrics(of: key), let payload = unread.removeValue(forKey: key), !payload.isEmpty else {
            return
        }
        do throws(PayloadError) {
            machine.receive(try MetricsSnapshot(payload), of: key, now: now)
        } catch {
            metrics.rejected(error.reason)
        }
    }

    private mutating func reject(_ message: MQTTMessage, _ reason: String, _ now: Timestamp) {
        metrics.rejected(reason)
        // A registration holds a token, which is not for others to read.
        let isPrivate = message.topic.hasSuffix("/register")
        let payload = isPrivate ? [] : message.payload
        let told = rejections.reject(topic: message.topic, payload: payload, reason: reason, at: now)
        if let told { rejected.append(told) }
    }

    /// Another process works for these shards now.
    mutating func drop(_ shards: Set<Shard>) {
        for shard in shards { epochs[shard] = nil }
        machine.drop { shards.contains($0.session.shard) }
        unsaved.removeAll { shards.contains($0.key.session.shard) }
        ready.removeAll { shards.contains($0.key.session.shard) }
    }
}

extension LiveActivityPublisherMachine {
    /// Whether there is a device to show them, or one that waits to be known.
    fileprivate func wantsMetrics(of key: SessionKey) -> Bool {
        entries[key].map { $0.record?.devices.isEmpty == false || !$0.waiting.isEmpty } ?? false
    }

    fileprivate func event(of push: Push) -> DevicePace.Event? {
        entries[push.key]?.paces[push.device]?.underway.flatMap { $0.id == push.id ? $0.event : nil }
    }
}
