import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOSSL
import ServiceKit

extension DashboardConfiguration {
    /// HTTP/2 and HTTP/1.1 over TLS with a certificate, else HTTP/1.1. WebSockets come over HTTP/1.1.
    ///
    /// - Throws: `SettingError` if certificate and key are not a pair.
    func server(_ bus: BusServer, _ connections: Connections, _ logger: Logger) throws -> HTTPServerBuilder {
        let http1 = HTTP1Channel.Configuration(
            additionalChannelHandlers: [RequestLimits(), BusUpgrade(bus)])
        guard let certificateFile, let keyFile else {
            return HTTPServerBuilder { responder in
                BoundedChannel(
                    base: HTTP1Channel(responder: responder, configuration: http1), connections: connections)
            }
        }
        do {
            let files = try CertificateFiles(certificate: certificateFile, key: keyFile, logger: logger)
            var tls = files.configuration
            tls.sslContextCallback = { _, promise in promise.succeed(files.change(at: .now)) }
            tls.minimumTLSVersion = .tlsv12
            // As HAProxy's. Those of TLS 1.3 are not configurable, and all as good.
            tls.cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"
            // A builder reads them only once it listens.
            _ = try NIOSSLContext(configuration: tls)
            return HTTPServerBuilder { [tls] responder in
                let channel = try HTTP2UpgradeChannel(
                    tlsConfiguration: tls,
                    configuration: .init(
                        idleTimeout: .nanoseconds(RequestLimits.requestTime.nanoseconds),
                        // Also for HTTP/1.1 over TLS.
                        streamConfiguration: http1),
                    responder: responder)
                return BoundedChannel(base: channel, connections: connections)
            }
        } catch {
            throw SettingError(
                .tlsCertFile,
                "'\(certificateFile)' and '\(keyFile)' are not a certificate and its key in PEM: \(error)")
        }
    }
}
