import Foundation
import MQTT
import TestSupport
import Testing

/// Certificates and passwords that change while the system runs.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct CertificateTests {
    private func text(_ compose: ComposeFolder, _ name: String) throws -> String {
        try String(contentsOfFile: compose.folder.file(name), encoding: .utf8)
    }

    /// Prints the certificate that a new connection gets, or that in a file.
    private func serial(_ source: String) async throws -> String {
        let command = "\(source) 2>/dev/null | openssl x509 -noout -serial"
        return String(decoding: try await ChildProcess.output(of: ["bash", "-c", command]), as: UTF8.self)
    }

    /// Lets the folder's broker look at the certificate.
    private func look(_ compose: ComposeFolder) async throws {
        try compose.folder.write("", to: "data/renew")
        try #require(await eventually { !FileManager.default.fileExists(atPath: compose.folder.file("data/renew")) })
    }

    @Test func `an expiring certificate is renewed while clients are connected, and one of no pair is not used`()
        async throws
    {
        let compose = try ComposeFolder()
        let password = try await compose.addAccount("anna")
        let broker = try await compose.startBroker()
        defer { broker.process.end(SIGTERM) }
        let connect = "timeout 20 openssl s_client -connect 127.0.0.1:\(broker.tlsPort) </dev/null"
        let file = "cat \(compose.folder.file("data/tls/server.crt"))"
        let first = try await serial(connect)
        #expect(try await first == serial(file))

        let topic = "pacebus/v1/u/anna/request"
        // One message ends it.
        let client = try ChildProcess(
            [
                "mosquitto_sub", "-p", "\(broker.tlsPort)", "-h", "127.0.0.1", "-u", "anna", "-P", password.value, "-i",
                "open",
                "--cafile", compose.folder.file("data/tls/ca.crt"), "-t", topic, "-C", "1", "-q", "1",
            ], log: compose.folder.file("client.log"))
        defer { client.end(SIGKILL) }
        func connections() throws -> Int {
            try text(compose, "data/log/mosquitto.log").split(separator: "\n")
                .count { $0.contains("New client connected") && $0.contains(" as open ") }
        }
        #expect(try await eventually { try connections() == 1 })
        try await compose.shell(
            """
            eval "$(declare -f sign_certificate | sed 's/-days 800/-days 300/')"
            cp data/tls/server.ext data/tls/server.ext.new
            sign_certificate
            """)
        let expiring = try await serial(file)
        #expect(expiring != first)
        try await look(compose)
        let renewed = try await serial(file)
        #expect(renewed != expiring)
        #expect(try await eventually { try await serial(connect) == renewed })

        try await compose.shell("mv data/tls/server.key data/tls/server.key.kept; make_key data/tls/server.key")
        try await look(compose)
        #expect(try text(compose, "broker.log").contains("are not a pair"))
        #expect(try await serial(connect) == renewed)

        let plain = [
            "mosquitto_pub", "-p", "\(broker.port)", "-h", "127.0.0.1", "-u", "anna", "-P", password.value, "-t", topic,
            "-m",
            "{}", "-q", "1",
        ]
        try await ChildProcess.run(plain, log: compose.folder.file("sender.log"))
        #expect(await client.finish() == 0)
        #expect(try connections() == 1)
    }

    @Test func `an authority stays when the address is of another machine, and returns when the names do`() async throws
    {
        let compose = try ComposeFolder()
        let text = try await compose.shell(
            """
            need_certificate 127.0.0.1
            cp data/tls/ca.crt first
            for address in 192.0.2.255 no.such.host.invalid; do
                if (need_certificate "$address"); then echo "accepted"; fi
                cmp data/tls/ca.crt first
            done
            need_certificate localhost
            if cmp -s data/tls/ca.crt first; then echo "unchanged"; fi
            openssl verify -CAfile data/tls/ca.crt data/tls/server.crt
            need_certificate 127.0.0.1
            cmp data/tls/ca.crt first
            openssl verify -CAfile data/tls/ca.crt data/tls/server.crt
            # An authority without its key does not return.
            rm data/tls/ca.key
            for address in 0.0.0.0 127.0.0.1; do
                need_certificate "$address"
                openssl verify -CAfile data/tls/ca.crt data/tls/server.crt
            done
            """)
        #expect(text.contains("'no.such.host.invalid' is no address of this machine"), "\(text)")
        #expect(!text.contains("accepted") && !text.contains("unchanged"), "\(text)")
        #expect(text.split(separator: "\n").count { $0 == "data/tls/server.crt: OK" } == 4, "\(text)")
    }

    @Test func `services use new passwords without a restart, and the previous ones end`() async throws {
        let system = try await ComposeSystem.run()
        defer { system.process.end(SIGTERM) }
        let (before, old) = (system.ids, try system.compose.password(of: "_exporter"))
        let (status, output) = try await system.command("user", "rotate-services")
        #expect(status == 0 && output.contains("the previous ones have ended"), "\(output)")
        #expect(try system.compose.password(of: "_exporter") != old)
        #expect(system.ids == before)
        #expect(try await system.command("status").status == 0)
        #expect(try !text(system.compose, "data/broker/passwords").contains("/old:"))
        system.process.send(SIGINT)
        #expect(await system.process.finish() == 0)
    }
}
