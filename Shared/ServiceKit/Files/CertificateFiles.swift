import Foundation
package import Logging
package import NIOSSL
import Synchronization

/// A server's certificate and key. Handshakes use replaced files after at most a second; open connections continue with
/// the certificate they began with.
package final class CertificateFiles: Sendable {
    /// A certificate chain and its key, both in PEM.
    private struct Content: Equatable {
        let certificate: [UInt8]
        let key: [UInt8]

        init(_ certificateFile: String, _ keyFile: String) throws {
            certificate = [UInt8](try Data(contentsOf: URL(filePath: certificateFile)))
            key = [UInt8](try Data(contentsOf: URL(filePath: keyFile)))
        }

        /// - Throws: if they are not a certificate and its key.
        func configuration() throws -> TLSConfiguration {
            let configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMBytes(certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(bytes: key, format: .pem)))
            // It compares them.
            _ = try NIOSSLContext(configuration: configuration)
            return configuration
        }
    }

    private struct State {
        /// `nil` if the files cannot be read.
        var content: Content?
        var change = NIOSSLContextConfigurationOverride.noChanges
        var nextLook = ContinuousClock.now
    }

    /// With the files as they were at first.
    package let configuration: TLSConfiguration
    private let certificateFile: String
    private let keyFile: String
    private let logger: Logger
    private let state: Mutex<State>

    /// - Throws: if they are not a certificate and its key.
    package init(certificate certificateFile: String, key keyFile: String, logger: Logger) throws {
        (self.certificateFile, self.keyFile, self.logger) = (certificateFile, keyFile, logger)
        let content = try Content(certificateFile, keyFile)
        configuration = try content.configuration()
        state = Mutex(State(content: content))
    }

    /// What a handshake uses instead of ``configuration``. Reads the files at most once a second. While they are not a certificate
    /// and its key, it keeps the former ones and logs that once.
    package func change(at now: ContinuousClock.Instant) -> NIOSSLContextConfigurationOverride {
        state.withLock { state in
            guard now >= state.nextLook else { return state.change }
            state.nextLook = now + .seconds(1)
            let content = try? Content(certificateFile, keyFile)
            guard content != state.content else { return state.change }
            state.content = content
            guard let configuration = try? content?.configuration() else {
                logger.warning(
                    "not a certificate and its key, using the former ones",
                    metadata: [LogKey.file: "\(certificateFile)"])
                return state.change
            }
            state.change.certificateChain = configuration.certificateChain
            state.change.privateKey = configuration.privateKey
            return state.change
        }
    }
}
