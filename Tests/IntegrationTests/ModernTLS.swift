import TestSupport
import Testing

/// Expects that a server accepts TLS 1.3 and TLS 1.2 with AEAD suites, and no other version or suite.
func expectModernTLS(_ port: UInt16, _ folder: TemporaryFolder) async throws {
    for (options, isAccepted) in [
        ("-tls1_3", true), ("-tls1_2 -cipher ECDHE+AESGCM", true), ("-tls1_2 -cipher ECDHE+CHACHA20", true),
        ("-tls1_2 -cipher ALL:!AESGCM:!CHACHA20:!AESCCM:@SECLEVEL=0", false),
        ("-tls1_2 -cipher kRSA:@SECLEVEL=0", false), ("-tls1_1 -cipher ALL:@SECLEVEL=0", false),
    ] {
        let client = ["timeout", "60", "openssl", "s_client", "-connect", "127.0.0.1:\(port)"]
        let process = try ChildProcess(
            client + options.split(separator: " ").map(String.init), log: folder.file("tls.log"))
        #expect(await (process.finish() == 0) == isAccepted, "\(options)")
    }
}
