package import Bus
import Logging
package import MQTT
package import ServiceKit
package import ServiceLifecycle
package import Storage
package import Workouts

/// A service on an in-memory broker, a test's store and a manual clock.
package struct RunningService {
    package enum Ending: Sendable {
        /// Simulates SIGTERM.
        case drain
        /// Simulates SIGKILL: from one moment on the service writes, sends and awaits nothing.
        case kill
    }

    package struct NotInTime: Error {
        package init() {}
    }

    package let broker: InMemoryBroker
    package let clock: ManualClock
    package let metrics: PrometheusMetrics
    package let log: LogRecorder
    package let store: RefusingStore
    package let folder: TemporaryFolder
    private let client: InMemoryBus
    private let probe: Topic

    /// Runs a service on the contents of a folder during `body`, and waits for its end.
    ///
    /// - Parameters:
    ///   - storing: the service's store in the folder, and how to open it.
    ///   - clearing: a retained topic of the service that it clears for an unknown session.
    package static func run(
        _ name: String, in folder: TemporaryFolder, storing: (file: String, schema: StoreSchema),
        clearing: SessionTopic, broker: InMemoryBroker = InMemoryBroker(), clock: ManualClock,
        log: LogRecorder = LogRecorder(), shards: ShardSelection = .all, ending: Ending = .drain,
        build: (ServiceContext, RefusingStore) throws -> any Service, _ body: (RunningService) async throws -> Void
    ) async throws {
        var configuration = ServiceConfiguration(name: name)
        configuration.store = .sqlite(path: folder.file(storing.file))
        configuration.shards = shards
        let bus = broker.client()
        let context = ServiceContext(configuration: configuration, logger: log.logger, bus: bus, clock: clock)
        let store = RefusingStore(
            try await opened { () throws(StoreError) in try context.openStore(storing.schema) })
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: try build(context, store), successTerminationBehavior: .gracefullyShutdownGroup)
                ],
                logger: .silent))
        let running = RunningService(
            broker: broker, clock: clock, metrics: context.metrics, log: log, store: store, folder: folder,
            client: broker.client(),
            probe: .session(
                SessionKey(User("nobody")!, SessionID("00000000-0000-4000-8000-000000000000")!), clearing))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                do {
                    try await group.run()
                } catch is CancellationError {
                    // The service was killed.
                }
            }
            do {
                try await clock.waitForSleepers()
                try await body(running)
            } catch {
                tasks.cancelAll()
                throw error
            }
            switch ending {
            case .drain: await group.triggerGracefulShutdown()
            case .kill:
                store.refuse(true)
                bus.cut()
                tasks.cancelAll()
            }
            try await tasks.waitForAll()
        }
    }

    /// Opens a store that a stopped service may still hold for a moment.
    package static func opened<Opened>(_ open: () throws(StoreError) -> Opened) async throws -> Opened {
        var store: Opened?
        _ = try await eventually {
            do throws(StoreError) {
                store = try open()
            } catch {
                guard case .inUse = error else { throw error }
            }
            return store != nil
        }
        guard let store else { throw NotInTime() }
        return store
    }

    // MARK: Events

    package func send(_ messages: [MQTTMessage]) async throws {
        try await client.send(messages)
    }

    package func send(_ messages: MQTTMessage...) async throws {
        try await client.send(messages)
    }

    /// Advances the clock after the service has handled all sent messages.
    package func jump(_ seconds: Double) async throws {
        try await settle()
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(seconds))
    }

    /// Waits until the service has handled all earlier messages: it then clears a retained topic of an unknown session.
    /// This needs a disk that accepts writes.
    package func settle() async throws {
        try await client.send([probe.message(Array(#"{"revision":1}"#.utf8))])
        let isSettled = await eventually {
            broker.published.last { $0.topic == probe.name }.map(\.payload.isEmpty) ?? false
        }
        guard isSettled else { throw NotInTime() }
    }

    // MARK: Results

    /// Waits for a condition. The service's clock does not advance.
    package func expectEventually(_ condition: () throws -> Bool) async throws {
        let isSo = try await eventually {
            try await settle()
            return try condition()
        }
        guard isSo else { throw NotInTime() }
    }

    /// Waits for a value. The service's clock does not advance.
    package func expectSome<Found>(_ find: () throws -> Found?) async throws -> Found {
        var found: Found?
        try await expectEventually {
            found = try find()
            return found != nil
        }
        guard let found else { throw NotInTime() }
        return found
    }

    /// Waits for the reply to a request of the client `tests`.
    package func reply(to id: CommandID, of user: User) async throws -> Reply {
        let topic = Topic.user(user, .replies(Client("tests")!)).name
        return try await expectSome {
            try broker.published.filter { $0.topic == topic }
                .map { try JSONCoding.decode(Reply.self, from: $0.payload) }.last { $0.id == id }
        }
    }

    /// The value of a metric; `nil` if absent.
    ///
    /// - Parameter metric: the name, with labels if there are any.
    package func value(of metric: String) -> Int? {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix("\(metric) ") }
        return line?.split(separator: " ").last.flatMap { Int($0) }
    }
}
