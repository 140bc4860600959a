import Bus
import Hummingbird
import HummingbirdCore
import Logging
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization

/// Runs the loop on the bus and the web server.
struct DashboardService: Service {
    /// The maximum number of open connections; more wait.
    private static let connections = 3_000

    let parts: DashboardParts
    let onListening: @Sendable (Int) async -> Void
    private let isListening = Listening()

    init(parts: DashboardParts, onListening: @escaping @Sendable (Int) async -> Void) {
        self.parts = parts
        self.onListening = onListening
        parts.context.readiness.addCheck("web") { [isListening] in isListening.value.load(ordering: .relaxed) }
    }

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { writing in
            writing.addTask { try await parts.records.run() }
            // The last changes are written after the last request.
            defer { parts.records.stop() }
            try await work()
        }
        await parts.context.close(parts.store)
    }

    private func work() async throws {
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await serve() }
                tasks.addTask { try await listen() }
                tasks.addTask { try await parts.logins.run() }
                tasks.addTask { try await parts.connections.run(onRefused: parts.logins.refused) }
                tasks.addTask { try await parts.operators.connection.run(onRefused: parts.logins.refused) }
                // The first error ends all; waitForAll would wait for the others.
                for try await _ in tasks {}
            }
        } onGracefulShutdown: {
            parts.hub.endAll()
        }
    }

    private func serve() async throws {
        var loop = DashboardLoop(parts)
        let hub = parts.hub
        try await parts.context.serve(
            store: parts.store, subscriptions: { _ in hub.subscriptions + [TopicFilter.accounts] },
            haveChanged: hub.takeSubscriptionChange, haveBeenGranted: hub.subscriptionChangeGranted,
            { try await loop.handle($0) })
    }

    /// - Throws: `SettingError` when the port cannot be opened.
    private func listen() async throws {
        let configuration = parts.configuration
        var logger = parts.context.logger
        if logger.logLevel == .info { logger.logLevel = .notice }
        let application = Application(
            router: DashboardRouter.build(parts), server: try configuration.server,
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                availableConnectionsDelegate: MaximumAvailableConnections(Self.connections, logger: logger)),
            onServerRunning: { [onListening, isListening, log = parts.context.logger] channel in
                let port = channel.localAddress?.port ?? configuration.port
                log.info("listening", metadata: [LogKey.address: "\(configuration.host):\(port)"])
                isListening.value.store(true, ordering: .relaxed)
                await onListening(port)
            },
            logger: logger)
        do {
            try await application.run()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw SettingError(.webPort, "cannot listen on \(configuration.host):\(configuration.port): \(error)")
        }
    }
}

/// Whether the web server accepts requests.
private final class Listening: Sendable {
    let value = Atomic(false)
}
