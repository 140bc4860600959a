import ArgumentParser
import ServiceKit
import Testing

@testable import Dashboard

struct OriginsTests {
    @Test func `only listed pages may connect`() throws {
        let origins = try #require(Origins("https://app.example.org, http://lan:8000"))
        for allowed in ["https://app.example.org", "HTTPS://App.Example.org", "http://lan:8000"] {
            #expect(origins.allows(allowed), "\(allowed)")
        }
        for refused in [
            "null", "", "https://evil.example", "http://localhost", "https://app.example.org.evil",
            "http://app.example.org", "http://lan",
        ] {
            #expect(!origins.allows(refused), "\(refused)")
        }
        #expect(Origins("*")?.allows("https://evil.example") == true)
        #expect(!Origins().allows("https://app.example.org"))
    }

    @Test(arguments: ["app.example.org", "https://", "https://a/b", "https://a/"])
    func `a setting that is no list of origins is refused`(text: String) throws {
        let options = try DashboardOptions.parse(["--websocket-origins", text])
        #expect(throws: SettingError.self) { try DashboardConfiguration.resolve(options, environment: [:]) }
    }
}
