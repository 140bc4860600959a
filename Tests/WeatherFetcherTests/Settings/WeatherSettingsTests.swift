import ArgumentParser
import Foundation
import ServiceKit
import TestSupport
import Testing

@testable import WeatherFetcher

struct WeatherSettingsTests {
    private func resolve(_ arguments: [String], _ environment: [String: String] = [:]) throws -> WeatherConfiguration {
        try WeatherConfiguration.resolve(try WeatherOptions.parse(arguments), environment: environment)
    }

    private func problem(_ arguments: [String], _ environment: [String: String] = [:]) -> String? {
        do {
            _ = try resolve(arguments, environment)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `Open-Meteo is the default, and a flag overrides its variable`() throws {
        #expect(try resolve([]).provider is OpenMeteo)
        #expect(try resolve([], ["WEATHER_PROVIDER": ""]).provider is OpenMeteo)
        #expect(try resolve([], ["WEATHER_PROVIDER": "none"]).provider == nil)
        #expect(try resolve(["--weather-provider", "open-meteo"], ["WEATHER_PROVIDER": "none"]).provider is OpenMeteo)
        #expect(
            try resolve([], ["WEATHER_PROVIDER": "met-norway", "WEATHER_CONTACT": "ops@example.org"]).provider
                is METNorway)
        #expect(try resolve(["--weather-url", "http://[::1]:8080/meteo/"]).url == "http://[::1]:8080/meteo")
    }

    @Test func `WeatherKit reads its key from a file`() async throws {
        let key = try await WeatherKitKey()
        let arguments = [
            "--weather-provider", "weatherkit", "--weatherkit-key-file", key.path, "--weatherkit-key-id", "KEY1234567",
            "--weatherkit-team-id", "TEAM123456",
        ]
        let environment = ["WEATHERKIT_SERVICE_ID": "org.example.weather"]
        #expect(try resolve(arguments, environment).provider is WeatherKit)
        for index in [2, 4, 6] {
            var fewer = arguments
            let flag = fewer[index]
            fewer.removeSubrange(index...index + 1)
            #expect(problem(fewer, environment)?.hasPrefix("\(flag) (") == true)
        }
        #expect(problem(arguments)?.hasPrefix("--weatherkit-service-id (WEATHERKIT_SERVICE_ID): is missing") == true)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key.path)
        #expect(problem(arguments, environment)?.contains("run: chmod 600 \(key.path)") == true)
    }

    @Test func `an invalid key file is refused at start`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("-----BEGIN PRIVATE KEY-----\nno\n", to: "key")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let arguments = [
            "--weather-provider", "weatherkit", "--weatherkit-key-id", "K", "--weatherkit-team-id", "T",
            "--weatherkit-service-id", "s", "--weatherkit-key-file",
        ]
        #expect(problem(arguments + [path])?.contains("contains no P-256 key") == true)
        #expect(problem(arguments + [folder.file("none")])?.contains("cannot read") == true)
    }

    @Test(arguments: [
        (["--weather-provider", "oracle"], "--weather-provider (WEATHER_PROVIDER): 'oracle' is not accepted"),
        (["--weather-provider", "met-norway"], "--weather-contact (WEATHER_CONTACT): is missing"),
        (["--weather-contact", "a b"], "--weather-contact (WEATHER_CONTACT): 'a b' is not accepted"),
        (["--weather-contact", "a\r\nX: y"], "--weather-contact (WEATHER_CONTACT): "),
        (["--weather-url", "ftp://example.org"], "--weather-url (WEATHER_URL): is not accepted"),
        (["--weather-url", "https://"], "--weather-url (WEATHER_URL): "),
        (["--weather-url", "https://example.org/?key=1"], "--weather-url (WEATHER_URL): "),
        (["--weather-url", "example.org"], "--weather-url (WEATHER_URL): "),
    ])
    func `an invalid setting is refused at start in one line that names it`(arguments: [String], line: String) {
        let problem = problem(arguments)
        #expect(problem?.hasPrefix(line) == true, "\(problem ?? "accepted")")
        #expect(problem?.contains("\n") == (arguments[1].contains("\n") ? true : false))
    }

    @Test func `help lists each setting with its variable and default`() {
        let help = WeatherFetcher.helpMessage(columns: 1_000)
        for setting in [
            Setting.weatherProvider, .weatherURL, .weatherContact, .weatherKitKeyFile, .weatherKitKeyID,
            .weatherKitTeam,
            .weatherKitService,
        ] {
            #expect(help.contains("--\(setting.flag) "))
            #expect(help.contains("(env: \(setting.variable), default: \(setting.standard))"), "\(setting.flag)")
        }
        #expect(help.contains("--mqtt-url"))
    }
}
