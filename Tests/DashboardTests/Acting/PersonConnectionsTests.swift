import Bus
import Foundation
import MQTT
import NIOCore
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestSupport
import Testing
import Workouts

@testable import Dashboard

/// Logins and presses on a real broker, with a service that a test scripts.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PersonConnectionsTests {
    private static let session = SessionID(UUID(uuidString: "6f9619ff-8b86-d011-b42d-00c04fc964ff")!)

    private func startBroker() async throws -> Mosquitto {
        var settings = Mosquitto.Settings()
        settings.users = ["anna": "annas", "coach": "coachs", "_engine": "engine", "_operator": "op"]
        settings.accessRules = """
            user anna
            topic readwrite pacebus/v1/+/anna/#
            topic readwrite pacebus/v1/u/anna/#
            user coach
            topic readwrite pacebus/v1/+/coach/#
            topic read pacebus/v1/u/anna/#
            topic readwrite pacebus/v1/u/coach/#
            user _engine
            topic readwrite #

            """
        return try await Mosquitto(settings)
    }

    /// Runs a dashboard's parts on the broker.
    private func run(
        _ broker: Mosquitto, store: MemoryStore = .owningAll(), _ body: (Site) async throws -> Void
    ) async throws {
        let accounts = accounts(broker)
        try await Site.run(store: store, settings: { $1.mqtt.port = broker.port }, ask: accounts.ask, body)
    }

    /// Replies to commands and to anna's questions about virtual runs; the handlers return `nil` to stay silent.
    private func withEngine(
        _ broker: Mosquitto, _ handler: @escaping @Sendable (Command) -> Reply?,
        answering questions: @escaping @Sendable (VirtualRunRequest) -> Reply? = { _ in nil },
        _ body: (MQTTClient) async throws -> Void
    ) async throws {
        var configuration = MQTTConfiguration(clientID: "engine-\(UUID().uuidString)")
        configuration.port = broker.port
        configuration.username = "_engine"
        configuration.password = Secret("engine")
        configuration.batchInterval = .milliseconds(1)
        configuration.backoffMaximum = .milliseconds(200)
        let client = MQTTClient(configuration: configuration, logger: .silent)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await client.run() }
            tasks.addTask {
                let filters =
                    TopicFilter.sessions(.command, shards: Set(Shard.all))
                    + [TopicFilter.topic(.user(User("anna")!, .virtualRunRequest))]
                try await client.withSubscriptions(filters) { events in
                    for await event in events {
                        guard case .batch(let batch) = event else { continue }
                        for message in batch.messages {
                            let replies: [MQTTMessage]
                            switch Topic(message.topic) {
                            case .session(let key, _)?:
                                guard let command = try? JSONCoding.decode(Command.self, from: message.payload) else {
                                    continue
                                }
                                replies = handler(command)?.messages(to: key.user, command.client) ?? []
                            case .user(let user, .virtualRunRequest)?:
                                let request = try JSONCoding.decode(VirtualRunRequest.self, from: message.payload)
                                replies = questions(request)?.messages(to: user, request.client) ?? []
                            default: continue
                            }
                            try? await client.send(replies)
                        }
                        batch.acknowledge()
                    }
                }
            }
            try #require(await eventually { client.isReady })
            try await body(client)
            tasks.cancelAll()
        }
    }

    private func annas(_ site: Site) async throws -> Browser {
        let browser = Browser(site)
        #expect(try await browser.post("/login", form: ["name": "anna", "password": "annas"]).status == 303)
        return browser
    }

    private func press(_ type: String, _ id: CommandID, age: Double = 0) -> String {
        #"{"id":"\#(id)","type":"\#(type)","age":\#(age)}"#
    }

    private static let path = "/live/anna/\(session)/commands"

    @Test func `the broker decides about passwords and whom an account sees`() async throws {
        let broker = try await startBroker()
        defer { broker.kill() }
        @Sendable func silence(_: Command) -> Reply? { nil }
        try await withEngine(broker, silence) { engine in
            for user in ["anna", "ben"] {
                try await engine.publish(
                    Topic.user(User(user)!, .current).message(Array(#"{"revision":1,"session":null}"#.utf8)))
            }
            for version in [MQTTConfiguration.Version.v5, .v311] {
                let accounts = BrokerAccounts(settings: settings(broker, version), clock: ManualClock())
                func ask(_ name: String, _ password: String) async throws -> BrokerAccounts.Answer {
                    await accounts.ask(.init(account: try #require(AccountName(name)), password: Secret(password)))
                }
                #expect(try await ask("anna", "annas") == .accepted(.init(seen: [User("anna")!])))
                #expect(try await ask("coach", "coachs") == .accepted(.init(seen: [User("anna")!, User("coach")!])))
                #expect(try await ask("_operator", "op") == .accepted(.init(seen: [])))
                #expect(try await ask("anna", "wrong") == .refused)
                #expect(try await ask("nobody", "x") == .refused)
            }
            broker.kill()
            let accounts = BrokerAccounts(settings: settings(broker), clock: SystemClock(), timeout: .milliseconds(500))
            #expect(await accounts.ask(.init(account: .operators, password: Secret("op"))) == .unavailable)
        }
    }

    @Test func `a press is answered with the service's reply or refusal`() async throws {
        let broker = try await startBroker()
        defer { broker.kill() }
        let now = Timestamp(seconds: Date().timeIntervalSince1970)
        let seen = Mutex<[Command]>([])
        @Sendable func reply(_ command: Command) -> Reply? {
            seen.withLock { $0.append(command) }
            let refusal = command.action == .lap ? Refusal.invalidState("no lap") : nil
            return Reply(id: command.id, revision: 7, now: now, error: refusal)
        }
        try await withEngine(broker, reply) { _ in
            try await run(broker) { site in
                let anna = try await annas(site)
                let id = CommandID(UUID())
                let done = try await anna.post(Self.path, json: press("pause", id, age: 30))
                #expect(done.status == 200)
                #expect(try await done.text().contains(#""done":true"#))
                let again = try await anna.post(Self.path, json: press("pause", id, age: 90))
                #expect(again.status == 200)
                let commands = seen.withLock(\.self)
                #expect(commands.map(\.id) == [id])
                #expect(abs((commands[0].at?.seconds(since: now) ?? 0) + 30) < 20)
                let refused = try await anna.post(Self.path, json: press("lap", CommandID(UUID())))
                #expect(refused.status == 409)
                #expect(try await refused.text().contains(#""code":"invalid_state""#))
                let reused = try await anna.post(Self.path, json: press("resume", id))
                #expect(try await reused.text().contains("id_reused"))
                #expect(try await anna.post("/commands", json: press("pause", CommandID(UUID()))).status == 400)
                #expect(try await anna.post(Self.path, json: press("dance", CommandID(UUID()))).status == 400)
                #expect(try await anna.post(Self.path, json: press("pause", CommandID(UUID()), age: 1e9)).status == 400)
                // Of the two times the one that is less old counts: a clock may have jumped.
                for (at, age, status) in [(0.0, 1e9, 200), (-1e9, 1, 200), (-1e9, 1e9, 400)] {
                    let time = Date().timeIntervalSince1970 + at
                    let json = #"{"id":"\#(CommandID(UUID()))","type":"pause","age":\#(age),"at":\#(time)}"#
                    #expect(try await anna.post(Self.path, json: json).status == status)
                }
            }
        }
    }

    @Test func `a question goes out over the person's connection, and is kept nowhere`() async throws {
        let broker = try await startBroker()
        defer { broker.kill() }
        let now = Timestamp(seconds: Date().timeIntervalSince1970)
        @Sendable func silence(_: Command) -> Reply? { nil }
        @Sendable func runs(_ request: VirtualRunRequest) -> Reply? {
            // Other questions stay without a reply.
            guard case .runs = request.action else { return nil }
            var reply = Reply(id: request.id, revision: nil, now: now)
            reply.runs = []
            return reply
        }
        try await withEngine(broker, silence, answering: runs) { _ in
            try await run(broker) { site in
                let anna = try await annas(site)
                func ask(_ type: String, _ path: String = "/virtual-runs/reads") async throws -> Answer {
                    let fields = #""id":"\#(UUID().uuidString)","type":"\#(type)","run":"\#(UUID().uuidString)""#
                    return try await anna.post(path, json: "{\(fields)}")
                }
                let answer = try await ask("runs")
                #expect(answer.status == 200)
                #expect(try await answer.text().contains(#""runs":[]"#))
                #expect(try await ask("show").status == 503)
                #expect(try await ask("leave").status == 400)
                #expect(try await ask("runs", "/virtual-runs/requests").status == 400)
                #expect(site.parts.connections.counts.pending == 0)
            }
        }
    }

    @Test func `a late reply comes on the streams, and the press survives broker and dashboard`() async throws {
        let broker = try await startBroker()
        defer { broker.kill() }
        let store = MemoryStore.owningAll()
        let id = CommandID(UUID())
        let isAwake = Mutex(false)
        let seen = Mutex<[Command]>([])
        @Sendable func reply(_ command: Command) -> Reply? {
            seen.withLock { $0.append(command) }
            guard isAwake.withLock(\.self) else { return nil }
            return Reply(id: command.id, revision: 7, now: Timestamp(seconds: 1_700_000_000))
        }
        try await withEngine(broker, reply) { engine in
            var cookies: [String: String] = [:]
            try await run(broker, store: store) { site in
                let anna = try await annas(site)
                #expect(try await anna.post(Self.path, json: press("end", id)).status == 202)
                cookies = anna.cookies
                broker.kill()
            }
            try await broker.start()
            try #require(await eventually { engine.isReady })
            isAwake.withLock { $0 = true }
            store.gain(Set(Shard.all))
            try await run(broker, store: store) { site in
                let browser = Browser(site, cookies: cookies)
                let answer = try await browser.post(Self.path, json: press("end", id, age: 60))
                #expect(answer.status == 200)
            }
        }
        let commands = seen.withLock(\.self)
        #expect(commands.count >= 2)
        #expect(Set(commands.map(\.at)).count == 1)
        #expect(Set(commands.compactMap(\.client)).count > 1)
    }

    @Test func `presses of one session go out one after the other`() async throws {
        let broker = try await startBroker()
        defer { broker.kill() }
        let seen = Mutex<[CommandID]>([])
        @Sendable func reply(_ command: Command) -> Reply? {
            seen.withLock { $0.append(command.id) }
            return Reply(id: command.id, revision: 7, now: Timestamp(seconds: 1_700_000_000))
        }
        try await withEngine(broker, reply) { _ in
            try await run(broker) { site in
                let token = try #require(LoginToken(try await annas(site).cookies["pacebus"] ?? ""))
                let login = try #require(await site.parts.logins.login(token))
                let ids = (0..<20).map { _ in CommandID(UUID()) }
                for id in ids {
                    let answer = await site.parts.connections.perform(
                        .command(Self.session, .lap), id: id, age: 0, for: login)
                    guard case .done = answer else {
                        Issue.record("\(answer)")
                        return
                    }
                }
                #expect(seen.withLock(\.self) == ids)
            }
        }
    }

    @Test func `a late reply is an event on the person's streams`() async throws {
        let broker = try await startBroker()
        defer { broker.kill() }
        let attempts = Mutex(0)
        @Sendable func reply(_ command: Command) -> Reply? {
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return attempt == 1 ? nil : Reply(id: command.id, revision: 7, now: Timestamp(seconds: 1_700_000_000))
        }
        try await withEngine(broker, reply) { _ in
            try await run(broker) { site in
                let anna = try await annas(site)
                let token = try #require(LoginToken(anna.cookies["pacebus"] ?? ""))
                let login = try #require(await site.parts.logins.login(token))
                let viewer = try site.parts.hub.watch(.home(login.seen), login: login)
                let id = CommandID(UUID())
                #expect(try await anna.post(Self.path, json: press("pause", id)).status == 202)
                var text = ""
                while !text.contains("event: reply"), let events = await viewer.next() {
                    site.parts.hub.tick()
                    text += events.map { String(buffer: $0) }.joined()
                }
                #expect(text.contains("\(id)"))
            }
        }
    }

    @Test func `unreadable plans and replies change nothing and are counted`() async throws {
        let broker = try await startBroker()
        defer { broker.kill() }
        let anna = try #require(User("anna"))
        @Sendable func reply(_ command: Command) -> Reply? {
            Reply(id: command.id, revision: 7, now: Timestamp(seconds: 1_700_000_000))
        }
        try await withEngine(broker, reply) { engine in
            let plans = Topic.user(anna, .plans)
            try await engine.publish(plans.message(Array(#"{"revision":1,"plans":"later"}"#.utf8)))
            try await run(broker) { site in
                let browser = try await annas(site)
                let token = try #require(LoginToken(browser.cookies["pacebus"] ?? ""))
                let login = try #require(await site.parts.logins.login(token))
                let connections = site.parts.connections
                #expect(await connections.plans(of: login) == nil)
                #expect(connections.counts.unreadable == 1)
                try await engine.publish(plans.message(JSONCoding.encode(SavedPlans(revision: 2, plans: []))))
                #expect(await eventually { await connections.plans(of: login) == [] })
                let client = try #require(connections.state.withLock { $0.connections[anna]?.client })
                let garbage = MQTTMessage(
                    topic: Topic.user(anna, .replies(client)).name, payload: Array("?".utf8), qos: .atLeastOnce)
                try await engine.publish(garbage)
                #expect(await eventually { connections.counts.unreadable == 2 })
                #expect(try await browser.post(Self.path, json: press("pause", CommandID(UUID()))).status == 200)
            }
        }
    }

    @Test func `of unreadable messages the log names one a minute, and how many there were`() {
        var messages = UnreadableMessages()
        let start = Moment(Timestamp(seconds: 1_700_000_000))
        let counts = [0, 1, 59, 60, 61, 300].map { messages.note(start + $0) }
        #expect(counts == [1, nil, nil, 3, nil, 2])
        #expect(messages.count == 6)
    }

    @Test func `a logout names presses without a reply, and keeps or discards them`() async throws {
        let broker = try await startBroker()
        defer { broker.kill() }
        @Sendable func silence(_: Command) -> Reply? { nil }
        try await withEngine(broker, silence) { _ in
            try await run(broker) { site in
                for choice in ["keep", "discard"] {
                    let anna = try await annas(site)
                    _ = try await anna.post(Self.path, json: press("pause", CommandID(UUID())))
                    let question = try await anna.post("/logout", form: [:])
                    #expect(question.status == 409)
                    #expect(try await question.text().contains("<li>Pause</li>"))
                    #expect(try await anna.post("/logout", form: ["unsent": choice]).status == 303)
                    #expect(site.parts.connections.unfinished(of: User("anna")!).isEmpty == (choice == "discard"))
                }
            }
        }
    }

    @Test func `the longest idle connection gives way, and an unused one closes after a minute`() async throws {
        let broker = try await startBroker()
        defer { broker.kill() }
        let clients = Mutex<[Client?]>([])
        @Sendable func reply(_ command: Command) -> Reply? {
            clients.withLock { $0.append(command.client) }
            return Reply(id: command.id, revision: 7, now: Timestamp(seconds: 1_700_000_000))
        }
        let clock = ManualClock(now: Timestamp(seconds: Date().timeIntervalSince1970))
        let (records, accounts) = (
            RecordStore(store: MemoryStore.owningAll(), clock: clock, logger: .silent), accounts(broker, clock)
        )
        let connections = PersonConnections(
            clock: clock, logger: .silent, records: records, accounts: accounts, limit: 1, onReply: { _, _ in })
        func act(_ name: String) async throws -> CommandAnswer {
            let login = Login(
                id: LoginToken().id, account: try #require(AccountName(name)), password: Secret("\(name)s"),
                rights: .init(seen: []))
            return await connections.perform(
                .command(SessionID(UUID()), .pause), id: CommandID(UUID()), age: 0, for: login)
        }
        try await withEngine(broker, reply) { _ in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await records.run() }
                tasks.addTask { try await connections.run(onRefused: { _ in }) }
                records.own([RecordStore.shard: Epoch(1)])
                try await connections.load()
                for name in ["anna", "anna", "coach", "anna"] {
                    guard case .done = try await act(name) else { throw RunningService.NotInTime() }
                    #expect(connections.counts == (1, 0, 0))
                }
                clock.advance(by: .seconds(61))
                #expect(await eventually { connections.counts == (0, 0, 0) })
                guard case .done = try await act("anna") else { throw RunningService.NotInTime() }
                tasks.cancelAll()
            }
        }
        // Each connection has its own reader of replies.
        let readers = clients.withLock(\.self)
        #expect(readers[0] == readers[1])
        #expect(Set(readers).count == 4)
    }

    /// Without a clock that moves, no answer comes too late.
    private func accounts(_ broker: Mosquitto, _ clock: ManualClock = ManualClock()) -> BrokerAccounts {
        BrokerAccounts(settings: settings(broker), clock: clock)
    }

    private func settings(
        _ broker: Mosquitto, _ version: MQTTConfiguration.Version = .v5
    ) -> MQTTConfiguration {
        var settings = MQTTConfiguration(clientID: "test")
        settings.port = broker.port
        settings.version = version
        return settings
    }
}
