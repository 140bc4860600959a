import Bus
import Foundation
import MQTT
import Storage
import TestSupport
import Workouts

@testable import SessionEngine

/// The engine on a real store with one planned session. Times are seconds since its start.
struct PlannedEngine {
    static let start = Timestamp(seconds: 1_700_000_000)
    static let user = User("demo")!
    let key = SessionKey(PlannedEngine.user, SessionID(UUID()))
    let clock = ManualClock(now: PlannedEngine.start)
    let folder: TemporaryFolder
    let log = LogRecorder()
    private let asksCoach: Bool
    private(set) var engine: Engine?
    /// The latest payload of each topic, and all announcements.
    private(set) var latest: [String: [UInt8]] = [:]
    private(set) var announcements: [Announcement] = []
    private(set) var coachRequests: [CoachRequest] = []

    init(asksCoach: Bool = false) async throws {
        folder = try TemporaryFolder()
        self.asksCoach = asksCoach
        engine = try await Engine(folder, clock: clock, asksCoach: asksCoach, logger: log.logger)
    }

    /// Begins the session without a countdown.
    mutating func begin(_ definition: WorkoutDefinition) async throws {
        var start = SessionStart(activity: definition.activity, countdown: 0)
        start.definition = definition
        let reply = try await perform(.start(start))
        guard reply?.ok == true else { throw Refused(reply: reply) }
    }

    struct Refused: Error {
        let reply: Reply?
    }

    func command(_ action: SessionAction, at seconds: Double? = nil) -> Command {
        Command(
            id: CommandID(UUID()), client: Client("phone-1")!, at: seconds.map { Self.start + $0 } ?? clock.now,
            action: action)
    }

    /// Performs a command with the current or an earlier time, and returns the reply if it is immediate.
    @discardableResult
    mutating func perform(_ action: SessionAction, at seconds: Double? = nil) async throws -> Reply? {
        try await send(command(action, at: seconds)).first
    }

    @discardableResult
    mutating func perform(_ action: PlanAction, at seconds: Double? = nil) async throws -> Reply? {
        try await perform(.plan(action), at: seconds)
    }

    mutating func send(_ command: Command) async throws -> [Reply] {
        try await deliver([Topic.session(key, .command).message(JSONCoding.encode(command))]).replies
    }

    mutating func request(_ action: UserRequest.Action) async throws -> Reply? {
        let request = UserRequest(id: CommandID(UUID()), client: Client("phone-1")!, action: action)
        return try await deliver([Topic.user(key.user, .request).message(JSONCoding.encode(request))]).replies.first
    }

    @discardableResult
    mutating func deliver(_ messages: [MQTTMessage]) async throws -> [MQTTMessage] {
        let sent = try await engine?.deliver(messages) ?? []
        return note(sent)
    }

    /// Advances the clock to a time in steps of the engine's ticks, and returns the replies.
    @discardableResult
    mutating func advance(to seconds: Double, step: Double = 0.1) async throws -> [Reply] {
        var replies: [Reply] = []
        while clock.now < Self.start + seconds {
            let left = (Self.start + seconds).seconds(since: clock.now)
            clock.advance(by: .microseconds(Int64((min(step, left) * 1e6).rounded(.up))))
            replies += note(try await engine?.tick() ?? []).replies
        }
        return replies
    }

    /// Kills the engine and starts another on its store after some seconds, connected to an empty broker.
    mutating func restart(after seconds: Double = 0) async throws {
        // The lock of the store ends with the process.
        engine = nil
        clock.advance(by: .milliseconds(Int64(seconds * 1_000)))
        engine = try await Engine(folder, clock: clock, asksCoach: asksCoach)
        latest = [:]
        _ = note(try await engine?.connect() ?? [])
        _ = note(try await engine?.tick() ?? [])
    }

    /// The number of sessions in the store.
    func records() async throws -> Int {
        try await engine?.store.records(in: SessionRecord.sessions, shards: [key.user.shard]).count ?? 0
    }

    /// Kills the engine and makes the session's record unreadable.
    mutating func corrupt() async throws {
        engine = nil
        let store = try SQLiteStore(
            path: folder.file("engine.sqlite"), schema: SessionRecord.schema, shards: Set(Shard.all))
        for await change in store.ownership {
            guard case .gained(let epochs) = change, let epoch = epochs[key.user.shard] else { continue }
            let change = StoreWrite.Change.put(key: "\(key)", value: Array("{".utf8))
            let write = StoreWrite(
                shard: key.user.shard, epoch: epoch, collection: SessionRecord.sessions, change: change)
            _ = try await store.commit([write])
            return
        }
    }

    func refuseDisk(_ refuses: Bool) { engine?.store.refuse(refuses) }

    private mutating func note(_ messages: [MQTTMessage]) -> [MQTTMessage] {
        for message in messages {
            switch Topic(message.topic) {
            case .session(_, .announcements):
                let announcement = try? JSONCoding.decode(Announcement.self, from: message.payload)
                announcements += [announcement].compactMap(\.self)
            case .user(_, .coachRequest):
                coachRequests += [try? JSONCoding.decode(CoachRequest.self, from: message.payload)].compactMap(\.self)
            default: latest[message.topic] = Array(message.payload)
            }
        }
        return messages
    }

    // MARK: The bus

    var state: SessionState? { latest[Topic.session(key, .state).name].flatMap { try? SessionState($0) } }
    var plan: PlanState? { latest[Topic.session(key, .state).name].flatMap { try? PlanState($0) } }
    var workout: WorkoutRecord? { decoded(.session(key, .workout)) }
    var current: CurrentSession? { decoded(.user(key.user, .current)) }
    var plans: SavedPlans? { decoded(.user(key.user, .plans)) }
    var record: SessionRecord? { engine?.record(key) }

    private func decoded<Value: Decodable>(_ topic: Topic) -> Value? {
        latest[topic.name].flatMap { try? JSONCoding.decode(Value.self, from: $0) }
    }

    /// The text of a resume button, such as `3/6`.
    var pill: String? { current?.details?.progress.map { "\($0.done)/\($0.total)" } }

    /// The active seconds until now.
    var active: Double { record?.session.segments.activeDuration(at: clock.now) ?? 0 }
}

extension WorkoutDefinition {
    /// Two exercises with three sets, a minute of rest and an alternative for one of them.
    static let strength = WorkoutDefinition(
        name: "Upper Body", focus: ["strength"], equipment: ["barbell"],
        sections: [
            Section(items: [
                Item(
                    id: "bench", name: "Bench Press", exercise: .benchPress,
                    sets: [PlannedSet](repeating: PlannedSet(repetitions: 8, weight: 60, rest: 60), count: 3),
                    alternatives: [PlannedExercise(name: "Push-up", exercise: .pushUp)]),
                Item(
                    id: "row", name: "Row", exercise: .row,
                    sets: [PlannedSet](repeating: PlannedSet(repetitions: 10, weight: 40, rest: 60), count: 3)),
            ])
        ])

    /// Three rounds of twenty seconds of work and ten of rest.
    static let intervals = WorkoutDefinition(
        name: "Sprints", focus: ["running"],
        sections: [
            Section(
                timer: TimerConfiguration(.interval, work: 20, rest: 10, rounds: 3),
                items: [Item(id: "sprint", name: "Sprint")])
        ])
}
