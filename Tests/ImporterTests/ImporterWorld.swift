import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import Importer

/// The loop on a store in memory, the services behind it and the clients before it. The test decides what arrives.
struct ImporterWorld {
    let bus = RecordingBus()
    let clock = ManualClock()
    let database = MemoryDatabase()
    private(set) var store: MemoryStore
    private(set) var loop: ImporterLoop
    /// What a session's services have, from the first message on.
    private(set) var services: [SessionKey: FakeServices] = [:]
    /// Messages on their way to importer.
    var incoming: [MQTTMessage] = []
    /// The last status of each import; `nil` once it was cleared.
    private(set) var statuses: [ImportKey: ImportStatus] = [:]
    private(set) var acks: [ImportKey: ImportAck] = [:]
    private(set) var replies: [CommandID: Reply] = [:]
    /// All sessions of messages that importer published.
    private(set) var written: Set<SessionKey> = []
    private var workouts: [SessionKey: WorkoutRecord] = [:]
    private var outcomes: [ReadOutcome] = []

    private let faults: FakeServices.Faults

    /// - Parameter faults: of the services of each session.
    init(_ faults: FakeServices.Faults = FakeServices.Faults()) async throws {
        self.faults = faults
        store = database.replica()
        loop = Self.loop(bus, clock, store)
        try await begin()
    }

    private static func loop(_ bus: RecordingBus, _ clock: ManualClock, _ store: MemoryStore) -> ImporterLoop {
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "importer"), logger: LogRecorder().logger, bus: bus,
            clock: clock)
        return ImporterLoop(context: context, store: store)
    }

    private mutating func begin() async throws {
        try await loop.handle(.ownership(store.gain(Set(Shard.all))))
        try await loop.handle(.connected)
        receive()
    }

    /// Kills the process: what is not in the store is lost, as are the messages on their way.
    mutating func crash() async throws {
        store = database.replica()
        loop = Self.loop(bus, clock, store)
        (incoming, outcomes) = ([], [])
        try await begin()
    }

    /// Passes the incoming messages and a tick.
    mutating func step(seconds: Double = 0.1) async throws {
        clock.advance(by: .seconds(seconds))
        let messages = incoming
        incoming = []
        let files = outcomes
        outcomes = []
        if !messages.isEmpty { try await loop.handle(.batch(MQTTBatch(messages: messages) {}), files: files) }
        try await loop.handle(.tick, files: messages.isEmpty ? files : [])
        for job in loop.takeJobs() { outcomes.append(await job.read(from: store)) }
        receive()
    }

    /// Takes what importer published, and has the services answer.
    private mutating func receive() {
        for message in bus.take() {
            switch Topic(message.topic) {
            case .user(let user, .importStatus(let id))?:
                let key = ImportKey(user, id)
                statuses[key] = try? JSONCoding.decode(ImportStatus.self, from: message.payload)
            case .user(let user, .importAck(let id))?:
                acks[ImportKey(user, id)] = try? JSONCoding.decode(ImportAck.self, from: message.payload)
            case .user(_, .replies)?:
                if let reply = try? JSONCoding.decode(Reply.self, from: message.payload) { replies[reply.id] = reply }
            case .user(let user, .request)?:
                guard let request = try? JSONCoding.decode(UserRequest.self, from: message.payload) else { continue }
                incoming += answer(request, user)
            case .session(let key, _)?:
                written.insert(key)
                let known = services[key]
                let service =
                    known
                    ?? FakeServices(
                        key: key, device: Device.importer, clock: clock, faults: faults)
                services[key] = service
                for answer in service.answer(message) {
                    if case .session(_, .workout)? = Topic(answer.topic) {
                        workouts[key] = try? JSONCoding.decode(WorkoutRecord.self, from: answer.payload)
                    }
                    incoming.append(answer)
                }
            default: break
            }
        }
    }

    private func answer(_ request: UserRequest, _ user: User) -> [MQTTMessage] {
        guard case .workouts(let query) = request.action else { return [] }
        var reply = Reply(id: request.id, revision: nil, now: clock.now)
        reply.workouts = workouts.filter { $0.key.user == user }.map { WorkoutOverview($0.value) }.filter { overview in
            overview.place.at >= query.from ?? overview.place.at && overview.place.at < query.to ?? .init(seconds: 9e12)
        }
        return reply.messages(to: user, request.client)
    }

    /// A workout that another device has logged.
    mutating func add(_ workout: WorkoutRecord) { workouts[SessionKey(workout.user, workout.session)] = workout }

    /// The user deletes a workout.
    mutating func delete(_ key: SessionKey) { workouts[key] = nil }

    // MARK: Clients

    static func message(_ part: ImportPart, of key: ImportKey) -> MQTTMessage {
        Topic.user(key.user, .importParts(key.id)).message(JSONCoding.encode(part))
    }

    /// Uploads a file in order, and waits until its import is in one of some statuses.
    mutating func upload(
        _ content: Data, name: String = "run.fit", workout: ImportPart.Workout? = nil, as key: ImportKey,
        until statuses: Set<ImportStatus.Status> = [.done]
    ) async throws -> ImportStatus? {
        incoming += ImportPart.all(of: content, name: name, workout: workout).map { Self.message($0, of: key) }
        return try await wait(for: key, until: statuses)
    }

    mutating func wait(
        for key: ImportKey, until wanted: Set<ImportStatus.Status> = [.done]
    ) async throws -> ImportStatus? {
        for _ in 0..<2_000 {
            if let status = statuses[key], wanted.contains(status.status) { return status }
            try await step()
        }
        return statuses[key]
    }

    mutating func ask(_ action: ImportRequest.Action, of user: User) async throws -> Reply? {
        let request = ImportRequest(id: CommandID(UUID()), client: Client("page-1")!, action: action)
        incoming.append(Topic.user(user, .importRequest).message(JSONCoding.encode(request)))
        try await step()
        return replies[request.id]
    }

    /// The keys in a collection of the store.
    func stored(_ collection: StoreCollection) async throws -> [String] {
        try await store.records(in: collection, shards: Set(Shard.all)).map(\.key)
    }
}
