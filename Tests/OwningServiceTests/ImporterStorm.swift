import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import Synchronization
import TestSupport
import Workouts

@testable import Importer

/// Three users upload a file each, of whom one asks for the imports that are over.
struct ImporterStorm: StormService {
    static let name = "importer"
    static let schema = ImportRecord.schema
    /// The services of each session, and the number of scripts so far: each has files of its own.
    private static let services = Mutex<[SessionKey: FakeServices]>([:])
    private static let scriptCount = Atomic(0)
    private var loop: ImporterLoop
    private let store: any Store
    private var outcomes: [ReadOutcome] = []

    init(_ context: ServiceContext, _ store: any Store) {
        self.store = store
        loop = ImporterLoop(context: context, store: store)
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        let files = outcomes
        outcomes = []
        try await loop.handle(event, files: files)
        for job in loop.takeJobs() { outcomes.append(await job.read(from: store)) }
    }

    static func scripts(at start: Timestamp) -> [StormScript] {
        let count = scriptCount.add(1, ordering: .relaxed).newValue
        return (1...3).map { number in
            var script = StormScript(number)
            let (user, id) = (script.key.user, ImportID(script.key.session.uuid))
            let file = FITFixture.workout(start: 1_600_000_000 + count * 10_000, duration: 1_500 * number)
            for part in ImportPart.all(of: Data(file), name: "run.fit") {
                script.steps.append(
                    .stream(
                        Topic.user(user, .importParts(id)).message(JSONCoding.encode(part)),
                        ack: .user(user, .importAck(id)), end: part.n + 1))
            }
            if number == 3 {
                script.send(.user(user, .importRequest)) {
                    ImportRequest(id: $0, client: $1, action: .list(before: nil))
                }
            }
            return script
        }
    }

    /// session-engine and the owners of streams. No workout is there before.
    static func answers(to message: MQTTMessage, _ scripts: [StormScript]) -> [MQTTMessage] {
        switch Topic(message.topic) {
        case .session(let key, _)?:
            let service = services.withLock { services in
                let service =
                    services[key] ?? FakeServices(key: key, device: Device.importer, clock: ManualClock())
                services[key] = service
                return service
            }
            return service.answer(message)
        case .user(let user, .request)?:
            guard let request = try? JSONCoding.decode(UserRequest.self, from: message.payload) else { return [] }
            var reply = Reply(id: request.id, revision: nil, now: ManualClock().now)
            reply.workouts = []
            return reply.messages(to: user, request.client)
        default: return []
        }
    }

    static func stored(_ disk: StormDisk) throws -> StoredState {
        var stored = StoredState(accepted: nil)
        for (place, bytes) in try disk.records(in: ImportRecord.imports) {
            let record = try JSONCoding.decode(ImportRecord.self, from: bytes, now: SystemClock().moment)
            guard let key = ImportKey(place.key) else { throw PayloadError.malformed(place.key) }
            stored.raise(.user(key.user, .importStatus(key.id)), record.revision)
            stored.note(key.user, [record.status.rawValue, "\(record.workouts.map(\.isLogged))"])
        }
        return stored
    }

    /// Everything belongs to the user's shard, whichever shard a session is in.
    static func shard(of topic: Topic) -> Shard? {
        switch topic {
        case .session(let key, _): key.user.shard
        case .user(let user, .importStatus), .user(let user, .importAck): user.shard
        default: nil
        }
    }
}
