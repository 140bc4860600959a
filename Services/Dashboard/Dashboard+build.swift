import Bus
import ServiceKit
import Storage
import Workouts

extension Dashboard {
    /// All collections of the store.
    static let schema = StoreSchema(service: "dashboard", steps: [[.logins, .browsers, .presses, .workouts]])

    /// Opens the store, unless the caller passes one, and wires the service to the broker and its web server.
    ///
    /// - Parameter onListening: receives the web server's port once it accepts requests.
    static func build(
        _ context: ServiceContext, _ configuration: DashboardConfiguration, store: (any Store)? = nil,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws -> DashboardService {
        let parts = DashboardParts(context, configuration, store: try store ?? context.openStore(schema))
        return DashboardService(parts: parts, onListening: onListening)
    }
}

/// The parts that routes and loop share.
struct DashboardParts: Sendable {
    let context: ServiceContext
    let configuration: DashboardConfiguration
    let assets: AssetFiles
    let hub: LiveHub
    let store: any Store
    let records: RecordStore
    let logins: LoginService
    let shares: RequestShares
    let connections: PersonConnections
    let operators: OperatorPages
    let history: WorkoutHistory

    /// - Parameter ask: checks a password; by default by connecting to the broker.
    init(
        _ context: ServiceContext, _ configuration: DashboardConfiguration, store: any Store,
        ask: (@Sendable (RightsProbes.Credential) async -> BrokerAccounts.Answer)? = nil
    ) {
        let (clock, logger) = (context.clock, context.logger)
        let assets = AssetFiles(folder: configuration.webFolder)
        let hub = LiveHub(clock: clock, version: assets.version)
        let records = RecordStore(store: store, clock: clock, logger: logger)
        let accounts = BrokerAccounts(settings: context.configuration.mqtt, clock: clock)
        let connections = PersonConnections(
            clock: clock, logger: logger, records: records, accounts: accounts,
            onReply: { hub.reply(JSONCoding.encode($0), to: $1) })
        operators = OperatorPages(
            hub: hub, connection: OperatorConnection(clock: clock, accounts: accounts), clock: clock)
        logins = LoginService(
            clock: clock, logger: logger, records: records, ask: ask ?? accounts.ask,
            isEngineOnline: { hub.isOnline("session-engine") },
            onEnd: { changes in
                for id in changes.ended { hub.end(login: id) }
                for user in changes.gone.compactMap(\.user) { connections.close(user) }
            })
        self.context = context
        self.configuration = configuration
        self.assets = assets
        self.hub = hub
        self.store = store
        self.records = records
        self.connections = connections
        shares = RequestShares(clock: clock)
        history = WorkoutHistory(records: records, onErase: connections.erase)
    }

    /// Loads what the store holds once the shard of all records is gained, and serves from then on.
    func own(_ epochs: [Shard: Epoch]) async throws {
        guard epochs[RecordStore.shard] != nil else { return }
        records.own(epochs)
        try await connections.load()
        try await history.load()
        hub.open()
        try await logins.load()
    }

    /// Stands by: another replica may serve now. Browsers go there.
    func disown(_ shards: Set<Shard>) {
        guard shards.contains(RecordStore.shard) else { return }
        // A stream that found its login gone would send its page to the login form.
        hub.endAll()
        logins.unload()
        connections.unload()
        history.unload()
        records.disown()
    }
}
