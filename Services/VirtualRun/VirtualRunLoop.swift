import Bus
import Client
import Foundation
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

/// The service's one flow of events and the only place where its machine meets disk and bus.
struct VirtualRunLoop {
    let context: ServiceContext
    let store: any Store
    let metrics: VirtualRunMetrics
    var machine: VirtualRunMachine
    var outbox: Outbox<VirtualRunMachine>
    /// Drawn for a store that has none yet.
    let newKey: [UInt8]
    /// Whether ``machine`` has the store's key.
    var hasKey = false
    /// Users who deleted everything, until that is applied.
    var erasing: Set<User> = []
    /// The newest views for which the store was asked who met.
    var standings: [RunReader: SeenView.Standing] = [:]
    /// All whose sessions run along in runs here, and more.
    var ghostOwners: Set<User> = []
    /// The people of stored runs here, and more.
    var runners: Set<User> = []
    /// Shards whose stored runs are examined for their age, one every few minutes.
    var aging: [Shard] = []
    var agedAt: Moment?
    /// Whether ``subscriptions`` are others than at the last call of ``takeSubscriptionChange()``.
    private var haveSubscriptionsChanged = false
    private var random = SystemRandomNumberGenerator()
    private var memoryTrim = MemoryTrim()

    init(context: ServiceContext, store: any Store) {
        self.context = context
        self.store = store
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        newKey = bytes
        machine = VirtualRunMachine(hidingKey: HidingKey(bytes)!)
        outbox = Outbox(context: context, store: store)
        metrics = VirtualRunMetrics(context.metrics)
        context.limits.begin(["virtual_run_requests"])
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        let now = context.clock.moment
        // Before the machine creates these runs.
        if case .tick = event { try await borrowForCreations(now) }
        outbox.begin(event, with: &machine, at: now)
        switch event {
        case .ownership(.gained(let gained)):
            // There may be copies of these people.
            machine.drop(Set(gained.keys))
            machine.others.shards = Set(Shard.all).subtracting(outbox.epochs.keys)
            try await load(Set(gained.keys), now)
        case .ownership(.releasing), .ownership(.lost):
            if outbox.epochs.isEmpty { standBy() }
        case .announce, .connected, .disconnected: break
        case .batch(let batch):
            metrics.received(batch.messages.count)
            let epochs = outbox.epochs
            let incoming = batch.messages.compactMap { RunMessage($0) { epochs[$0] != nil } }
            try await borrow(incoming, now)
            try await follow(incoming, now)
            for message in incoming { receiveMessage(message, now) }
            try await erase(now)
            try await borrowForCreations(now)
            outbox.add(machine.advance(to: now))
        case .tick:
            try await age(now)
            try await erase(now)
            if machine.sweptAt == now {
                metrics.show(machine)
                if !hasKey { try await loadKey() }
            }
            memoryTrim.tick(now)
            // Not with each batch: a change costs as much as there are subscriptions.
            if machine.index.takeFollowedChange() { haveSubscriptionsChanged = true }
        }
        try await flush(now)
    }

    /// The subscriptions besides those of shards: the live metrics of runners. Most sessions are in no run.
    var subscriptions: [MQTTSubscription] { machine.index.followed.map(TopicFilter.metrics) }

    mutating func takeSubscriptionChange() -> Bool {
        defer { haveSubscriptionsChanged = false }
        return haveSubscriptionsChanged
    }

    /// Another process owns everything.
    private mutating func standBy() {
        machine.standBy()
        (erasing, standings, ghostOwners, runners) = ([], [:], [], [])
        (aging, agedAt, hasKey) = ([], nil, false)
    }

    /// The last flush, at shutdown.
    mutating func finish() async {
        let now = context.clock.moment
        for (shard, message) in machine.takeMessages() { outbox.send(message, of: shard) }
        await outbox.finish(&machine, at: now)
    }

    private mutating func flush(_ now: Moment) async throws {
        for (shard, message) in machine.takeMessages() { outbox.send(message, of: shard) }
        let flushed = await outbox.flush(&machine, at: now)
        var requests: [MQTTMessage] = []
        for action in flushed.performed {
            switch action {
            case .reply(_, _, _, let reply): metrics.answered(reply.error)
            case .limited(let user): context.limits.reached("virtual_run_requests", by: user, at: now)
            case .listRuns(let user, let envelope, let query): try await list(query, user, envelope, now)
            case .request(_, let key):
                let request = SessionRequest(id: CommandID(UUID()), client: context.client, action: .chunks)
                requests.append(Topic.session(key, .request).message(JSONCoding.encode(request)))
            default: break
            }
        }
        await context.send(requests)
        let took = context.clock.moment.seconds(since: now)
        metrics.published(late: machine.takeLags().map { $0 + took })
    }

    // MARK: Messages

