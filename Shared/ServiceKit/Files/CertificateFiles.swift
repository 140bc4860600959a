import Foundation
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
        var content: Content
        var change = NIOSSLContextConfigurationOverride.noChanges
        var nextLook = ContinuousClock.now
    }

    /// With the files as they were at first.
    package let configuration: TLSConfiguration
    private let certificateFile: String
    private let keyFile: String
    private let state: Mutex<State>

    /// - Throws: if they are not a certificate and its key.
    package init(certificate certificateFile: String, key keyFile: String) throws {
        (self.certificateFile, self.keyFile) = (certificateFile, keyFile)
        let content = try Content(certificateFile, keyFile)
        configuration = try content.configuration()
        state = Mutex(State(content: content))
    }

    /// What a handshake uses instead of ``configuration``. Reads the files at most once a second, and ignores them while they are
    /// not a certificate and its key.
    package func change(at now: ContinuousClock.Instant) -> NIOSSLContextConfigurationOverride {
        state.withLock { state in
            guard now >= state.nextLook else { return state.change }
            state.nextLook = now + .seconds(1)
            guard let content = try? Content(certificateFile, keyFile), content != state.content else {
                return state.change
            }
            // Invalid files are examined once.
            state.content = content
            if let configuration = try? content.configuration() {
                state.change.certificateChain = configuration.certificateChain
                state.change.privateKey = configuration.privateKey
            }
            return state.change
        }
    }
}
