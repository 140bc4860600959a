import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// An engine that connects more than 6 hours after a session's last event: the session may have items that the engine
/// missed, so it is neither offered nor expired before the engine has received what the services know.
struct OverdueTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let key = SessionKey(User("demo")!, SessionID(UUID()))

    init() throws {
        folder = try TemporaryFolder()
    }

    private func message(_ action: SessionAction) -> MQTTMessage {
        let command = Command(id: CommandID(UUID()), client: Client("c")!, at: clock.now, action: action)
        return Topic.session(key, .command).message(JSONCoding.encode(command))
    }

    private func heard(_ kind: StreamName.Kind, _ count: Int) -> MQTTMessage {
        Topic.session(key, .heard(kind)).message(Heard(count, newest: clock.now).payload)
    }

    private func states(_ messages: [MQTTMessage]) throws -> [SessionState] {
        try messages.payloads(.session(key, .state)).map { try SessionState($0) }
    }

    private func currents(_ messages: [MQTTMessage]) throws -> [CurrentSession] {
        try messages.payloads(.user(key.user, .current)).map { try JSONCoding.decode(CurrentSession.self, from: $0) }
    }

    /// A connected engine that was down for 7 hours, what it published, and the revision of the last `current` before.
    private func restarted() async throws -> (engine: Engine, sent: [MQTTMessage], offered: Int64) {
        var first: Engine? = try await Engine(folder, clock: clock)
        let started = try await first?.deliver([message(.start(SessionStart(activity: .running, countdown: 0)))]) ?? []
        let offer = try #require(try currents(started).last)
        #expect(offer.session == key.session)
        first = nil
        clock.advance(by: .seconds(7 * 3_600))
        var engine = try await Engine(folder, clock: clock)
        let sent = try await engine.connect() + engine.tick()
        return (engine, sent, offer.revision)
    }

    @Test func `it withdraws the offer, and decides as soon as both services reported nothing new`() async throws {
        var (engine, sent, offered) = try await restarted()
        #expect(try states(sent).isEmpty)
        let withdrawn = try #require(try currents(sent).last)
        #expect(withdrawn.session == nil && withdrawn.revision > offered)
        sent = try await engine.deliver([heard(.samples, 0)]) + engine.tick()
        #expect(try states(sent).isEmpty)
        sent = try await engine.deliver([heard(.locations, 0)]) + engine.tick()
        let state = try #require(try states(sent).last)
        #expect(state.status == .canceled && state.endReason == "expired")
        #expect(try currents(sent).allSatisfy { $0.session == nil && $0.revision > withdrawn.revision })
    }

    @Test func `it offers the session again if items came meanwhile`() async throws {
        var (engine, sent, _) = try await restarted()
        let withdrawn = try #require(try currents(sent).last)
        sent = try await engine.deliver([heard(.locations, 0), heard(.samples, 5)]) + engine.tick()
        #expect(try states(sent).map(\.status) == [.active])
        let current = try #require(try currents(sent).last)
        #expect(current.session == key.session && current.revision > withdrawn.revision)
    }

    @Test func `a command shows that the session is in use`() async throws {
        var (engine, sent, _) = try await restarted()
        sent = try await engine.deliver([message(.pause)]) + engine.tick()
        #expect(sent.replies.map(\.ok) == [true])
        #expect(try states(sent).map(\.status) == [.paused])
        #expect(try currents(sent).last?.session == key.session)
    }

    @Test func `without a report it decides after a minute, and offers nothing until then`() async throws {
        var (engine, sent, _) = try await restarted()
        let old = try #require(try currents(sent).last)
        // Retained messages of before.
        let echo = Topic.session(key, .state).message(Array(#"{"revision":1700000000000}"#.utf8))
        sent = try await engine.deliver([echo])
        for _ in 0..<59 {
            clock.advance(by: .seconds(1))
            sent += try await engine.tick()
        }
        #expect(try states(sent).isEmpty)
        #expect(try currents(sent).allSatisfy { $0.session == nil && $0.revision >= old.revision })
        clock.advance(by: .seconds(2))
        #expect(try states(try await engine.tick()).map(\.status) == [.canceled])
    }
}