    private mutating func receiveMessage(_ incoming: RunMessage, _ now: Moment) {
        let message = incoming.message
        guard let topic = incoming.topic else {
            let rejection = Rejection(badTopic: message.topic, owns: outbox.owns)
            if let rejection { reject(message, rejection, now) }
            return
        }
        do throws(PayloadError) {
            switch topic {
            case .session(let key, let topic): try receiveSessionMessage(message, key, topic, incoming.metrics, now)
            case .user(let user, .virtualRunRequest): receiveRequest(incoming.request, message, user, now)
            case .user(let user, .profile) where !message.payload.isEmpty:
                let profile = try JSONCoding.decode(RunnerProfile.self, from: message.payload)
                if machine.receiveProfile(profile, of: user, now: now) { erasing.insert(user) }
            case .user(let user, .virtualRun(let run)) where outbox.owns(run.shard) && !message.payload.isEmpty:
                outbox.add(machine.see(try revision(message), of: run, for: user, now: now))
            case .user(let user, .virtualRunPeople) where !outbox.owns(user.shard):
                if runners.contains(user) { outbox.add(machine.copy(try people(message), of: user, now)) }
            case .user(let user, .virtualRunPeople) where !message.payload.isEmpty:
                outbox.add(machine.seePeople(try revision(message), of: user, now: now))
            case .account(let user):
                machine.receive(try AccountRights(message), of: user)
            case .presence("metrics-aggregator", let instance):
                outbox.add(try machine.receivePresence(message, of: instance, now: now))
            default: break
            }
        } catch {
            reject(message, Rejection(topic: message.topic, error: error), now)
        }
    }

    private mutating func receiveSessionMessage(
        _ message: MQTTMessage, _ key: SessionKey, _ topic: SessionTopic,
        _ metrics: Result<RunnerMetrics, PayloadError>?, _ now: Moment
    ) throws(PayloadError) {
        switch topic {
        case .metrics:
            if let metrics = try metrics?.get() {
                machine.receiveMetrics(metrics, of: key, isRetained: message.retain, now: now)
            }
        case .series(let number) where machine.wants(key):
            try machine.rows.receiveChunk(message.payload, number: number, kind: .series, of: key)
        case .track(let number) where machine.wants(key):
            try machine.rows.receiveChunk(message.payload, number: number, kind: .track, of: key)
        case _ where message.payload.isEmpty: break
        case .state where incoming(message, names: key):
            outbox.add(machine.receiveState(try SessionState(message.payload), now: now))
        case .summaryMetrics where machine.wants(key): try receiveSummary(message, .series, of: key)
        case .summaryRoute where machine.wants(key): try receiveSummary(message, .track, of: key)
        case .workout where incoming(message, names: key):
            let workout = try JSONCoding.decode(WorkoutRecord.self, from: message.payload)
            guard SessionKey(workout.user, workout.session) == key else {
                throw .malformed("user or session is not the topic's")
            }
            outbox.add(machine.receiveWorkout(RunWorkout(workout), of: key, run: workout.run, now: now))
        default: break
        }
    }

    /// Whether a state or record may be of a runner. Most name no run.
    private func incoming(_ message: MQTTMessage, names key: SessionKey) -> Bool {
        machine.wants(key) || message.payload.namesRun
    }

    private mutating func receiveSummary(
        _ message: MQTTMessage, _ kind: ChunkKind, of key: SessionKey
    ) throws(PayloadError) {
        let summary = try JSONCoding.decode(SummaryHead.self, from: message.payload)
        machine.rows.receiveSummary(revision: summary.revision, chunks: summary.chunks, kind: kind, of: key)
    }

    private mutating func receiveRequest(
        _ request: Result<VirtualRunRequest, PayloadError>?, _ message: MQTTMessage, _ user: User, _ now: Moment
    ) {
        switch request {
        case .success(let request) where outbox.owns(request.shard(of: user)):
            outbox.add(machine.answerRequest(request, of: user, now: now, using: &random))
        case .failure(let error) where outbox.owns(user.shard):
            reject(message, Rejection(topic: message.topic, error: error), now)
            guard let (client, reply) = Reply.refusing(message.payload, error, now: now.wallClock) else { return }
            outbox.add([.reply(user.shard, user, client, reply)])
        case .success, .failure, nil: break
        }
    }

    private func people(_ message: MQTTMessage) throws(PayloadError) -> RunPeople? {
        message.payload.isEmpty ? nil : try JSONCoding.decode(RunPeople.self, from: message.payload)
    }

    private func revision(_ message: MQTTMessage) throws(PayloadError) -> Int64 {
        try JSONCoding.decode(SeenRevision.self, from: message.payload).revision
    }

    private mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, _ now: Moment) {
        metrics.rejected(rejection.reason)
        outbox.reject(message, rejection, at: now)
    }
}
