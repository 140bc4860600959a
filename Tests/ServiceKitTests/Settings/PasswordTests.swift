import ArgumentParser
import Foundation
import MQTT
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct PasswordTests {
    private func resolve(_ flags: [String] = [], _ environment: [String: String]) throws -> ServiceConfiguration {
        try ServiceConfiguration.resolve("device", BaseOptions.parse(flags), environment: environment)
    }

    private func withFile(_ text: String, mode: mode_t, _ body: (String) throws -> Void) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(text, to: "password")
        try #require(chmod(path, mode) == 0)
        try body(path)
    }

    @Test(arguments: ["s3cret", "s3cret\n", "s3cret\r\n"])
    func `the password is the file's text without the newline`(text: String) throws {
        try withFile(text, mode: 0o600) { path in
            let environment = ["MQTT_URL": "mqtt://ann@example.org", "MQTT_PASSWORD_FILE": path]
            let configuration = try resolve([], environment)
            #expect(configuration.mqtt.password?.value == "s3cret")
        }
    }

    @Test func `each connection reads the file again`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("first", to: "password")
        try #require(chmod(path, 0o600) == 0)
        let environment = ["MQTT_URL": "mqtt://ann@example.org", "MQTT_PASSWORD_FILE": path]
        let mqtt = try resolve([], environment).mqtt
        try folder.write("second", to: "password")
        try #require(chmod(path, 0o600) == 0)
        #expect(mqtt.currentPassword()?.value == "second")
        try FileManager.default.removeItem(atPath: path)
        #expect(mqtt.currentPassword() == nil)
        #expect(try resolve([], ["MQTT_URL": "mqtt://ann:x@example.org"]).mqtt.currentPassword() == nil)
    }

    @Test(arguments: [mode_t(0o644), 0o604, 0o640, 0o620])
    func `a password file that other accounts can read or write is refused`(mode: mode_t) throws {
        try withFile("s3cret", mode: mode) { path in
            let environment = ["MQTT_URL": "mqtt://ann@example.org", "MQTT_PASSWORD_FILE": path]
            let error = #expect(throws: SettingError.self) { try resolve([], environment) }
            #expect(
                error?.description
                    == "MQTT_PASSWORD_FILE: other accounts have access to \(path); run: chmod 600 \(path)")
        }
    }

    @Test func `a group may read a file of root, for a process that is not root`() {
        #expect(PasswordFile.isPrivate(mode: 0o440, owner: 0, reader: 10_001))
        #expect(PasswordFile.isPrivate(mode: 0o640, owner: 0, reader: 10_001))
        #expect(PasswordFile.isPrivate(mode: 0o400, owner: 10_001, reader: 10_001))
        // Write access, other accounts, an owner who is not root, and root itself, whose files need no group.
        for mode in [mode_t(0o460), 0o450, 0o444, 0o441, 0o404] {
            #expect(!PasswordFile.isPrivate(mode: mode, owner: 0, reader: 10_001), "\(String(mode, radix: 8))")
        }
        #expect(!PasswordFile.isPrivate(mode: 0o440, owner: 10_001, reader: 10_001))
        #expect(!PasswordFile.isPrivate(mode: 0o440, owner: 0, reader: 0))
    }

    @Test func `the store's password file is refused like the broker's and is in no description`() throws {
        func store(_ path: String) throws -> StoreURL {
            let environment = ["STORE_URL": "postgres://ann@localhost/pacebus", "STORE_PASSWORD_FILE": path]
            return try ServiceConfiguration.resolve(
                "session-engine", BaseOptions.parse([]), StoreOptions.parse([]), environment: environment
            ).store
        }
        try withFile("s3cret", mode: 0o600) { path in
            let url = try store(path)
            #expect("\(url)" == "postgres://ann@localhost/pacebus")
            #expect(!String(reflecting: url).contains("s3cret"))
        }
        try withFile("s3cret", mode: 0o644) { path in
            let error = #expect(throws: SettingError.self) { try store(path) }
            #expect(error?.description.hasPrefix("STORE_PASSWORD_FILE: other accounts have access") == true)
        }
    }

    @Test func `a FIFO instead of a file is refused at once`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        let url = "mqtts://ann@example.org"
        let password = #expect(throws: SettingError.self) {
            try resolve([], ["MQTT_URL": url, "MQTT_PASSWORD_FILE": path])
        }
        #expect(password?.description == "MQTT_PASSWORD_FILE: \(path) is not a regular file")
        let authority = #expect(throws: SettingError.self) {
            try resolve(["--mqtt-ca-file", path], ["MQTT_URL": url])
        }
        #expect(authority?.description == "--mqtt-ca-file (MQTT_CA_FILE): '\(path)' is not a regular file")
    }

    @Test(arguments: [(mode_t(0o600), true), (0o640, false)])
    func `a linked password file is checked at its target`(mode: mode_t, isAccepted: Bool) throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("s3cret", to: "password")
        try #require(chmod(file, mode) == 0)
        try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: file)
        let environment = ["MQTT_URL": "mqtt://ann@example.org", "MQTT_PASSWORD_FILE": folder.file("link")]
        let configuration = try? resolve([], environment)
        #expect((configuration != nil) == isAccepted)
    }

    @Test func `a password file of newlines only is refused`() throws {
        try withFile("\n", mode: 0o600) { path in
            let environment = ["MQTT_URL": "mqtt://ann@example.org", "MQTT_PASSWORD_FILE": path]
            let error = #expect(throws: SettingError.self) { try resolve([], environment) }
            #expect(error?.description == "MQTT_PASSWORD_FILE: \(path) is empty")
        }
    }

    @Test func `an absent password file is refused`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("absent")
        let environment = ["MQTT_URL": "mqtt://ann@example.org", "MQTT_PASSWORD_FILE": path]
        let error = #expect(throws: SettingError.self) { try resolve([], environment) }
        #expect(error?.description == "MQTT_PASSWORD_FILE: cannot read \(path): No such file or directory")
    }

    @Test func `a password without a user is refused`() throws {
        try withFile("s3cret", mode: 0o600) { path in
            let error = #expect(throws: SettingError.self) { try resolve([], ["MQTT_PASSWORD_FILE": path]) }
            #expect(
                error?.description == "--mqtt-url (MQTT_URL): has no user, but a password is set; use mqtt://USER@HOST")
        }
    }

    @Test func `a password in the URL is accepted from the environment and refused in the flag`() throws {
        let url = "mqtt://ann:s3cret@example.org"
        #expect(try resolve([], ["MQTT_URL": url]).mqtt.password?.value == "s3cret")
        let error = #expect(throws: SettingError.self) { try resolve(["--mqtt-url", url], [:]) }
        #expect(
            error?.description
                == """
                --mqtt-url (MQTT_URL): a password in a flag is visible in process lists; write it to a file and name that in \
                MQTT_PASSWORD_FILE
                """)
    }

    @Test(arguments: [
        "mqtt://ann:s3cret@example.org:0", "mqtt://ann:s3cret@", "http://ann:s3cret@example.org",
        "mqtt://ann:s3cret@example.org/path",
    ]) func `an error never quotes a URL that may contain a password`(url: String) throws {
        let error = #expect(throws: SettingError.self) { try resolve([], ["MQTT_URL": url]) }
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func `a configuration never prints its password`() throws {
        let configuration = try resolve([], ["MQTT_URL": "mqtt://ann:s3cret@example.org"])
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(dumped.contains("ann"))
        for text in [dumped, "\(configuration)", String(reflecting: configuration), configuration.broker] {
            #expect(!text.contains("s3cret"))
        }
    }
}
