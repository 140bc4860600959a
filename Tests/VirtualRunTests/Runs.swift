import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// virtual-run's loop on a real store. The test passes its events one by one.
struct Runs {
    let bus = RecordingBus()
    let store: RefusingStore
    let clock: ManualClock
    var loop: VirtualRunLoop
    /// When the metrics-aggregator last renewed its presence; `nil` without a connection.
    private var renewedAt: Moment?

    /// Starts on the store in a folder, like a process, and lets the ten seconds after a connect pass.
    init(_ folder: TemporaryFolder, clock: ManualClock, isSettled: Bool = true) async throws {
        let path = folder.file("virtual-run.sqlite")
        let store = try SQLiteStore(path: path, schema: RunRecord.schema, shards: Set(Shard.all))
        try await self.init(store, clock: clock, isSettled: isSettled)
    }

    /// Starts on a store with a first change of ownership.
    init(_ store: any Store, clock: ManualClock, isSettled: Bool = true) async throws {
        self.clock = clock
        self.store = RefusingStore(store)
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "virtual-run"), logger: .silent, bus: bus, clock: clock)
        loop = VirtualRunLoop(context: context, store: self.store)
        for await change in store.ownership {
            try await loop.handle(.ownership(change))
            break
        }
        guard isSettled else { return }
        try await connect()
        clock.advance(by: .seconds(RunFeed.grace))
    }

    /// Connects to a broker with a metrics-aggregator, and returns the sent messages.
    @discardableResult
    mutating func connect() async throws -> [MQTTMessage] {
        try await loop.handle(.connected)
        let sent = bus.take()
        try await renew()
        return sent + bus.take()
    }

    /// Delivers the presence of the metrics-aggregator.
    private mutating func renew() async throws {
        renewedAt = clock.moment
        let presence = Topic.presence(service: "metrics-aggregator", ProcessName("host-1")!)
        let payload = #"{"status":"online","at":\#(clock.now.seconds)}"#
        try await loop.handle(.batch(MQTTBatch(messages: [presence.message(Array(payload.utf8))]) {}))
    }

    /// One tick, after the presence where the metrics-aggregator renews it.
    private mutating func handleTick() async throws {
        if let renewedAt, clock.moment.seconds(since: renewedAt) >= 20 { try await renew() }
        try await loop.handle(.tick)
    }

    /// Takes over all shards and returns the sent messages.
    @discardableResult
    mutating func takeOver(_ change: OwnershipChange) async throws -> [MQTTMessage] {
        try await loop.handle(.ownership(change))
        try await loop.handle(.announce(Set(Shard.all)))
        return bus.take()
    }

    mutating func disconnect() async throws {
        renewedAt = nil
        try await loop.handle(.disconnected)
    }

    /// Delivers messages in one batch and returns the sent messages.
    @discardableResult
    mutating func deliver(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        try await loop.handle(.batch(MQTTBatch(messages: messages) {}))
        return bus.take()
    }

    mutating func tick() async throws -> [MQTTMessage] {
        try await handleTick()
        return bus.take()
    }

    /// Lets seconds pass, a tick in each tenth, and returns the sent messages.
    @discardableResult
    mutating func pass(_ seconds: Double) async throws -> [MQTTMessage] {
        for _ in 0..<max(1, Int((seconds * 10).rounded())) {
            clock.advance(by: .milliseconds(100))
            try await handleTick()
        }
        return bus.take()
    }

    /// Lets seconds pass with one tick.
    @discardableResult
    mutating func jump(_ seconds: Double) async throws -> [MQTTMessage] {
        clock.advance(by: .seconds(seconds))
        try await handleTick()
        return bus.take()
    }

    /// Sends a request of a user and returns the sent messages.
    @discardableResult
    mutating func request(
        _ user: User, _ run: RunID?, _ action: VirtualRunRequest.Action, id: CommandID = CommandID(UUID())
    ) async throws -> [MQTTMessage] {
        let request = VirtualRunRequest(id: id, client: Client("phone-1")!, run: run, action: action)
        return try await deliver([Topic.user(user, .virtualRunRequest).message(JSONCoding.encode(request))])
    }

    /// Sends a request that must be accepted.
    @discardableResult
    mutating func accept(_ user: User, _ run: RunID?, _ action: VirtualRunRequest.Action) async throws -> [MQTTMessage]
    {
        let sent = try await request(user, run, action)
        if let error = sent.replies(to: user).first?.error { throw error }
        return sent
    }

    func run(_ id: RunID) -> Run? { loop.machine.entries[id]?.run }

    func view(_ id: RunID, _ user: User) throws -> VirtualRunView? {
        var machine = loop.machine
        let message = machine.viewMessage(id, user)
        return message.payload.isEmpty ? nil : try JSONCoding.decode(VirtualRunView.self, from: message.payload)
    }

    /// Creates a run, and all confirm: it starts.
    mutating func start(_ host: User, _ others: [User], _ settings: RunSettings = RunSettings()) async throws -> RunID {
        let id = RunID(UUID())
        try await accept(host, id, .create(RunProposal(settings, invite: others)))
        for user in others { try await accept(user, id, .accept(Sharing.Change())) }
        if others.count > 1 { try await accept(host, id, .begin) }
        for user in [host] + others { try await accept(user, id, .confirm) }
        return id
    }

    /// The state of a runner's session.
    func state(
        _ run: RunID, _ user: User, _ status: SessionStatus = .active, revision: Int64 = 1
    ) throws -> SessionState {
        let participant = try #require(self.run(run)?.participant(user))
        let key = SessionKey(user, try #require(participant.entry?.session))
        var start = SessionStart(activity: .running, countdown: 0)
        start.run = run
        let at = participant.startsAt ?? clock.now
        let session = Session(key: key, start: start, at: at, now: at)
        var state = session.state(revision: revision)
        state.status = status
        return state
    }
}

extension [MQTTMessage] {
    func payloads(_ topic: Topic) -> [[UInt8]] { filter { $0.topic == topic.name }.map { [UInt8]($0.payload) } }

    func replies(to user: User) -> [Reply] {
        payloads(.user(user, .replies(Client("phone-1")!))).compactMap { try? JSONCoding.decode(Reply.self, from: $0) }
    }

    func views(_ run: RunID, _ user: User) -> [VirtualRunView] {
        payloads(.user(user, .virtualRun(run))).compactMap { try? JSONCoding.decode(VirtualRunView.self, from: $0) }
    }

    func partners(_ run: RunID, _ user: User) -> [Partners] {
        payloads(.user(user, .partners(run))).compactMap { try? JSONCoding.decode(Partners.self, from: $0) }
    }
}

extension SessionState {
    var message: MQTTMessage { Topic.session(key, .state).message(JSONCoding.encode(self)) }

    /// A live snapshot, seconds after the start.
    func metrics(at seconds: Double, meters: Double) -> MQTTMessage {
        var snapshot = MetricsSnapshot(user: user, revision: Int64(seconds) + 1)
        snapshot.run = run
        snapshot.newest = startedAt.map { $0 + seconds }
        snapshot.activeSeconds = seconds
        snapshot.distance = meters
        snapshot.count = Int(seconds)
        return MQTTMessage(topic: Topic.session(key, .metrics).name, payload: snapshot.payload, qos: .atMostOnce)
    }
}
