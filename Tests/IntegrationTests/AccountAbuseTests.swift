import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// What one account can do to session-engine: the real process, on a broker as `compose/up` starts it, with the real
/// rules and accounts.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct AccountAbuseTests {
    private let flood = Client("flood")!
    private let client = Client("tests")!
    /// The most memory of session-engine in MiB, as a debug build.
    private static let memoryLimit = 300

    @Test func `starts with plans are refused beyond the limits, others are answered, and a purge works meanwhile`()
        async throws
    {
        let world = try await AbuseWorld()
        try await world.run { world in
            let ann = SessionKey(world.ann.user, SessionID(UUID()))
            let running = try await world.ann.ask([start(SessionStart(activity: .running, countdown: 0), of: ann)])
            try #require(running.values.allSatisfy { $0.ok })
            var begun: [CommandID: SessionKey] = [:]
            func round() async throws {
                let starts = (0..<100).map { _ in
                    let key = SessionKey(world.mallory.user, SessionID(UUID()))
                    let start = start(Self.largest, of: key, client: flood)
                    begun[start.id] = key
                    return start.message
                }
                try await world.mallory.account.send(starts)
                // It waits behind the flood in the broker.
                let lap = message(.lap, of: ann)
                let answers = try await world.ann.ask([lap])
                #expect(answers[lap.id]?.ok == true)
            }
            func replies() -> [Reply] { world.mallory.replies(to: flood) }
            var refused: [Refusal] = []
            for _ in 0..<20 where refused.isEmpty {
                try await round()
                refused = replies().compactMap(\.error)
            }
            #expect(!refused.isEmpty)
            for _ in 0..<3 { try await round() }
            refused = replies().compactMap(\.error)
            #expect(refused.allSatisfy { $0.code == "too_many_sessions" && $0.retryAfter ?? 0 > 0 }, "\(refused[0])")
            let accepted = Set(replies().filter(\.ok).map(\.id))
            #expect((1...50).contains(accepted.count))

            try await world.compose.run("user", "purge", "mallory", "--yes")
            #expect(
                try await eventually {
                    try await round()
                    return !world.isOrdered("mallory")
                })
            for key in accepted.compactMap({ begun[$0] }) {
                #expect(await eventually { world.status(of: key) == .deleted }, "\(key)")
            }
            #expect(world.status(of: ann) == .active)
            #expect(try world.mostMemory() < Self.memoryLimit)

            world.engine.end(SIGTERM)
            let text = try await world.compose.run("user", "purge", "ann", "--yes")
            #expect(text.contains("when it starts") && world.isOrdered("ann"))
            try world.startEngine()
            #expect(await eventually { !world.isOrdered("ann") && world.status(of: ann) == .deleted })
        }
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `a flood of requests for the history of many empty workouts is refused, and others are answered`()
        async throws
    {
        let world = try await AbuseWorld()
        try await world.run { world in
            let keys = (0..<120).map { _ in SessionKey(world.mallory.user, SessionID(UUID())) }
            // A user has at most 20 unfinished sessions.
            for first in stride(from: 0, to: keys.count, by: 15) {
                let times = (first..<first + 15).map { Timestamp(seconds: 1_700_000_000) + Double($0) * 100 }
                let starts = zip(keys[first...], times).map { key, at in
                    var past = SessionStart(activity: .running, countdown: 0)
                    past.endAt = at + 60
                    return start(past, at: at, of: key)
                }
                let ends = zip(keys[first...], times).map { key, at in
                    message(.end(streams: [:]), at: at + 60, of: key)
                }
                for messages in [starts, ends] {
                    let refused = try await world.mallory.ask(messages).values.compactMap(\.error)
                    #expect(refused == [])
                }
            }
            #expect(
                await eventually {
                    keys.allSatisfy { !world.operators.payloads(Topic.session($0, .workout).name).isEmpty }
                })

            // Everything waits for the engine.
            world.engine.send(SIGSTOP)
            let equal = page(of: world.mallory.user, client: flood)
            let others = (0..<200).map { _ in page(of: world.mallory.user) }
            try await world.mallory.account.send([MQTTMessage](repeating: equal.message, count: 100))
            try await world.mallory.account.send(others.map(\.message))
            let own = page(of: world.ann.user)
            try await world.ann.account.send([own.message])
            world.engine.send(SIGCONT)
            let answer = try await world.ann.ask([own])
            #expect(answer[own.id]?.ok == true && answer[own.id]?.workouts == [])
            let answers = try await world.mallory.ask(others)
            let refused = answers.values.compactMap(\.error)
            #expect(!refused.isEmpty)
            #expect(refused.allSatisfy { $0.code == "too_many_requests" && $0.retryAfter ?? 0 > 0 })
            // Each turn answers equal requests once.
            let pages = world.mallory.replies(to: flood).compactMap(\.workouts)
            #expect(!pages.isEmpty && pages.allSatisfy { $0.count == HistoryQuery.limit })
            #expect((1..<50).contains(world.mallory.replies(to: flood).count))
            #expect(try world.mostMemory() < Self.memoryLimit)
        }
    }

    private typealias Message = (id: CommandID, message: MQTTMessage)

    private func start(
        _ start: SessionStart, at: Timestamp? = nil, of key: SessionKey, client: Client? = nil
    ) -> Message {
        message(.start(start), at: at, of: key, client: client)
    }

    private func message(
        _ action: SessionAction, at: Timestamp? = nil, of key: SessionKey, client: Client? = nil
    ) -> Message {
        let command = Command(id: CommandID(UUID()), client: client ?? self.client, at: at, action: action)
        return (command.id, Topic.session(key, .command).message(JSONCoding.encode(command)))
    }

    private func page(of user: User, client: Client? = nil) -> Message {
        let request = UserRequest(
            id: CommandID(UUID()), client: client ?? self.client,
            action: .workouts(HistoryQuery(limit: HistoryQuery.limit)))
        return (request.id, Topic.user(user, .request).message(JSONCoding.encode(request)))
    }

    /// Replaces the unfinished session, with a plan of about 25 KB.
    private static let largest: SessionStart = {
        let name = String(repeating: "x", count: PlanLimits.name - 1)
        let items = (0..<45).map { number in
            WorkoutDefinition.Item(
                id: "item-\(number)", name: name, sets: [PlannedSet(repetitions: 8)],
                alternatives: (0..<3).map { PlannedExercise(name: "\(name)\($0)") })
        }
        var start = SessionStart(activity: .running, countdown: 0)
        start.replace = true
        start.definition = WorkoutDefinition(sections: [WorkoutDefinition.Section(items: items)])
        return start
    }()
}

