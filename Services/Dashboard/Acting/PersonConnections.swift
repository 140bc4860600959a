import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import Workouts

/// What a POST of a press answers.
enum CommandAnswer: Equatable, Sendable {
    /// The service applied the press.
    case done(Reply)
    /// The reply follows as an event `reply`.
    case pending
    case refused(Refusal)
    /// The press is not kept: the page posts it again.
    case unavailable
}

/// Acts with each person's own rights: over a connection with their password, opened at their first press and closed after
/// a minute without use.
///
/// Presses outlive connections and this process: see ``PendingCommands``.
final class PersonConnections: Sendable {
    private struct State {
        var presses = PendingCommands()
        var connections: [User: PersonConnection] = [:]
        /// POSTs that wait for a reply.
        var waiting: [CommandID: [Int: AsyncStream<Reply>.Continuation]] = [:]
        var lastWaiter = 0
        var isLoaded = false
    }

    /// Seconds without use after which a connection closes.
    static let idleTime = 60.0
    /// How long a POST waits for the reply.
    private static let answerTime = Duration.seconds(3)
    private static let expiryInterval = Duration.seconds(60)
    /// The time between the loss of a connection and the next attempt.
    private static let reconnectTime = Duration.milliseconds(200)

    let clock: any WallClock
    private let logger: Logger
    private let records: RecordStore
    private let accounts: BrokerAccounts
    private let limit: Int
    private let onReply: @Sendable (Reply, User) -> Void
    private let state = Mutex(State())
    private let opened: AsyncStream<PersonConnection>
    private let open: AsyncStream<PersonConnection>.Continuation

    /// - Parameters:
    ///   - limit: the most connections at one time; beyond, the one that was used the longest ago closes.
    ///   - onReply: receives each final reply, for the streams of the user.
    init(
        clock: any WallClock, logger: Logger, records: RecordStore, accounts: BrokerAccounts,
        limit: Int = 256, onReply: @escaping @Sendable (Reply, User) -> Void
    ) {
        self.clock = clock
        self.logger = logger
        self.records = records
        self.accounts = accounts
        self.limit = limit
        self.onReply = onReply
        (opened, open) = AsyncStream.makeStream()
    }

    func load() async throws {
        let now = clock.moment
        let stored = try await records.records(in: .presses)
        state.withLock { state in
            guard !state.isLoaded else { return }
            for record in stored {
                guard let press = try? JSONCoding.decode(PendingCommand.self, from: record.value, now: now) else {
                    logger.error("stored press unreadable, dropped", metadata: [LogKey.record: "\(record.key)"])
                    continue
                }
                state.presses.load(press, now)
            }
            state.isLoaded = true
        }
    }

    // MARK: Presses

    /// Stores a press, sends it until its reply, and waits for the reply for at most 3 s.
    ///
    /// - Parameter age: seconds since the press, at its first POST.
    func perform(_ press: Press, id: CommandID, age: Double, for login: Login) async -> CommandAnswer {
        guard let user = login.user else { return .unavailable }
        let (replies, waiter) = AsyncStream.makeStream(of: Reply.self, bufferingPolicy: .bufferingNewest(1))
        let (posted, number) = state.withLock { state -> (PendingCommands.Posted, Int) in
            guard state.isLoaded else { return (.full, 0) }
            let posted = state.presses.post(press, id: id, age: age, by: user, clock.moment)
            if case .new(let changes) = posted { records.enqueue(changes) }
            state.lastWaiter += 1
            switch posted {
            case .new, .pending: state.waiting[id, default: [:]][state.lastWaiter] = waiter
            case .answered, .conflict, .full: break
            }
            return (posted, state.lastWaiter)
        }
        switch posted {
        case .answered(let reply): return CommandAnswer(reply)
        case .conflict:
            return .refused(Refusal(code: "id_reused", message: "the id belongs to another press; draw a new one"))
        case .full: return .unavailable
        case .new, .pending: break
        }
        defer {
            state.withLock { state in
                state.waiting[id]?[number] = nil
                if state.waiting[id]?.isEmpty == true { state.waiting[id] = nil }
            }
        }
        do {
            try await records.committed()
        } catch {
            state.withLock { records.enqueue($0.presses.abandon(id, of: user)) }
            return .unavailable
        }
        state.withLock { $0.presses.stored(id, of: user) }
        resume(login)
        return await first(of: replies).map(CommandAnswer.init) ?? .pending
    }

    private func first(of replies: AsyncStream<Reply>) async -> Reply? {
        await withTaskGroup(of: Reply?.self) { tasks in
            tasks.addTask {
                for await reply in replies { return reply }
                return nil
            }
            tasks.addTask { [clock] in
                try? await clock.wait(for: Self.answerTime)
                return nil
            }
            defer { tasks.cancelAll() }
            return await tasks.next() ?? nil
        }
    }

