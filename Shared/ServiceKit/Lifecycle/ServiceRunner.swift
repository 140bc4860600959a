import Bus
import CoreMetrics
import Foundation
import Logging
import MQTT
package import ServiceLifecycle
import Synchronization
import UnixSignals
import Workouts

/// Runs the services of an executable, from its settings to its exit.
package enum ServiceRunner {
    /// Resolves the settings, starts log and metrics, builds the services and runs them until they end, SIGTERM or SIGINT.
    ///
    /// The health port and the broker connection start first and stop last. A service publishes its presence; a client ends
    /// when the broker refuses its first login. When one of the built services returns or throws, the others drain, for at
    /// most `drainLimit`.
    ///
    /// - Parameters:
    ///   - isService: whether the executable is a service though it has no store.
    ///   - batchInterval: the minimum time between two batches, if it is not that of ``MQTTConfiguration``.
    ///   - keepAlive: the keep-alive of the broker connection, if it is not that of ``MQTTConfiguration``.
    /// - Throws: the error of a service, a `SettingError`, a ``LoginError`` or a ``DrainError``. If a command's `run`
    ///   rethrows it, the process prints it in one line and exits with 1.
    package static func run(
        _ name: String, _ base: BaseOptions, _ store: StoreOptions? = nil, isService: Bool = false,
        batchInterval: Duration? = nil, keepAlive: Duration? = nil, drainLimit: Duration = .seconds(5),
        build: (ServiceContext) async throws -> [any Service]
    ) async throws {
        var resolved = try ServiceConfiguration.resolve(
            name, base, store, environment: ProcessInfo.processInfo.environment)
        if let keepAlive { resolved.mqtt.keepAlive = keepAlive }
        let configuration = resolved
        configuration.bootstrapLogging()
        let metrics = PrometheusMetrics()
        metrics.describe(MQTTMetricsHelp.texts)
        MetricsSystem.bootstrap(metrics)
        let labels = [("version", pacebusVersion), ("commit", BuildInfo.commit ?? "unknown")]
        Meter(label: "pacebus_build_info", dimensions: labels, factory: metrics).set(1)
        if store != nil { metrics.collect { configuration.store.metrics } }
        do {
            try await run(
                configuration, announced: store != nil || isService, hasStore: store != nil, batchInterval, drainLimit,
                metrics, build)
        } catch let error as MQTTError {
            throw LoginError(configuration, error)
        }
    }

    private static func run(
        _ configuration: ServiceConfiguration, announced: Bool, hasStore: Bool, _ batchInterval: Duration?,
        _ drainLimit: Duration, _ metrics: PrometheusMetrics,
        _ build: (ServiceContext) async throws -> [any Service]
    ) async throws {
        let clock = SystemClock()
        let logger = Logger(label: configuration.logName)
        let limits = Limits(logger: logger, metrics: metrics)
        var mqtt = configuration.mqtt
        mqtt.endsWhenRefused = !announced
        if let batchInterval { mqtt.batchInterval = batchInterval }
        mqtt.readInterval = mqtt.batchInterval / 4
        if announced {
            mqtt.will = Presence.will(configuration, at: clock.now)
            mqtt.queueRule = Topic.queueRule
            limits.begin(QueueLimit.allCases.map(\.name))
            mqtt.onExcess = { excess, count in
                guard let user = User(excess.owner) else { return }
                limits.reached(excess.limit.name, by: user, at: clock.moment, count: count)
            }
        }
        let clients = mqtt.partitions.map { MQTTClient(configuration: $0, logger: logger) }
        let bus: any MessageBus =
            clients.count == 1
            ? clients[0] : PartitionedBus(clients) { Topic.partition(of: $0, among: clients.count) }
        var context = ServiceContext(
            configuration: configuration, logger: logger, bus: bus, clock: clock, metrics: metrics)
        context.limits = limits
        if announced { context.presence = Presence(configuration: configuration, clock: clock, bus: bus) }
        context.readiness.addChecks(
            oneOf: clients.enumerated().map { index, client in
                (clients.count == 1 ? "broker" : "broker-\(index + 1)", { client.isReady })
            })

        var started: Logger.Metadata = [
            LogKey.version: "\(pacebusVersion)", LogKey.broker: "\(configuration.broker)",
            LogKey.instance: "\(configuration.instance)",
        ]
        if hasStore {
            started[LogKey.store] = "\(configuration.store)"
            started[LogKey.shards] = "\(configuration.shards)"
        }
        // A client's start is logged at debug only.
        logger.log(level: announced ? .info : .debug, "starting", metadata: started)

        var services: [any Service] = []
        // A process whose port is taken has not started.
        let (start, listening) = AsyncStream<Never>.makeStream()
        if configuration.httpPort != 0 {
            services.append(healthPort(context) { _ in listening.finish() })
        } else {
            listening.finish()
        }
        let notifier = SystemdNotifier(
            environment: ProcessInfo.processInfo.environment, liveness: context.liveness, readiness: context.readiness,
            clock: clock, start: start)
        if let notifier { services.append(notifier) }
        services += clients
        if let presence = context.presence { services.append(presence) }
        services += try await build(context)
        try await drain(services, within: drainLimit, logger)
    }

    private static func healthPort(
        _ context: ServiceContext, onListening: @escaping @Sendable (Int) async -> Void
    ) -> HealthPort {
        HealthPort(
            host: context.configuration.httpHost, port: context.configuration.httpPort, readiness: context.readiness,
            liveness: context.liveness, metrics: context.metrics, logger: quiet(context.logger),
            onListening: onListening)
    }

    private static func drain(
        _ services: [any Service], within limit: Duration, _ logger: Logger
    ) async throws {
        let watch = DrainWatch()
        var group = ServiceGroupConfiguration(
            services: ([watch] + services).map {
                .init(
                    service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup)
            },
            gracefulShutdownSignals: [.sigterm, .sigint], logger: quiet(logger))
        group.maximumGracefulShutdownDuration = limit
        do {
            try await ServiceGroup(configuration: group).run()
        } catch is CancellationError {
            throw DrainError()
        }
        // A canceled service may end without an error.
        if watch.isCanceled { throw DrainError() }
    }

    /// Libraries log details at `info` that operators do not need.
    private static func quiet(_ logger: Logger) -> Logger {
        var quiet = logger
        if quiet.logLevel == .info { quiet.logLevel = .notice }
        return quiet
    }
}

