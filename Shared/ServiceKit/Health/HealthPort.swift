import Hummingbird
package import Logging
import ServiceLifecycle

/// Serves `/healthz` (200 while the process lives), `/readyz` (200, or 503 with one line for each thing that is not
/// ready) and `/metrics` (Prometheus' text format).
package struct HealthPort: Service {
    let host: String
    let port: Int
    let readiness: Readiness
    let metrics: PrometheusMetrics
    let logger: Logger
    let onListening: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - port: where to listen; 0 takes any free one.
    ///   - onListening: receives the port once requests are accepted.
    package init(
        host: String, port: Int, readiness: Readiness, metrics: PrometheusMetrics, logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.readiness = readiness
        self.metrics = metrics
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until shutdown.
    /// - Throws: `SettingError` when the port cannot be opened.
    package func run() async throws {
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { await onListening($0.localAddress?.port ?? port) },
            logger: logger)
        do {
            try await application.run()
        } catch {
            throw SettingError(Setting.httpPort.name, "cannot listen on \(host):\(port): \(error)")
        }
    }

    private var router: Router<BasicRequestContext> {
        let router = Router()
        router.get("healthz") { _, _ in "alive\n" }
        router.get("readyz") { [readiness] _, _ in
            let missing = await readiness.missing()
            guard !missing.isEmpty else { return HealthPort.response(.ok, "ready\n") }
            return HealthPort.response(.serviceUnavailable, missing.map { "not ready: \($0)\n" }.joined())
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
