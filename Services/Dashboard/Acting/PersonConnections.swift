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
    /// The same, because the person has too many presses without a reply.
    case full(Refusal)
}

/// Acts with each person's own rights: over a connection with their password, opened at their first press or for their saved
/// plans, and closed after a minute without use.
///
/// Presses outlive connections and this process: see ``PendingCommands``.
final class PersonConnections: Sendable {
    struct State {
        var presses = PendingCommands()
        var connections: [User: PersonConnection] = [:]
        /// POSTs that wait for a reply, by user and press.
        var waiting: [User: [CommandID: [Int: AsyncStream<Reply>.Continuation]]] = [:]
        /// Readers of the saved plans.
        var planReaders: [User: [Int: AsyncStream<[SavedPlans.Plan]>.Continuation]] = [:]
        var lastWaiter = 0
        /// Questions without a reply, and those not sent on the present connection.
        var reads: [User: [CommandID: VirtualRunRequest]] = [:]
        var unsent: [User: Set<CommandID>] = [:]
        var isLoaded = false
        var unreadable = UnreadableMessages()
    }

    /// Seconds without use after which a connection closes.
    static let idleTime = 60.0
    /// How long a POST waits for the reply.
    private static let answerTime = Duration.seconds(3)
    /// Questions of a user at one time.
    private static let readLimit = 8

    let clock: any WallClock
    let logger: Logger
    let records: RecordStore
    let accounts: BrokerAccounts
    private let limit: Int
    let onReply: @Sendable (Reply, User) -> Void
    let state = Mutex(State())
    let opened: AsyncStream<PersonConnection>
    private let open: AsyncStream<PersonConnection>.Continuation