/// Detects that the drain took too long: the group stops services from last to first, so a cancellation reaches the
/// first one too.
private final class DrainWatch: Service {
    private let wasCanceled = Atomic(false)

    func run() async throws {
        do {
            try await gracefulShutdown()
        } catch {
            wasCanceled.store(true, ordering: .relaxed)
            throw error
        }
    }

    var isCanceled: Bool { wasCanceled.load(ordering: .relaxed) }
}

/// The broker cannot accept this client's settings.
package struct LoginError: Error, CustomStringConvertible {
    package let description: String

    init(_ configuration: ServiceConfiguration, _ error: MQTTError) {
        let hint: String
        switch error {
        case .handshakeFailed:
            hint =
                "name the authority of the broker's certificate with --mqtt-ca-file (MQTT_CA_FILE), and check that the port is "
                + "that of TLS"
        case .refused where configuration.mqtt.password == nil:
            hint = "no password is set; write it to a file and name that in MQTT_PASSWORD_FILE"
        default: hint = "check the user in --mqtt-url (MQTT_URL) and the password in MQTT_PASSWORD_FILE"
        }
        description = "cannot connect to \(configuration.broker): \(error); \(hint)"
    }
}

/// The services did not stop in time and were canceled.
package struct DrainError: Error, CustomStringConvertible {
    package var description: String { "shutdown timed out; running work was canceled" }
}
