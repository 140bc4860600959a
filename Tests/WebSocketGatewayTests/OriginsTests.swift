import ArgumentParser
import ServiceKit
import Testing

@testable import WebSocketGateway

@Suite struct OriginsTests {
    @Test func `pages of this machine and programs may connect, other pages only if allowed`() throws {
        let origins = try #require(Origins("https://app.example.org,http://lan:8000"))
        for allowed in [
            nil, "http://localhost", "http://localhost:3000", "https://127.0.0.1:3000", "http://[::1]:1",
            "https://app.example.org", "HTTPS://App.Example.org", "http://lan:8000",
        ] {
            #expect(origins.allows(allowed), "\(allowed ?? "none")")
        }
        for refused in [
            "null", "", "https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example",
            "https://app.example.org.evil", "http://app.example.org", "http://lan", "localhost",
        ] {
            #expect(!origins.allows(refused), "\(refused)")
        }
        #expect(Origins("*")?.allows("https://evil.example") == true)
    }

    @Test(arguments: ["app.example.org", "https://", "https://a/b", "https://a/"])
    func `a setting that is no list of origins is refused`(text: String) throws {
        let options = try GatewayOptions.parse(["--websocket-origins", text])
        #expect(throws: SettingError.self) { try GatewayConfiguration.resolve(options, environment: [:]) }
    }
}
