package import Bus
import Logging
package import MQTT
package import ServiceKit
package import ServiceLifecycle
package import Storage
package import Workouts

/// A service on a broker in this process, a store of the test's, and a clock that stands still.
package struct RunningService {
    package enum Ending: Sendable {
        /// As after SIGTERM.
        case drain
        /// As after SIGKILL: from one moment on nothing is written, sent or awaited any more.
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

    /// Runs the service on what is in a folder while `body` runs, and waits for its end.
    ///
    /// - Parameters:
    ///   - storing: where the service keeps its records in the folder, and how.
    ///   - clearing: what the service publishes of a session, and clears when it is nobody's.
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
                    // Killed.
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

    /// Opens a store that a service which has ended may hold for a moment yet, while the last of it goes.
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

    // MARK: What happens

    package func send(_ messages: [MQTTMessage]) async throws {
        try await client.send(messages)
    }

    package func send(_ messages: MQTTMessage...) async throws {
        try await client.send(messages)
    }

    /// Lets time pass at once, after what was sent has been handled.
    package func jump(_ seconds: Double) async throws {
        try await settle()
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(seconds))
    }

    /// Returns when everything that was sent before has been handled: then the service clears what is nobody's. While the
    /// disk refuses it does not.
    package func settle() async throws {
        try await client.send([probe.message(Array(#"{"revision":1}"#.utf8))])
        let isSettled = await eventually {
            broker.published.last { $0.topic == probe.name }.map(\.payload.isEmpty) ?? false
        }
        guard isSettled else { throw NotInTime() }
    }

    // MARK: What is seen

    /// Waits for a condition while the service looks up again and again, though its clock stands still.
    package func expectEventually(_ condition: () throws -> Bool) async throws {
        let isSo = try await eventually {
            try await settle()
            return try condition()
        }
        guard isSo else { throw NotInTime() }
    }

    /// Waits for something to be there, with the service's clock standing still.
    package func expectSome<Found>(_ find: () throws -> Found?) async throws -> Found {
        var found: Found?
        try await expectEventually {
            found = try find()
            return found != nil
        }
        guard let found else { throw NotInTime() }
        return found
    }

    /// Waits for the reply to what the client `tests` asked for.
    package func reply(to id: CommandID, of user: User) async throws -> Reply {
        let topic = Topic.user(user, .replies(Client("tests")!)).name
        return try await expectSome {
            try broker.published.filter { $0.topic == topic }
                .map { try JSONCoding.decode(Reply.self, from: $0.payload) }.last { $0.id == id }
        }
    }

    /// What a metric shows; `nil` while it shows nothing.
    ///
    /// - Parameter metric: its name, with its labels if it has any.
    package func value(of metric: String) -> Int? {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix("\(metric) ") }
        return line?.split(separator: " ").last.flatMap { Int($0) }
    }
}
