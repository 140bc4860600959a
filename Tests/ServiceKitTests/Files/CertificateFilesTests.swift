import Foundation
import NIOSSL
import TestSupport
import Testing

@testable import ServiceKit

struct CertificateFilesTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Creates `NAME.crt` and `NAME.key`.
    private func create(_ name: String) async throws {
        try await ChildProcess.run(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "2", "-subj", "/CN=\(name)", "-keyout", folder.file("\(name).key"), "-out",
                folder.file("\(name).crt"),
            ], log: folder.file("openssl.log"))
    }

    private func replace(_ name: String, by other: String) throws {
        let data = try Data(contentsOf: URL(filePath: folder.file(other)))
        try data.write(to: URL(filePath: folder.file(name)), options: .atomic)
    }

    private func chain(_ name: String) throws -> [NIOSSLCertificateSource] {
        try NIOSSLCertificate.fromPEMFile(folder.file("\(name).crt")).map { .certificate($0) }
    }

    @Test func `handshakes use replaced files a second later, and only while they belong together`() async throws {
        for name in ["first", "second", "used"] { try await create(name) }
        for file in ["crt", "key"] { try replace("used.\(file)", by: "first.\(file)") }
        let log = LogRecorder()
        let files = try CertificateFiles(
            certificate: folder.file("used.crt"), key: folder.file("used.key"), logger: log.logger)
        #expect(try files.configuration.certificateChain == chain("first"))
        let now = ContinuousClock.now + .seconds(10)
        #expect(files.change(at: now).certificateChain == nil)
        try replace("used.key", by: "second.key")
        #expect(files.change(at: now + .seconds(1)).certificateChain == nil)
        try replace("used.crt", by: "second.crt")
        #expect(files.change(at: now + .milliseconds(1_900)).certificateChain == nil)
        #expect(try files.change(at: now + .seconds(2)).certificateChain == chain("second"))
        #expect(files.change(at: now + .seconds(2)).privateKey != nil)
        try FileManager.default.removeItem(atPath: folder.file("used.crt"))
        for second in 3...5 {
            #expect(try files.change(at: now + .seconds(second)).certificateChain == chain("second"))
        }
        // Of the key alone, and of the file that is gone.
        let line = "warning not a certificate and its key, using the former ones file=\(folder.file("used.crt"))"
        #expect(log.lines == [line, line])
    }

    @Test func `a certificate with another one's key is refused at the start`() async throws {
        for name in ["first", "second"] { try await create(name) }
        #expect(throws: (any Error).self) {
            try CertificateFiles(certificate: folder.file("first.crt"), key: folder.file("second.key"), logger: .silent)
        }
    }
}