    /// - Parameters:
    ///   - limit: the most connections at one time; beyond, the one that was used the longest ago closes, rather one without
    ///     unfinished presses.
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
        let presses = try await records.values(PendingCommand.self, in: .presses)
        state.withLock { state in
            guard !state.isLoaded else { return }
            let now = clock.moment
            for (_, press) in presses { state.presses.load(press, now) }
            state.isLoaded = true
        }
    }

    // MARK: Presses

    /// Stores a press, sends it until its reply, and waits for the reply for at most 3 s.
    ///
    /// - Parameters:
    ///   - age: see ``PendingCommands/post(_:id:age:at:by:onto:plans:_:)``, also for `at`.
    ///   - base: the saved plan that the press changes. If it is another by now, the press is refused. ``plans(of:)``
    ///     comes first.
    func perform(
        _ press: Press, id: CommandID, age: Double, at: Timestamp? = nil, for login: Login, onto base: PlanBase? = nil
    ) async -> CommandAnswer {
        guard let user = login.user else { return .unavailable }
        let (replies, waiter) = AsyncStream.makeStream(of: Reply.self, bufferingPolicy: .bufferingNewest(1))
        let (posted, number) = state.withLock { state -> (PendingCommands.Posted?, Int) in
            guard state.isLoaded else { return (nil, 0) }
            // Under one lock with the POST: of two tabs that save at one time, one is refused.
            let plans = base == nil ? [] : state.connections[user]?.plans()
            guard let plans else { return (nil, 0) }
            let posted = state.presses.post(
                press, id: id, age: age, at: at, by: user, onto: base, plans: plans, clock.moment)
            if case .new(let changes) = posted { records.enqueue(changes) }
            state.lastWaiter += 1
            switch posted {
            case .new, .pending: state.waiting[user, default: [:]][id, default: [:]][state.lastWaiter] = waiter
            case .answered, .refused, .conflict, .full: break
            }
            return (posted, state.lastWaiter)
        }
        switch posted {
        case .answered(let reply): return CommandAnswer(reply)
        case .refused(let refusal): return .refused(refusal)
        case .conflict:
            return .refused(Refusal(code: "id_reused", message: "the id belongs to another press; draw a new one"))
        case .full(let refusal): return .full(refusal)
        case nil: return .unavailable
        case .new, .pending: break
        }
        defer {
            state.withLock { state in
                state.waiting[user]?[id]?[number] = nil
                if state.waiting[user]?[id]?.isEmpty == true { state.waiting[user]?[id] = nil }
                if state.waiting[user]?.isEmpty == true { state.waiting[user] = nil }
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

    /// Asks for something that changes nothing: it is not stored, and sent once on each connection, for 3 s.
    func ask(_ action: VirtualRunRequest.Action, about run: RunID?, for login: Login) async -> CommandAnswer {
        guard let user = login.user else { return .unavailable }
        let id = CommandID(UUID())
        let (replies, waiter) = AsyncStream.makeStream(of: Reply.self, bufferingPolicy: .bufferingNewest(1))
        let isAsked = state.withLock { state in
            guard state.reads[user]?.count ?? 0 < Self.readLimit else { return false }
            state.reads[user, default: [:]][id] = VirtualRunRequest(id: id, client: nil, run: run, action: action)
            state.unsent[user, default: []].insert(id)
            state.waiting[user, default: [:]][id] = [0: waiter]
            return true
        }
        guard isAsked else { return .unavailable }
        defer {
            state.withLock { state in
                state.reads[user]?[id] = nil
                if state.reads[user]?.isEmpty == true { state.reads[user] = nil }
                state.unsent[user]?.remove(id)
                if state.unsent[user]?.isEmpty == true { state.unsent[user] = nil }
                state.waiting[user]?[id] = nil
                if state.waiting[user]?.isEmpty == true { state.waiting[user] = nil }
            }
        }
        resume(login)
        return await first(of: replies).map(CommandAnswer.init) ?? .unavailable
    }

    private func first<Value: Sendable>(of values: AsyncStream<Value>) async -> Value? {
        await withTaskGroup(of: Value?.self) { tasks in
            tasks.addTask {
                for await value in values { return value }
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

    /// Opens the user's connection if presses or questions wait for one. A login's first request after a restart calls this too.
    func resume(_ login: Login) { connect(login) { $0.presses.hasUnfinished($1) || $0.reads[$1] != nil } }

    /// The person's saved plans; `nil` if broker or session-engine do not answer within 3 s.
    func plans(of login: Login) async -> [SavedPlans.Plan]? {
        guard let user = login.user else { return nil }
        let (values, reader) = AsyncStream.makeStream(
            of: [SavedPlans.Plan].self, bufferingPolicy: .bufferingNewest(1))
        connect(login) { _, _ in true }
        let (known, number) = state.withLock { state -> ([SavedPlans.Plan]?, Int) in
            state.lastWaiter += 1
            state.planReaders[user, default: [:]][state.lastWaiter] = reader
            return (state.connections[user]?.plans(), state.lastWaiter)
        }
        defer {
            state.withLock { state in
                state.planReaders[user]?[number] = nil
                if state.planReaders[user]?.isEmpty == true { state.planReaders[user] = nil }
            }
        }
        if let known { return known }
        state.withLock { $0.connections[user] }?.wake()
        return await first(of: values)
    }

    func plansChanged(_ connection: PersonConnection) {
        let readers = state.withLock { $0.planReaders[connection.user] }
        guard let readers, let plans = connection.plans() else { return }
        for reader in readers.values { reader.yield(plans) }
    }

    private func connect(_ login: Login, if isNeeded: (borrowing State, User) -> Bool) {
        guard let user = login.user else { return }
        let (connection, new, evicted) = state.withLock { state -> (PersonConnection?, Bool, PersonConnection?) in
            guard isNeeded(state, user) else { return (nil, false, nil) }
            let now = clock.moment
            if let connection = state.connections[user] {
                connection.use(now)
                return (connection, false, nil)
            }
            var evicted: PersonConnection?
            if state.connections.count >= limit {
                func rank(_ connection: PersonConnection) -> (Int, Moment) {
                    (state.presses.hasUnfinished(connection.user) ? 1 : 0, connection.used)
                }
                evicted = state.connections.values.min { rank($0) < rank($1) }
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

    /// The connections, the presses without a reply, and all messages that could not be read.
    var counts: (connections: Int, pending: Int, unreadable: Int) {
        state.withLock { ($0.connections.count, $0.presses.unfinishedCount, $0.unreadable.count) }
    }

    /// The presses without a reply, in words.
    func unfinished(of user: User) -> [String] {
        state.withLock { $0.presses.unfinished(of: user).map(\.press.words) }
    }

    func discard(_ user: User) async throws(StoreError) {
        let (connection, outcomes) = state.withLock { state in
            let (outcomes, changes) = state.presses.discard(user, clock.moment)
            records.enqueue(changes)
            return (state.connections.removeValue(forKey: user), outcomes)
        }
        connection?.stop()
        for outcome in outcomes { report(outcome) }
        try await records.committed()
    }

    /// The user deleted everything then.
    func erase(_ user: User, at time: Timestamp) {
        let outcomes = state.withLock { state in
            let (outcomes, changes) = state.presses.erase(user, at: time, clock.moment)
            records.enqueue(changes)
            return outcomes
        }
        for outcome in outcomes { report(outcome) }
    }

    /// Closes the user's connection: a login ended.
    func close(_ user: User) {
        state.withLock { $0.connections.removeValue(forKey: user) }?.stop()
    }
}

extension PersonConnections.State {
    /// The connection is new: everything without a reply is sent again.
    mutating func connected(_ user: User) {
        presses.connected(user)
        unsent[user] = reads[user].map { Set($0.keys) }
    }

    mutating func takeReads(of user: User, client: Client) -> [MQTTMessage] {
        (unsent.removeValue(forKey: user) ?? []).sorted().compactMap { reads[user]?[$0] }.map {
            PendingCommand.message(
                VirtualRunRequest(id: $0.id, client: client, run: $0.run, action: $0.action), of: user)
        }
    }
}

extension CommandAnswer {
    init(_ reply: Reply) {
        self = reply.error.map(CommandAnswer.refused) ?? .done(reply)
    }
}
