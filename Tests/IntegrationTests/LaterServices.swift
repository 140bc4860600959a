import Foundation
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import TestSupport
import Workouts

@testable import MetricsAggregator
@testable import RouteBuilder
@testable import SessionEngine
@testable import Streams

/// The services inside the test process, on an installation's stores and broker, a day later. The clock of a child
/// process cannot be set.
enum LaterServices {
    /// The system's clock with the wall clock moved forwards.
    private struct LaterClock: WallClock {
        let by: Double
        private let system = SystemClock()

        init(by: Double) {
            self.by = by
        }

        var moment: Moment {
            let moment = system.moment
            return Moment(wallClock: moment.wallClock + by, uptime: moment.uptime)
        }

        func wait(for duration: Duration) async throws {
            try await system.wait(for: duration)
        }
    }

    /// Runs the services until the body returns.
    static func run(after seconds: Double, of installation: Installation, _ body: () async throws -> Void) async throws
    {
        let clock = LaterClock(by: seconds)
        func context(_ name: String) -> ServiceContext {
            var mqtt = MQTTConfiguration(clientID: "\(name)-\(UUID())")
            mqtt.port = installation.broker.port
            return ServiceContext(
                configuration: ServiceConfiguration(name: name), logger: .silent,
                bus: MQTTClient(configuration: mqtt, logger: .silent), clock: clock)
        }
        func store(_ name: String, _ schema: StoreSchema) throws -> SQLiteStore {
            try SQLiteStore(path: installation.folder.file("\(name).sqlite"), schema: schema, shards: Set(Shard.all))
        }
        let contexts = ["session-engine", SampleWork.service, RouteWork.service].map(context)
        let services: [any Service] = [
            try SessionEngine.build(
                contexts[0], asksCoach: false, store: try store("session-engine", SessionRecord.schema)),
            try MetricsAggregator.build(
                contexts[1], store: try store(SampleWork.service, StreamStore.schema(SampleWork.service))),
            try RouteBuilder.build(
                contexts[2], store: try store(RouteWork.service, StreamStore.schema(RouteWork.service))),
        ]
        let group = ServiceGroup(services: contexts.compactMap { $0.bus as? MQTTClient } + services, logger: .silent)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            do {
                try await body()
            } catch {
                tasks.cancelAll()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}
