import MQTT
import TestSupport
import Testing

/// The client and mosquitto over TLS, with generated authorities.
@Suite(.serialized, .timeLimit(.minutes(60))) struct TLSTests {
    /// An authority with certificates for the broker (127.0.0.1, localhost) and a client.
    private struct Authority {
        let folder: TemporaryFolder
        var certificate: String { folder.file("ca.pem") }

        init() async throws {
            folder = try TemporaryFolder()
            try await openssl(
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=Test authority", "-keyout", folder.file("ca.key"), "-out", certificate)
            try await issue("broker", extensions: "subjectAltName=IP:127.0.0.1,DNS:localhost")
            try await issue("client", extensions: "extendedKeyUsage=clientAuth")
        }

        private func issue(_ name: String, extensions: String) async throws {
            let request = folder.file("\(name).csr")
            try folder.write(extensions + "\n", to: "\(name).ext")
            try await openssl(
                "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                "/CN=\(name)", "-keyout", folder.file("\(name).key"), "-out", request)
            try await openssl(
                "x509", "-req", "-in", request, "-CA", certificate, "-CAkey", folder.file("ca.key"),
                "-CAcreateserial", "-days", "2", "-extfile", folder.file("\(name).ext"), "-out",
                folder.file("\(name).pem"))
        }

        private func openssl(_ arguments: String...) async throws {
            try await ChildProcess.run(["openssl"] + arguments, log: folder.file("openssl.log"))
        }

        func broker(_ lines: [String] = []) async throws -> Mosquitto {
            var settings = Mosquitto.Settings()
            settings.lines = [
                "cafile \(certificate)", "certfile \(folder.file("broker.pem"))",
                "keyfile \(folder.file("broker.key"))",
            ]
            settings.lines += lines
            return try await Mosquitto(settings)
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `with a trusted authority messages pass over TLS`(host: String) async throws {
        let authority = try await Authority()
        let broker = try await authority.broker()
        var configuration = testConfiguration(port: broker.port)
        configuration.host = host
        configuration.tls = .init(caFile: authority.certificate)
        try await withRunningClient(configuration) { client in
            try await withRecorder(client, ["a"]) { recorder in
                let expected = (0..<2_000).map { "\($0)" }
                try await client.send(expected.map { MQTTMessage("a", $0) })
                try await expectEventually { recorder.texts.count == expected.count }
                #expect(recorder.texts == expected)
            }
        }
    }

    @Test func `a broker of another authority is refused and the log has the reason`() async throws {
        let authority = try await Authority()
        let other = try await Authority()
        let broker = try await authority.broker()
        let log = LogRecorder()
        var configuration = testConfiguration(port: broker.port)
        configuration.tls = .init(caFile: other.certificate)
        try await withRunning(MQTTClient(configuration: configuration, logger: log.logger)) { client in
            try await expectEventually { log.lines.count { $0.contains("certificate verify failed") } >= 2 }
            #expect(!client.isReady)
        }
    }

    @Test func `without an authority file the system's authorities refuse the test's broker`() async throws {
        let authority = try await Authority()
        let broker = try await authority.broker()
        let log = LogRecorder()
        var configuration = testConfiguration(port: broker.port)
        configuration.tls = .init()
        try await withRunning(MQTTClient(configuration: configuration, logger: log.logger)) { client in
            let isRefused = await eventually { log.lines.contains { $0.contains("certificate verify failed") } }
            #expect(isRefused, "\(log.lines)")
            #expect(!client.isReady)
        }
    }

    @Test func `a client certificate identifies the client`() async throws {
        let authority = try await Authority()
        let broker = try await authority.broker(["require_certificate true", "use_identity_as_username true"])
        var configuration = testConfiguration(port: broker.port)
        configuration.tls = .init(
            caFile: authority.certificate, certificateFile: authority.folder.file("client.pem"),
            keyFile: authority.folder.file("client.key"))
        try await withRunningClient(configuration) { client in
            try await expectEventually { client.isReady }
            try await client.publish(MQTTMessage("a", "x"))
        }
    }

    @Test func `a missing authority file is logged as an error`() async throws {
        let log = LogRecorder()
        var configuration = testConfiguration(port: 1)
        configuration.tls = .init(caFile: "/nowhere/ca.pem")
        try await withRunning(MQTTClient(configuration: configuration, logger: log.logger)) { _ in
            try await expectEventually {
                log.lines.contains { $0.hasPrefix("error") && $0.contains("certificate files") }
            }
        }
    }
}