    /// Opens the user's connection if presses wait for one. A login's first request after a restart calls this too.
    func resume(_ login: Login) {
        guard let user = login.user else { return }
        let (connection, new, evicted) = state.withLock { state -> (PersonConnection?, Bool, PersonConnection?) in
            guard state.presses.hasUnfinished(user) else { return (nil, false, nil) }
            let now = clock.moment
            if let connection = state.connections[user] {
                connection.use(now)
                return (connection, false, nil)
            }
            var evicted: PersonConnection?
            if state.connections.count >= limit {
                evicted = state.connections.values.min { $0.used < $1.used }
                if let evicted { state.connections[evicted.user] = nil }
            }
            let connection = PersonConnection(
                RightsProbes.Credential(account: login.account, password: login.password), user, now)
            state.connections[user] = connection
            return (connection, true, evicted)
        }
        evicted?.stop()
        if let connection, new { open.yield(connection) }
        connection?.wake()
    }

    /// The connections, and the presses without a reply.
    var counts: (connections: Int, pending: Int) {
        state.withLock { ($0.connections.count, $0.presses.unfinishedCount) }
    }

    /// The presses without a reply, in words.
    func unfinished(of user: User) -> [String] {
        state.withLock { $0.presses.unfinished(of: user).map(\.words) }
    }

    func discard(_ user: User) async throws(StoreError) {
        let connection = state.withLock { state in
            records.enqueue(state.presses.discard(user))
            return state.connections.removeValue(forKey: user)
        }
        connection?.stop()
        try await records.committed()
    }

    /// Closes the user's connection: a login ended.
    func close(_ user: User) {
        state.withLock { $0.connections.removeValue(forKey: user) }?.stop()
    }

    // MARK: Connections

    /// - Parameter onRefused: receives an account whose password the broker refused.
    func run(onRefused: @escaping @Sendable (AccountName) -> Void) async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { tasks in
                tasks.addTask { await self.expire() }
                for await connection in self.opened { tasks.addTask { await self.serve(connection, onRefused) } }
                tasks.cancelAll()
            }
        }
    }

    private func expire() async {
        while (try? await clock.wait(for: Self.expiryInterval)) != nil {
            let outcomes = state.withLock { state in
                let (outcomes, changes) = state.presses.expire(clock.moment)
                records.enqueue(changes)
                return outcomes
            }
            for outcome in outcomes { report(outcome) }
        }
    }

    private func serve(_ connection: PersonConnection, _ onRefused: @Sendable (AccountName) -> Void) async {
        var end = PersonConnection.End.lost
        while end == .lost, isOpen(connection) {
            end = await run(connection)
            if end == .lost, (try? await clock.wait(for: Self.reconnectTime)) == nil { break }
        }
        state.withLock { state in
            if state.connections[connection.user] === connection { state.connections[connection.user] = nil }
        }
        if end == .refused { onRefused(connection.credential.account) }
    }

    private func isOpen(_ connection: PersonConnection) -> Bool {
        state.withLock { $0.connections[connection.user] === connection }
    }

    private func run(_ connection: PersonConnection) async -> PersonConnection.End {
        await connection.run(
            configuration: accounts.settings(for: connection.credential, client: "person"), clock: clock,
            onConnected: { self.state.withLock { $0.presses.connected(connection.user) } },
            due: { self.due(connection) }, received: { self.received($0, on: connection) })
    }

    /// The messages to send now; `nil` if the connection is idle and closes.
    private func due(_ connection: PersonConnection) -> [MQTTMessage]? {
        state.withLock { state in
            guard state.connections[connection.user] === connection else { return nil }
            let now = clock.moment
            let messages = state.presses.take(connection.user, client: connection.client, now)
            guard messages.isEmpty, !state.presses.hasUnfinished(connection.user),
                now.seconds(since: connection.used) >= Self.idleTime
            else { return messages }
            state.connections[connection.user] = nil
            return nil
        }
    }

    private func received(_ reply: Reply, on connection: PersonConnection) {
        let outcome = state.withLock { state in
            let (outcome, changes) = state.presses.received(reply, for: connection.user, clock.moment)
            records.enqueue(changes)
            return outcome
        }
        if let outcome { report(outcome) }
    }

    private func report(_ outcome: PendingCommands.Outcome) {
        let waiters = state.withLock { $0.waiting.removeValue(forKey: outcome.reply.id) } ?? [:]
        for waiter in waiters.values { waiter.yield(outcome.reply) }
        onReply(outcome.reply, outcome.user)
    }
}

extension CommandAnswer {
    init(_ reply: Reply) {
        self = reply.error.map(CommandAnswer.refused) ?? .done(reply)
    }
}
