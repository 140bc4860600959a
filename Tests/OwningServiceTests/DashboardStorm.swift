import Bus
import MQTT
import ServiceKit
import Storage
import Synchronization
import TestSupport
import Workouts

@testable import Dashboard

/// Three people who log in and press buttons, and their workouts, of which the third is deleted.
///
/// A message on the topic of commands is a press in a browser. A POST that is answered as stored counts as replied to.
struct DashboardStorm: StormService {
    /// Answers no press while it waits: there is no broker for the people's own connections.
    private struct ImpatientClock: WallClock {
        let clock: any WallClock

        var moment: Moment { clock.moment }

        func wait(for duration: Duration) async throws {}
    }

    /// Writes in the background until its last reference is gone.
    private final class Process: Sendable {
        let parts: DashboardParts

        init(_ context: ServiceContext, _ store: any Store) {
            parts = DashboardParts(context, DashboardConfiguration(), store: store) { credential in
                .accepted(AccountRights(seen: Set([credential.account.user].compactMap(\.self)), isViewer: false))
            }
            // A child task would have to end with each event.
            Task { [parts] in try? await parts.records.run() }
        }

        deinit {
            parts.records.stop()
        }
    }

    static let name = "dashboard"
    static let schema = Dashboard.schema
    static let commitsInBackground = true
    /// The tokens of the browsers, which outlive processes.
    private static let tokens = Mutex<[SessionKey: LoginToken]>([:])

    private let context: ServiceContext
    private let process: Process
    private var loop: DashboardLoop
    private var parts: DashboardParts { process.parts }

    init(_ context: ServiceContext, _ store: any Store) {
        self.context = context
        var impatient = context
        impatient.clock = ImpatientClock(clock: context.clock)
        process = Process(impatient, store)
        loop = DashboardLoop(process.parts)
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        guard case .batch(let batch) = event else { return try await loop.handle(event) }
        var others: [MQTTMessage] = []
        for message in batch.messages {
            if case .session(let key, .command)? = Topic(message.topic) {
                try await post(JSONCoding.decode(Command.self, from: message.payload), key)
            } else {
                others.append(message)
            }
        }
        try await loop.handle(.batch(MQTTBatch(messages: others) { batch.acknowledge() }))
    }

    private func post(_ command: Command, _ key: SessionKey) async throws {
        guard let login = await login(key) else { return }
        let press = Press.command(key.session, command.action)
        guard case .pending = await parts.connections.perform(press, id: command.id, age: 0, for: login) else { return }
        let reply = Reply(id: command.id, revision: nil, now: context.clock.now)
        try? await context.bus.send(reply.messages(to: key.user, command.client))
    }

    /// The login of a person's browser, which logs in once.
    private func login(_ key: SessionKey) async -> Login? {
        if let token = Self.tokens.withLock({ $0[key] }) { return await parts.logins.login(token) }
        let answer = await parts.logins.logIn(
            "\(key.user)", "secret", from: ClientNetwork("127.0.0.1"), browser: nil)
        guard case .accepted(let token, _) = answer else { return nil }
        Self.tokens.withLock { $0[key] = token }
        return await parts.logins.login(token)
    }

    func finish() async throws {
        while parts.records.isOwner {
            // A failed commit is retried a second later.
            parts.records.tick(context.clock.moment + 1)
            if (try? await parts.records.committed()) != nil { return }
        }
    }

    static func scripts(at start: Timestamp) -> [StormScript] {
        (1...3).map { number in
            var script = StormScript(number)
            let key = script.key
            for action in [SessionAction.pause, .resume, .lap, .end(streams: [:])] {
                script.send(.session(key, .command)) { Command(id: $0, client: $1, action: action) }
            }
            script.retain(.workout, ExporterStorm.workout(of: key, at: start))
            script.send(.session(key, .command)) { Command(id: $0, client: $1, action: .lap) }
            if number == 3 { script.retain(.state, ["revision": "9", "status": "deleted"]) }
            return script
        }
    }

    static func stored(_ disk: StormDisk) throws -> StoredState {
        var stored = StoredState()
        for (key, totals) in try disk.sessions(.workouts, WorkoutTotals.self) { stored.note(key.user, totals) }
        for bytes in try disk.records(in: .presses).values {
            let press = try JSONCoding.decode(PendingCommand.self, from: bytes, now: SystemClock().moment)
            stored.accepted?.insert(press.id)
            stored.note(press.user, press.press.words)
        }
        return stored
    }

    /// Its records belong to one shard. It publishes nothing of it.
    static func shard(of topic: Topic) -> Shard? {
        if case .session = topic { RecordStore.shard } else { nil }
    }
}
