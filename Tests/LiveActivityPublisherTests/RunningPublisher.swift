import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import TestSupport
import Workouts

@testable import LiveActivityPublisher

/// The service on a broker in this process, a store of the test's, an APNs on the loopback, and a clock that stands still.
struct RunningPublisher {
    enum Ending {
        /// As after SIGTERM.
        case drain
        /// As after SIGKILL: from one moment on nothing is written, sent or awaited any more.
        case kill
    }

    let broker: InMemoryBroker
    let clock: ManualClock
    let metrics: PrometheusMetrics
    let log: LogRecorder
    let store: RefusingStore
    private let client: InMemoryBus

    /// A clock that is half an hour behind: an APNs with the time of day takes what it signs until it is half an hour ahead.
    static func clock() -> ManualClock {
        ManualClock(now: Timestamp(seconds: (SystemClock().now.seconds - 1_800).rounded(.down)))
    }

    /// Runs the service on what is in a folder while `body` runs, and waits for its end.
    ///
    /// - Parameter server: who takes the pushes; `nil` when there is no key.
    static func run(
        in folder: TemporaryFolder, _ server: APNsServer?, broker: InMemoryBroker = InMemoryBroker(),
        clock: ManualClock = clock(), shards: ShardSelection = .all, limits: APNsClient.Limits = APNsWorld.patient,
        ending: Ending = .drain, _ body: (RunningPublisher) async throws -> Void
    ) async throws {
        var configuration = ServiceConfiguration(name: "live-activity-publisher")
        configuration.store = .sqlite(path: folder.file("activities.sqlite"))
        configuration.shards = shards
        let (log, bus) = (LogRecorder(), broker.client())
        let context = ServiceContext(configuration: configuration, logger: log.logger, bus: bus, clock: clock)
        let store = RefusingStore(try await openStore(context))
        let apns = try server.map {
            APNsConfiguration(account: try APNsWorld.account($0), url: $0.url, caFile: $0.caFile)
        }
        let service = LiveActivityService(
            context: context, configuration: apns ?? APNsConfiguration(), store: store, limits: limits)
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        let running = RunningPublisher(
            broker: broker, clock: clock, metrics: context.metrics, log: log, store: store, client: broker.client())
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

    /// A process that was killed may hold its store for a moment yet, while the last of it goes.
    private static func openStore(_ context: ServiceContext) async throws -> any Store {
        var store: (any Store)?
        _ = try await eventually {
            do throws(StoreError) {
                store = try context.openStore(ActivityRecord.schema)
            } catch {
                guard case .inUse = error else { throw error }
            }
            return store != nil
        }
        guard let store else { throw NotInTime() }
        return store
    }

    // MARK: What happens

    func send(_ messages: MQTTMessage...) async throws {
        try await client.send(messages)
    }

    /// Lets time pass in steps of half a second, and awaits at each what is sent.
    func pass(_ seconds: Double, _ each: () async throws -> Void = {}) async throws {
        for _ in 0..<Int(seconds * 2) {
            try await jump(0.5)
            try await each()
            try await rest()
        }
    }

    /// Lets time pass at once, after what was sent has been handled.
    func jump(_ seconds: Double) async throws {
        try await settle()
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(seconds))
    }

    /// Returns when everything that was sent before has been handled: then the service clears what is nobody's. While the
    /// disk refuses it does not.
    func settle() async throws {
        let topic = Topic.session(SessionKey(User("nobody")!, Self.nobody), .activity)
        try await client.send([topic.message(Array(#"{"revision":1}"#.utf8))])
        let isSettled = await eventually {
            broker.published.last { $0.topic == topic.name }.map(\.payload.isEmpty) ?? false
        }
        guard isSettled else { throw NotInTime() }
    }

    /// Returns when what was due has been sent, its outcomes have been taken and what follows from them stands on the broker,
    /// with the service's clock standing still.
    func rest() async throws {
        try await settle()
        try await expectEventually { value("pushes_in_flight") == 0 }
        // What is published may be held back until the next batch is acknowledged.
        try await settle()
    }

    private static let nobody = SessionID("00000000-0000-4000-8000-000000000000")!

    // MARK: What is seen

    /// Waits for a condition while the service looks up again and again, though its clock stands still.
    func expectEventually(_ condition: () throws -> Bool) async throws {
        let isSo = try await eventually {
            try await settle()
            return try condition()
        }
        guard isSo else { throw NotInTime() }
    }

    /// The status that stands retained.
    func standing(of key: SessionKey) throws -> ActivityStatus? {
        try broker.retained(Topic.session(key, .activity).name)
            .map { try JSONCoding.decode(ActivityStatus.self, from: $0.payload) }
    }

    /// Waits until the activities of a session stand like this.
    func expect(_ status: ActivityStatus.Status, of key: SessionKey) async throws {
        try await expectEventually { try standing(of: key)?.status == status }
    }

    /// Waits for the reply to a registration.
    func reply(to id: CommandID, of user: User) async throws -> Reply {
        let topic = Topic.user(user, .replies(ServiceSession.client)).name
        var found: Reply?
        try await expectEventually {
            found = try broker.published.filter { $0.topic == topic }
                .map { try JSONCoding.decode(Reply.self, from: $0.payload) }.last { $0.id == id }
            return found != nil
        }
        guard let found else { throw NotInTime() }
        return found
    }

    /// What a metric shows; 0 while it shows nothing.
    func value(_ name: String) -> Int {
        let line = metrics.render().split(separator: "\n").first { $0.hasPrefix("pacebus_live_activity_\(name) ") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }

    /// How often this was logged.
    func count(logged line: String) -> Int { log.lines.count { $0.hasPrefix(line) } }

    struct NotInTime: Error {}
}

extension APNsServer {
    /// What was pushed, in order.
    var events: [String] {
        get throws { try requests.compactMap { $0.payload?.aps.event } }
    }
}
