import HummingbirdCore
import HummingbirdHTTP2
import NIOCore
import NIOSSL
import ServiceKit

extension DashboardConfiguration {
    /// Resolves each setting: flag, then environment variable, then default. An empty variable counts as absent.
    ///
    /// - Throws: `SettingError` for the first invalid setting.
    static func resolve(
        _ options: DashboardOptions, environment: [String: String]
    ) throws(SettingError) -> DashboardConfiguration {
        let values = SettingValues(environment: environment)
        var configuration = DashboardConfiguration()
        configuration.host = values.text(.webHost, options.host) ?? configuration.host
        if let text = values.text(.webPort, options.port) {
            guard let port = UInt16(text) else { throw SettingError(.webPort, refusing: text) }
            configuration.port = Int(port)
        }
        configuration.publicURL = values.text(.publicURL, options.publicURL)
        configuration.certificateFile = try values.file(.tlsCertFile, options.certificateFile)
        configuration.keyFile = try values.file(.tlsKeyFile, options.keyFile)
        configuration.trustedProxy = values.text(.trustedProxy, options.trustedProxy)
        configuration.tileURL = values.text(.tileURL, options.tileURL)
        configuration.tileAttribution = values.text(.tileAttribution, options.tileAttribution)
        configuration.webFolder = values.text(.webFolder, options.webFolder) ?? configuration.webFolder
        return configuration
    }

    /// HTTP/2 and HTTP/1.1 over TLS with a certificate, else HTTP/1.1.
    var server: HTTPServerBuilder {
        get throws {
            guard let certificateFile, let keyFile else { return .http1(configuration: http1) }
            let tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(certificateFile).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: keyFile, format: .pem)))
            return try .http2Upgrade(
                tlsConfiguration: tls, configuration: .init(streamConfiguration: http1))
        }
    }

    private var http1: HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(additionalChannelHandlers: [InputCloseHandler()], idleTimeout: .seconds(60))
    }
}
