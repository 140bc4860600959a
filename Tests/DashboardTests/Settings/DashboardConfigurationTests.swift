import ArgumentParser
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing

@testable import Dashboard

struct DashboardConfigurationTests {
    private func resolve(_ arguments: [String], _ environment: [String: String] = [:]) throws -> DashboardConfiguration
    {
        try DashboardConfiguration.resolve(try DashboardOptions.parse(arguments), environment: environment)
    }

    @Test
    func `without settings it listens on loopback without TLS and has no tiles`() throws {
        let configuration = try resolve([])
        #expect(configuration.host == "127.0.0.1")
        #expect(configuration.port == 8080)
        #expect(configuration.tiles == nil)
        #expect(configuration.webFolder.hasSuffix("/web"))
    }

    @Test
    func `a flag wins over the environment`() throws {
        let configuration = try resolve(["--web-port", "9000"], ["WEB_PORT": "9001", "WEB_FOLDER": "/tmp/web"])
        #expect(configuration.port == 9000)
        #expect(configuration.webFolder == "/tmp/web")
    }

    @Test(arguments: [
        ["--web-host", "0.0.0.0"], ["--web-host", "::"], ["--web-host", "example.org"],
        ["--web-host", "127.0.0.1.example.org"],
        ["--web-host", "0.0.0.0", "--public-url", "https://example.org"], ["--web-port", "65536"],
        ["--public-url", "http://example.org"], ["--public-url", "https://example.org/path"],
        ["--public-url", "https://a b"], ["--public-url", "http://127.0.0.1.example.org"],
        ["--trusted-proxy", "10.0.0.1"], ["--trusted-proxy", "proxy", "--public-url", "https://example.org"],
        ["--tiles", "https://tiles.example.org/{z}/{x}/{y}.png"], ["--tiles", "https://tiles.example.org T"],
        ["--tiles", "https://tiles.example.org/{z}/{x} T"], ["--tiles", "googlemaps"],
        ["--tiles", "https://tiles.example.org;script-src */{z}{x}{y} T"],
        ["--tls-cert-file", "/etc/passwd"], ["--tls-key-file", "/etc/passwd"], ["--tls-cert-file", "/nothing"],
    ])
    func `a setting that is invalid or unsafe ends the start`(arguments: [String]) {
        #expect(throws: SettingError.self) { try resolve(arguments) }
    }

    @Test(arguments: [
        ["--web-host", "::1"], ["--web-host", "localhost"], ["--web-host", "127.0.0.2"],
        ["--web-host", "0.0.0.0", "--public-url", "http://127.0.0.1:8080/"],
        ["--web-host", "0.0.0.0", "--public-url", "http://[::1]:8080"],
        ["--web-host", "0.0.0.0", "--public-url", "https://example.org", "--trusted-proxy", "10.0.0.1"],
        ["--web-host", "0.0.0.0", "--tls-cert-file", "/etc/passwd", "--tls-key-file", "/etc/passwd"],
    ])
    func `loopback, TLS and a trusted proxy are accepted`(arguments: [String]) throws {
        _ = try resolve(arguments)
    }

    @Test(arguments: [
        ("openstreetmap", "https://tile.openstreetmap.org/{z}/{x}/{y}.png", "© OpenStreetMap contributors"),
        ("https://t.example:8/{z}/{x}/{y}.png A, B", "https://t.example:8/{z}/{x}/{y}.png", "A, B"),
    ])
    func `streets come from a server known by name, or from an address with its attribution`(
        text: String, url: String, attribution: String
    ) throws {
        let tiles = try resolve([], ["TILES": text]).tiles
        #expect(tiles?.url == url && tiles?.attribution == attribution)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("localhost", true), ("::1", true), ("broker", true), ("10.0.0.1", false),
        ("broker.example.org", false), ("2001:db8::1", false),
    ])
    func `without TLS passwords go only to a broker on this machine or a private network`(
        host: String, isAccepted: Bool
    ) {
        var mqtt = MQTTConfiguration(clientID: "test")
        mqtt.host = host
        #expect(((try? DashboardConfiguration.checkBroker(mqtt)) != nil) == isAccepted)
        mqtt.tls = MQTTConfiguration.TLS()
        #expect(throws: Never.self) { try DashboardConfiguration.checkBroker(mqtt) }
    }

    @Test
    func `files that are no certificate and its key end the start`() throws {
        let configuration = try resolve(["--tls-cert-file", "/etc/passwd", "--tls-key-file", "/etc/passwd"])
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "dashboard"), logger: .silent, bus: InMemoryBroker().client())
        let bus = try DashboardService(context, configuration).bus
        #expect(throws: SettingError.self) { try configuration.server(bus, Connections(proxy: nil), .silent) }
    }

    @Test
    func `a key file belongs to its owner, and holds keys alone`() throws {
        let folder = try TemporaryFolder()
        try folder.write(String(repeating: "0a", count: 32) + "\n", to: "key")
        let arguments = ["--login-key-file", folder.file("key")]
        #expect(throws: SettingError.self, "others may read it") { try resolve(arguments) }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file("key"))
        _ = try resolve(arguments)
        try folder.write("secret", to: "key")
        let error = #expect(throws: SettingError.self) { try resolve(arguments) }
        #expect(error.map { "\($0)".contains("64 hex digits") && !"\($0)".contains("secret") } == true)
        #expect(throws: SettingError.self) { try resolve(["--login-key-file", "/nothing"]) }
    }
}
