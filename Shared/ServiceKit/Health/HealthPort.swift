import Glibc
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// Serves `/livez` (200, or 503 with one line for each loop that hangs), `/readyz` (200, or 503 with one line for each thing
/// that is not ready, and in both cases one for each that the service works without) and `/metrics` (Prometheus' text
/// format). At most ``connections`` are open: a new one closes the oldest, so that clients that send nothing keep none out.
/// Each is closed after `lifetime`, whatever it does.
package struct HealthPort: Service {
    static let connections = 64

    let host: String
    let port: Int
    let readiness: Readiness
    let liveness: Liveness
    let metrics: PrometheusMetrics
    let lifetime: Duration
    let logger: Logger
    let onListening: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - port: where to listen; 0 takes any free one.
    ///   - lifetime: the age at which a connection is closed.
    ///   - onListening: receives the port once requests are accepted.
    package init(
        host: String, port: Int, readiness: Readiness, liveness: Liveness, metrics: PrometheusMetrics,
        lifetime: Duration = .seconds(10), logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.readiness = readiness
        self.liveness = liveness
        self.metrics = metrics
        self.lifetime = lifetime
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until shutdown.
    /// - Throws: `SettingError` when the port cannot be opened.
    package func run() async throws {
        let open = OpenConnections(limit: Self.connections)
        let application = Application(
            router: router,
            server: .http1(
                configuration: .init(additionalChannelHandlers: [LifetimeHandler(TimeAmount(lifetime), open)])),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { await onListening($0.localAddress?.port ?? port) },
            logger: logger)
        do {
            try await application.run()
        } catch {
            throw SettingError(Setting.httpPort, host: host, port: port, error)
        }
    }

    private var router: Router<BasicRequestContext> {
        let router = Router()
        router.add(middleware: HostCheck<BasicRequestContext>())
        router.get("livez") { [liveness] _, _ in
            let hung = liveness.hung
            guard !hung.isEmpty else { return HealthPort.response(.ok, "alive\n") }
            return HealthPort.response(.serviceUnavailable, hung.map { "hung: \($0)\n" }.joined())
        }
        router.get("readyz") { [readiness] _, _ in
            let report = await readiness.report()
            let degraded = report.degraded.map { "degraded: \($0)\n" }.joined()
            guard !report.missing.isEmpty else { return HealthPort.response(.ok, "ready\n" + degraded) }
            let missing = report.missing.map { "not ready: \($0)\n" }.joined()
            return HealthPort.response(.serviceUnavailable, missing + degraded)
        }
        router.get("metrics") { [metrics] _, _ in
            HealthPort.response(.ok, metrics.render(), type: "text/plain; version=0.0.4; charset=utf-8")
        }
        return router
    }

    private static func response(
        _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

extension SettingError {
    /// The port cannot be opened.
    package init(_ setting: Setting, host: String, port: Int, _ error: any Error) {
        let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
        self.init(setting, "cannot listen on \(host):\(port): \(reason)")
    }
}

/// Closes its connection after a time. Hummingbird's own idle timeout spares clients that send a byte now and then, or
/// never read the response.
private final class LifetimeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    private let lifetime: TimeAmount
    private let open: OpenConnections
    private var end: Scheduled<Void>?

    init(_ lifetime: TimeAmount, _ open: OpenConnections) {
        self.lifetime = lifetime
        self.open = open
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        open.add(channel)
        end = context.eventLoop.scheduleTask(in: lifetime) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end?.cancel()
    }
}

/// The open connections, the oldest first. Requests take milliseconds, so the oldest is one that idles.
private final class OpenConnections: Sendable {
    private let limit: Int
    private let channels = Mutex<[any Channel]>([])

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a connection and closes the oldest above the limit.
    func add(_ channel: any Channel) {
        let oldest = channels.withLock { channels -> (any Channel)? in
            channels.append(channel)
            return channels.count > limit ? channels.removeFirst() : nil
        }
        oldest?.close(promise: nil)
        channel.closeFuture.whenComplete { _ in self.channels.withLock { $0.removeAll { $0 === channel } } }
    }
}