/// session-engine and two users' clients on a broker with accounts, and an operator who reads everything.
private final class AbuseWorld {
    let compose: ComposeFolder
    let ann: Person
    let mallory: Person
    let operators: AccountClient
    private(set) var engine: ChildProcess
    private let broker: ComposeFolder.Broker

    init() async throws {
        compose = try ComposeFolder()
        let names = ["ann", "mallory"]
        var passwords: [Secret] = []
        for name in names { passwords.append(try await compose.addAccount(name)) }
        try await compose.needAccounts()
        broker = try await compose.startBroker()
        ann = Person(User("ann")!, passwords[0], port: broker.port)
        mallory = Person(User("mallory")!, passwords[1], port: broker.port)
        operators = AccountClient("_operator", try compose.password(of: "_operator"), port: broker.port)
        engine = try compose.start("session-engine", on: broker)
    }

    deinit {
        engine.end(SIGTERM)
        broker.process.end(SIGTERM)
    }

    func startEngine() throws { engine = try compose.start("session-engine", on: broker) }

    func run(_ body: (AbuseWorld) async throws -> Void) async throws {
        // Each account receives what it may read.
        try await AccountClient.run([ann.account, mallory.account, operators], subscribedTo: ["pacebus/v1/#"]) {
            try await body(self)
        }
    }

    /// Whether an operator's order to remove a user's data is left.
    func isOrdered(_ user: String) -> Bool {
        FileManager.default.fileExists(atPath: compose.folder.file("data/purge/\(user)"))
    }

    func status(of key: SessionKey) -> SessionStatus? {
        let payload = operators.payloads(Topic.session(key, .state).name).last
        return payload.flatMap { try? JSONCoding.decode(SessionState.self, from: $0) }?.status
    }

    /// The most memory of the engine so far in MiB.
    func mostMemory() throws -> Int {
        let lines = try String(contentsOfFile: "/proc/\(engine.id)/status", encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.split { $0 == " " || $0 == "\t" }[1])) / 1024
    }
}
