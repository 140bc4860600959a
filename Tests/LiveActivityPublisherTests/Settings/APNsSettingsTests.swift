import ArgumentParser
import Foundation
import JWTKit
import ServiceKit
import TestSupport
import Testing

@testable import LiveActivityPublisher

struct APNsSettingsTests {
    private let folder: TemporaryFolder
    private let all: [String]

    init() throws {
        folder = try TemporaryFolder()
        let path = try folder.write(ES256PrivateKey().pemRepresentation, to: "AuthKey.p8")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        all = [
            "--apns-key-file", path, "--apns-key-id", "KEY1234567", "--apns-team-id", "TEAM123456", "--apns-bundle-id",
            "org.example.work-outs",
        ]
    }

    private func resolve(_ arguments: [String], _ environment: [String: String] = [:]) throws -> APNsConfiguration {
        try APNsConfiguration.resolve(try APNsOptions.parse(arguments), environment: environment)
    }

    private func problem(_ arguments: [String], _ environment: [String: String] = [:]) -> String {
        do {
            _ = try resolve(arguments, environment)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `without a key, no pushes are sent`() throws {
        for environment in [[:], ["APNS_KEY_FILE": "", "APNS_TEAM_ID": ""]] {
            let configuration = try resolve([], environment)
            #expect(configuration.account == nil)
            #expect(configuration.url == nil && configuration.caFile == nil)
        }
    }

    @Test func `four settings form an account, and a flag overrides its variable`() throws {
        let account = try #require(try resolve(all, ["APNS_KEY_ID": "OTHER12345"]).account)
        #expect(account.keyID == "KEY1234567")
        #expect(account.teamID == "TEAM123456")
        #expect(account.liveActivityTopic == "org.example.work-outs.push-type.liveactivity")
        let environment = [
            "APNS_KEY_FILE": all[1], "APNS_KEY_ID": "OTHER12345", "APNS_TEAM_ID": "team123456", "APNS_BUNDLE_ID": "app",
        ]
        let other = try #require(try resolve([], environment).account)
        #expect(other.keyID == "OTHER12345")
        #expect(other.liveActivityTopic == "app.push-type.liveactivity")
    }

    @Test(arguments: [0, 2, 4, 6])
    func `one of the four settings requires the others`(index: Int) {
        var fewer = all
        let flag = fewer[index]
        fewer.removeSubrange(index...index + 1)
        #expect(problem(fewer).hasPrefix("\(flag) ("))
        #expect(
            problem(fewer).hasSuffix(
                ": is missing; set all four or none of --apns-key-file, --apns-key-id, --apns-team-id, --apns-bundle-id"
            ))
        #expect(problem(Array(all[index...index + 1])).contains("is missing"))
    }

    @Test(arguments: [
        ("--apns-key-id", "KEY123456"), ("--apns-key-id", "KEY12345678"), ("--apns-key-id", "KEY 123456"),
        ("--apns-key-id", "KEY123456\n"), ("--apns-team-id", "org.example.team"), ("--apns-team-id", "TEÄM12345"),
        ("--apns-team-id", ""), ("--apns-bundle-id", ""), ("--apns-bundle-id", "org example"),
        ("--apns-bundle-id", "org.example\r\nx: y"), ("--apns-bundle-id", "org.exämple"),
    ])
    func `an invalid identifier is refused at start`(flag: String, text: String) throws {
        var arguments = all
        arguments[try #require(arguments.firstIndex(of: flag)) + 1] = text
        #expect(problem(arguments).hasPrefix("\(flag) ("))
        #expect(problem(arguments).contains(": '\(text)' is not accepted; expected "))
    }

    @Test func `an invalid key file is refused at start without quoting it`() throws {
        var arguments = all
        arguments[1] = folder.file("none")
        #expect(problem(arguments).hasPrefix("--apns-key-file (APNS_KEY_FILE): cannot read "))
        let path = try folder.write("-----BEGIN PRIVATE KEY-----\nMIGTAgEA\n", to: "key")
        arguments[1] = path
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(problem(arguments).hasSuffix("contains no P-256 key; expected Apple's .p8 file"))
        #expect(!problem(arguments).contains("MIGTAgEA"))
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: path)
        #expect(problem(arguments).contains("run: chmod 600 "))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try folder.write("", to: "key")
        #expect(problem(arguments).hasPrefix("--apns-key-file (APNS_KEY_FILE): "))
    }

    @Test func `pushes may use another host, over TLS only`() throws {
        #expect(try resolve(["--apns-url", "https://127.0.0.1:8443/"]).url == "https://127.0.0.1:8443")
        #expect(try resolve([], ["APNS_URL": "https://[::1]:2197"]).url == "https://[::1]:2197")
        for text in [
            "http://127.0.0.1", "https://", "127.0.0.1:443", "https://host:0", "https://host:70000",
            "https://host/path",
            "https://anna:secret@host", "https://host?secret", "https://host#secret", "", "https://a b",
        ] {
            #expect(
                problem(["--apns-url", text])
                    == "--apns-url (APNS_URL): is not accepted; expected https:// with a host, and an optional port",
                "\(text)")
        }
    }

    @Test func `an invalid CA file is refused at start`() throws {
        let setting = "--apns-ca-file (APNS_CA_FILE): "
        #expect(problem(["--apns-ca-file", folder.file("none")]).hasPrefix(setting + "cannot read "))
        #expect(
            problem([], ["APNS_CA_FILE": all[1]]) == setting
                + "'\(all[1])' contains no certificate; expected a PEM file")
    }

    @Test func `help lists each setting`() {
        let help = APNsOptionsCommand.helpMessage()
        for name in ["KEY_FILE", "KEY_ID", "TEAM_ID", "BUNDLE_ID", "URL", "CA_FILE"] {
            #expect(help.contains("APNS_\(name)"))
        }
    }

    private struct APNsOptionsCommand: ParsableCommand {
        @OptionGroup var options: APNsOptions
    }
}
