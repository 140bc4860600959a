import Bus
import Hummingbird
import HummingbirdCore
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Synchronization
import Workouts

/// Runs the web server, and reads from the bus which logins have ended.
final class DashboardService: Service {
    private let context: ServiceContext
    private let configuration: DashboardConfiguration
    private let logins: LoginService
    private let connections: Connections
    let bus: BusServer
    private let router: DashboardRouter
    private let onListening: @Sendable (Int) async -> Void
    private let isListening = Atomic(false)
    private let metrics: DashboardMetrics

    /// - Parameters:
    ///   - check: checks a password; by default by connecting to the broker.
    ///   - onListening: receives the web server's port once it accepts requests.
    /// - Throws: if the broker's certificate authorities cannot be read.
    init(
        _ context: ServiceContext, _ configuration: DashboardConfiguration,
        check: (@Sendable (User, Secret) async -> PasswordCheck.Answer)? = nil,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws {
        let brokers = context.configuration.mqtt
        metrics = DashboardMetrics(context.metrics)
        let logins = LoginService(
            cookies: LoginCookies(keys: configuration.loginKeys, isSecure: configuration.isSecure),
            clock: context.clock, logger: context.logger, onRefusal: metrics.loginRefused,
            check: check ?? PasswordCheck(settings: brokers, clock: context.clock).run)
        let connections = Connections(proxy: configuration.trustedProxy)
        let bus = try BusServer(
            logins: logins, connections: connections, metrics: metrics, clock: context.clock,
            brokers: brokers, origins: configuration.origins, own: configuration.origin)
        logins.whenEnded(bus.close)
        router = DashboardRouter(
            logins: logins, files: WebFiles(folder: configuration.webFolder), configuration: configuration,
            clock: context.clock, connections: connections, partitions: brokers.partitions.count)
        self.context = context
        self.configuration = configuration
        self.logins = logins
        self.connections = connections
        self.bus = bus
        self.onListening = onListening
        context.readiness.addCheck("web") { [self] in isListening.load(ordering: .relaxed) }
        context.readiness.addCheck("logins") { [logins] in logins.isReady }
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await self.listen() }
            tasks.addTask { try await self.read() }
            // The first error ends all; waitForAll would wait for the others.
            for try await _ in tasks {}
        }
        await context.bus.flush()
    }

    // MARK: The bus

    private func read() async throws {
        // Of QoS 1 the broker would retain more than it sends at once.
        let filters = [TopicFilter.users(.signedOut), TopicFilter.accounts, TopicFilter.presence(of: "session-engine")]
            .map { MQTTSubscription(filter: $0.filter, qos: .atMostOnce) }
        var rejections = Rejections(service: "dashboard", logger: context.logger)
        var connected = 0
        try await context.serve(reading: filters) { event in
            let now = context.clock.moment
            switch event {
            case .connected: connected += 1
            case .subscribed:
                // A partition that is away confirms at once.
                if connected >= context.configuration.mqtt.partitions.count { logins.receivedRetained() }
            case .disconnected: break
            case nil: logins.tick(now)
            case .batch(let batch):
                var messages: [MQTTMessage] = []
                for message in batch.messages {
                    do throws(PayloadError) {
                        try logins.receive(message, now)
                    } catch {
                        metrics.rejected(error.reason)
                        messages += rejections.reject(message, Rejection(topic: message.topic, error: error), at: now)
                    }
                }
                batch.finish()
                await context.send(messages)
            }
        }
    }

    // MARK: The web

    /// - Throws: `SettingError` when the port cannot be opened.
    private func listen() async throws {
        var logger = context.logger
        if logger.logLevel == .info { logger.logLevel = .notice }
        let application = Application(
            router: router.build(), server: try configuration.server(bus, connections, context.logger),
            configuration: ApplicationConfiguration(address: .hostname(configuration.host, port: configuration.port)),
            onServerRunning: { [self, log = context.logger] channel in
                let port = channel.localAddress?.port ?? configuration.port
                log.info("listening", metadata: [LogKey.address: "\(configuration.host):\(port)"])
                isListening.store(true, ordering: .relaxed)
                await onListening(port)
            },
            logger: logger)
        do {
            try await application.run()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw SettingError(.webPort, host: configuration.host, port: configuration.port, error)
        }
    }
}
