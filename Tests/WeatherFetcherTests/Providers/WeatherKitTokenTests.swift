import TestSupport
import Testing
import Workouts

@testable import WeatherFetcher

@Suite(.timeLimit(.minutes(60))) struct WeatherKitTokenTests {
    private let now = Timestamp(seconds: 1_735_689_600)

    @Test func `openssl verifies a token with the header and claims that Apple requires`() async throws {
        let key = try await WeatherKitKey()
        let token = try await WeatherKitToken(try key.account()).text(now: now)
        #expect(
            try await key.verified(token)
                == WeatherKitKey.Token(
                    header: .init(alg: "ES256", kid: "KEY1234567", id: "TEAM123456.org.example.weather"),
                    claims: .init(
                        iss: "TEAM123456", iat: 1_735_689_600, exp: 1_735_693_200, sub: "org.example.weather")))
    }

    @Test func `openssl rejects a token of another key`() async throws {
        let token = try await WeatherKitToken(try await WeatherKitKey().account()).text(now: now)
        await #expect(throws: ChildProcess.Failure.self) { try await WeatherKitKey().verified(token) }
    }

    @Test func `a token is reused for half an hour, then renewed`() async throws {
        let token = WeatherKitToken(try await WeatherKitKey().account())
        let first = try await token.text(now: now)
        #expect(try await token.text(now: now + 1_799) == first)
        let second = try await token.text(now: now + 1_800)
        #expect(second != first)
        // The clock steps backwards, and Apple refuses a token from the future.
        #expect(try await token.text(now: now) != second)
    }
}
