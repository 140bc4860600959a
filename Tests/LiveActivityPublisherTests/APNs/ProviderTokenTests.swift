import Foundation
import JWTKit
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

@Suite(.timeLimit(.minutes(60))) struct ProviderTokenTests {
    private let clock = ManualClock()
    private let token: ProviderToken
    private let key = ES256PrivateKey()

    init() {
        let account = APNsAccount(key: key, keyID: "KEY1234567", teamID: "TEAM123456", bundleID: "org.example.workouts")
        token = ProviderToken(account, clock: clock)
    }

    private struct Claims: JWTPayload {
        let iss: String
        let iat: Int
        func verify(using algorithm: some JWTAlgorithm) {}
    }

    @Test func `a token contains the key id, the team and the issue time`() async throws {
        clock.advance(by: .milliseconds(900))
        let text = try await token.newest().text.value
        let keys = await JWTKeyCollection().add(ecdsa: key.publicKey)
        let claims = try await keys.verify(text, as: Claims.self)
        #expect(claims.iss == "TEAM123456")
        #expect(claims.iat == 1_735_689_600)
        let header = try DefaultJWTParser().parse(Array(text.utf8), as: Claims.self).header
        #expect(header.alg == "ES256")
        #expect(header.kid == "KEY1234567")
    }

    @Test func `a token is reused for forty minutes, then renewed`() async throws {
        let first = try await token.newest()
        clock.advance(by: .seconds(2_399))
        #expect(try await token.newest() == first)
        clock.advance(by: .seconds(1))
        let second = try await token.newest()
        #expect(second.text != first.text)
        #expect(try await token.newest() == second)
    }

    @Test func `a clock far backwards renews the token, a small step does not`() async throws {
        let first = try await token.newest()
        clock.step(by: .seconds(-59))
        #expect(try await token.newest() == first)
        clock.step(by: .seconds(-10))
        // APNs refuses a token from the future.
        #expect(try await token.newest() != first)
    }

    @Test func `a token is replaced once in twenty minutes, however the wall clock steps`() async throws {
        let first = try await token.newest()
        let second = try #require(try await token.replacement(of: first))
        for seconds in [-50, 3_600] {
            clock.step(by: .seconds(seconds))
            #expect(try await token.replacement(of: second) == nil)
        }
        clock.advance(by: .seconds(ProviderToken.shortestLife))
        #expect(try await token.replacement(of: second) != nil)
    }

    @Test func `concurrent requests share one token`() async throws {
        for _ in 0..<20 {
            clock.advance(by: .seconds(ProviderToken.renewal))
            let texts = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await token.newest().text.value } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(texts.count == 1)
        }
    }

    @Test func `concurrent refusals share one replacement token`() async throws {
        let refused = try await token.newest()
        clock.advance(by: .seconds(1))
        let tokens = try await withThrowingTaskGroup(of: ProviderToken.Signed?.self) { group in
            for _ in 0..<50 { group.addTask { try await token.replacement(of: refused) } }
            return try await group.reduce(into: [ProviderToken.Signed?]()) { $0.append($1) }
        }
        #expect(Set(tokens.map { $0?.text.value }).count == 1)
        #expect(tokens[0] != refused && tokens[0] != nil)
    }

    @Test func `a token is replaced at most every twenty minutes`() async throws {
        let first = try await token.newest()
        let second = try #require(try await token.replacement(of: first))
        #expect(try await token.replacement(of: second) == nil)
        clock.advance(by: .seconds(ProviderToken.shortestLife - 1))
        #expect(try await token.replacement(of: second) == nil)
        // A late replacement of the first token returns its successor.
        #expect(try await token.replacement(of: first) == second)
        clock.advance(by: .seconds(1))
        let third = try #require(try await token.replacement(of: second))
        #expect(third != second)
        #expect(try await token.newest() == third)
    }

    @Test func `a canceled request does not cancel the token for others`() async throws {
        let canceled = Task { try await token.newest() }
        canceled.cancel()
        let text = try await token.newest()
        #expect(try await token.newest() == text)
        _ = try? await canceled.value
    }

    @Test func `a token is redacted when printed`() async throws {
        let signed = try await token.newest()
        #expect(!"\(signed)".contains(signed.text.value.prefix(10)))
        #expect(!String(reflecting: signed).contains(signed.text.value.prefix(10)))
    }
}
