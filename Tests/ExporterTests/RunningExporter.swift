import Bus
import Foundation
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import TestSupport
import Workouts

@testable import Exporter

/// The service on a broker in this process, a store and a folder of the test's, and a clock that stands still.
struct RunningExporter {
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
    /// The service's own connection.
    let bus: InMemoryBus
    let folder: TemporaryFolder
    private let client: InMemoryBus

    /// Runs the service on what is in a folder while `body` runs, and waits for its end.
    static func run(
        in folder: TemporaryFolder, upload: ExportConfiguration.Upload? = nil, exports: String? = nil,
        broker: InMemoryBroker = InMemoryBroker(), clock: ManualClock = ManualClock(),
        log: LogRecorder = LogRecorder(), shards: ShardSelection = .all, patience: Duration = UploadTarget.patience,
        ending: Ending = .drain, _ body: (RunningExporter) async throws -> Void
    ) async throws {
        var configuration = ServiceConfiguration(name: "exporter")
        configuration.store = .sqlite(path: folder.file("exporter.sqlite"))
        configuration.shards = shards
        let bus = broker.client()
        let context = ServiceContext(configuration: configuration, logger: log.logger, bus: bus, clock: clock)
        let store = RefusingStore(try await openStore(context))
        let service = ExporterService(
            context: context,
            configuration: ExportConfiguration(folder: exports ?? folder.file("exports"), upload: upload),
            store: store, patience: patience)
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        let running = RunningExporter(
            broker: broker, clock: clock, metrics: context.metrics, log: log, store: store, bus: bus, folder: folder,
            client: broker.client())
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
                store = try context.openStore(ExportRecord.schema)
            } catch {
                guard case .inUse = error else { throw error }
            }
            return store != nil
        }
        guard let store else { throw NotInTime() }
        return store
    }

    // MARK: What happens

    func send(_ messages: [MQTTMessage]) async throws {
        try await client.send(messages)
    }

    func send(_ messages: MQTTMessage...) async throws {
        try await client.send(messages)
    }

    /// Plays the owners of series and track for whoever asked for them.
    ///
    /// - Parameter seen: how many messages had been published when this was last done.
    /// - Returns: how many there are now.
    func answer(_ workouts: [ServiceWorkout], after seen: Int) async throws -> Int {
        let published = broker.published
        for message in published[seen...] where message.payload.contains(#""type":"chunks""#.utf8) {
            let asked = workouts.filter { Topic.session($0.key, .request).name == message.topic }
            try await send(asked.flatMap(\.chunks))
        }
        return published.count
    }

    /// Lets time pass at once, after what was sent has been handled.
    func pass(_ seconds: Double) async throws {
        try await settle()
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(seconds))
    }

    /// Returns when everything that was sent before has been handled: then the service clears what is nobody's. While the
    /// disk refuses it does not.
    func settle() async throws {
        let topic = Topic.session(SessionKey(User("nobody")!, Self.nobody), .export(.folder))
        try await client.send([topic.message(Array(#"{"revision":1}"#.utf8))])
        let isSettled = await eventually {
            broker.published.last { $0.topic == topic.name }.map(\.payload.isEmpty) ?? false
        }
        guard isSettled else { throw NotInTime() }
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

    /// Waits until the status of an export satisfies the condition, with the service's clock standing still.
    @discardableResult
    func status(
        of key: SessionKey, _ target: Target, where condition: (ExportStatus) -> Bool = { $0.status == .done }
    ) async throws -> ExportStatus {
        var found: ExportStatus?
        try await expectEventually {
            found = try standing(of: key, target)
            return found.map(condition) ?? false
        }
        guard let found else { throw NotInTime() }
        return found
    }

    /// The status that stands retained.
    func standing(of key: SessionKey, _ target: Target) throws -> ExportStatus? {
        try broker.retained(Topic.session(key, .export(target)).name)
            .map { try JSONCoding.decode(ExportStatus.self, from: $0.payload) }
    }

    /// Every status of an export that was published, in order.
    func statuses(of key: SessionKey, _ target: Target) throws -> [ExportStatus] {
        try broker.published.filter { $0.topic == Topic.session(key, .export(target)).name && !$0.payload.isEmpty }
            .map { try JSONCoding.decode(ExportStatus.self, from: $0.payload) }
    }

    /// Waits for the reply to a request.
    func reply(to id: CommandID, of user: User) async throws -> Reply {
        let topic = Topic.user(user, .replies(Client("tests")!)).name
        var found: Reply?
        try await expectEventually {
            found = try broker.published.filter { $0.topic == topic }
                .map { try JSONCoding.decode(Reply.self, from: $0.payload) }.last { $0.id == id }
            return found != nil
        }
        guard let found else { throw NotInTime() }
        return found
    }

    /// The files in the folder of exports, by their names below it.
    var files: [String] {
        get throws { try Self.files(in: folder.file("exports")) }
    }

    static func files(in path: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.contains("/") }.sorted()
    }

    func file(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: folder.file("exports/\(name)"))))
    }

    struct NotInTime: Error {}
}
