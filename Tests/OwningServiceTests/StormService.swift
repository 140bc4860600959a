import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

/// A service's loop and its background work, for ``Storm``.
protocol StormService: SendableMetatype {
    static var name: String { get }
    static var schema: StoreSchema { get }
    /// How replicas share the shards.
    static var plan: OwnershipPlan { get }
    /// Whether it commits outside its loop. The store alone then refuses writes to lost shards.
    static var commitsInBackground: Bool { get }

    init(_ context: ServiceContext, _ store: any Store) throws

    /// Passes an event to the loop and does the resulting work. The next event has its results.
    mutating func handle(_ event: ServiceEvent) async throws

    /// Returns after the commits outside the loop.
    func finish() async throws

    /// The messages to the service. All calls return the same, except for the ids of sessions and messages.
    static func scripts(at start: Timestamp) -> [StormScript]

    /// The responses to a message of the service.
    static func answers(to message: MQTTMessage, _ scripts: [StormScript]) -> [MQTTMessage]

    /// The service's records.
    static func stored(_ disk: StormDisk) throws -> StoredState

    /// The shard whose owner publishes a topic; `nil` if none does.
    static func shard(of topic: Topic) -> Shard?

    /// The revision of a retained message.
    static func revision(of message: MQTTMessage) throws -> Int64
}

extension StormService {
    static var plan: OwnershipPlan { .balanced }

    static var commitsInBackground: Bool { false }

    func finish() {}

    static func answers(to message: MQTTMessage, _ scripts: [StormScript]) -> [MQTTMessage] { [] }

    static func shard(of topic: Topic) -> Shard? {
        if case .session(let key, _) = topic { key.session.shard } else { nil }
    }

    static func revision(of message: MQTTMessage) throws -> Int64 {
        try JSONCoding.decode(SeenRevision.self, from: message.payload).revision
    }
}

/// The messages about one session, in order.
struct StormScript {
    enum Step {
        /// Repeated until its reply.
        case send(CommandID, MQTTMessage)
        /// Items, repeated until those before a number are acknowledged.
        case stream(MQTTMessage, ack: Topic, end: Int)
        /// Published once and retained.
        case retain(MQTTMessage)
    }

    static let client = Client("tests")!

    let key: SessionKey
    var steps: [Step] = []

    /// - Parameter number: distinguishes the users.
    init(_ number: Int) {
        key = SessionKey(User("user-\(number)")!, SessionID(UUID()))
    }

    mutating func retain(_ topic: SessionTopic, _ payload: some Encodable) {
        steps.append(.retain(Topic.session(key, topic).message(JSONCoding.encode(payload))))
    }

    mutating func send<Payload: Encodable>(_ topic: Topic, _ payload: (CommandID, Client) -> Payload) {
        let id = CommandID(UUID())
        steps.append(.send(id, topic.message(JSONCoding.encode(payload(id, Self.client)))))
    }
}

/// The content of a service's records.
struct StoredState {
    /// The revision of each retained topic.
    var revisions: [String: Int64] = [:]
    /// The stored limit of revisions that are in no record.
    var ceiling: (Topic) -> Int64? = { _ in nil }
    /// The ids of accepted messages; `nil` if the service accepts messages that change nothing.
    var accepted: Set<CommandID>? = []
    /// The results that must not depend on faults, by user.
    var outcome: [User: [String]] = [:]

    /// The highest revision that the service may publish.
    func highest(_ topic: Topic) -> Int64 { revisions[topic.name] ?? ceiling(topic) ?? -1 }

    mutating func raise(_ topic: Topic, _ revision: Int64?) {
        guard let revision else { return }
        revisions[topic.name] = max(revisions[topic.name] ?? 0, revision)
    }

    mutating func note(_ user: User, _ value: some Encodable) {
        outcome[user, default: []].append(String(decoding: JSONCoding.encode(value), as: UTF8.self))
        outcome[user]?.sort()
    }
}

/// The records of a service.
struct StormDisk: Sendable {
    private let read: @Sendable (StoreCollection) throws -> [StoreKey: [UInt8]]

    init(_ read: @escaping @Sendable (StoreCollection) throws -> [StoreKey: [UInt8]]) {
        self.read = read
    }

    init(_ database: MemoryDatabase) { self.init { database.records(in: $0) } }

    func records(in collection: StoreCollection) throws -> [StoreKey: [UInt8]] { try read(collection) }

    /// The decoded records of a collection whose keys name sessions.
    func sessions<Value: Decodable>(_ collection: StoreCollection, _ type: Value.Type) throws -> [(SessionKey, Value)] {
        try records(in: collection).map { place, bytes in
            guard let key = SessionKey(place.key) else { throw PayloadError.malformed(place.key) }
            return (key, try JSONCoding.decode(type, from: bytes, now: SystemClock().moment))
        }
    }
}
