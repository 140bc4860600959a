import Bus
import Client
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Pacebus

@Suite struct ControlServiceTests {
    private let fixture = ControlFixture()
    private var key: SessionKey { fixture.key }

    private func run(_ arguments: String...) async throws -> String { try await fixture.run(arguments) }

    private func publish(_ topic: Topic, _ payload: [UInt8]) async throws {
        try await fixture.bus.publish(topic.message(payload))
    }

    private var active: SessionState {
        Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: fixture.clock.now - 754,
            now: fixture.clock.now
        )
        .state(revision: 7)
    }

    @Test func `start begins a session and prints it`() async throws {
        let text = try await run("start", "--user", "ann", "--session", "\(key.session)", "--countdown", "0")
        #expect(text == "start: done, session \(key.session) is active, 0:00 active\n")
    }

    @Test func `a refusal is thrown with the engine's message`() async throws {
        let error = await #expect(throws: ControlService.Failure.self) {
            try await run("pause", "--user", "ann", "--session", "\(key.session)")
        }
        #expect(error?.description == Refusal.sessionNotFound.message)
    }

    @Test func `the session defaults to the user's current one`() async throws {
        try await publish(
            .user(key.user, .current), JSONCoding.encode(CurrentSession(revision: 7, state: active)))
        await #expect(throws: ControlService.Failure.refused(.sessionNotFound)) {
            try await run("lap", "--user", "ann")
        }
    }

    @Test func `a command without a current session fails`() async throws {
        await #expect(throws: ControlService.Failure.noCurrentSession(key.user)) {
            try await run("lap", "--user", "ann")
        }
        try await publish(.user(key.user, .current), JSONCoding.encode(CurrentSession(revision: 8, state: nil)))
        await #expect(throws: ControlService.Failure.noCurrentSession(key.user)) {
            try await run("lap", "--user", "ann")
        }
    }

    @Test func `status shows the session with its live metrics`() async throws {
        var metrics = MetricsSnapshot(user: key.user, revision: 3)
        metrics.distance = 2_345.6
        metrics.heartRate = 141.6
        try await publish(.user(key.user, .current), JSONCoding.encode(CurrentSession(revision: 7, state: active)))
        try await publish(.session(key, .state), JSONCoding.encode(active))
        try await publish(.session(key, .metrics), metrics.payload)
        let text = try await run("status", "--user", "ann")
        #expect(text.hasPrefix("Outdoor Running, session \(key.session), is active, 12:34 active\n"))
        #expect(text.contains("  distance: 2.35 km\n  heart rate: 142 bpm\n"))
        #expect(!text.contains("pace"))
        #expect(text.hasSuffix("  possible now: pause, lap, suspend, end, discard\n"))
    }

    @Test func `status shows a silent engine and the age of the state`() async throws {
        let gone = SessionKey(User("bob")!, key.session)
        let publishedAt = fixture.clock.now - 131
        let state = Session(
            key: gone, start: SessionStart(activity: .running, countdown: 0), at: publishedAt, now: publishedAt
        )
        .state(revision: publishedAt.milliseconds)
        try await publish(.session(gone, .state), JSONCoding.encode(state))
        try await publish(.session(gone, .metrics), MetricsSnapshot(user: gone.user, revision: 3).payload)
        let text = try await run("status", "--user", "bob", "--session", "\(gone.session)")
        let silence = "no reply from session-engine, or this account may not send requests; this state is 2:13 old"
        #expect(text.contains("2:13 active\n  \(silence)\n  items: 0\n"))
    }

    @Test func `the clock of a session is the engine's`() async throws {
        let fixture = ControlFixture(faults: .init(clockAhead: 600))
        let arguments = ["--user", "ann", "--session", "\(key.session)"]
        let began = fixture.clock.now + 600
        let state = Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: began - 60, now: began
        )
        .state(revision: 7)
        try await fixture.bus.publish(Topic.session(key, .state).message(JSONCoding.encode(state)))
        let text = try await fixture.run(["status"] + arguments)
        #expect(text.contains("is active, 1:02 active\n"))
    }

    @Test(arguments: [0, 1_000])
    func `a command carries the engine's time, or this machine's without a reply`(
        requestsLost: Int
    ) async throws {
        let fixture = ControlFixture(faults: .init(requestsLost: requestsLost, clockAhead: 3_600))
        let ahead = requestsLost == 0 ? 3_600.0 : 0
        let typed = fixture.clock.now
        let text = try await fixture.run("start", "--countdown", "0")
        #expect(fixture.services.commands.map(\.at) == [typed + ahead])
        #expect(text.hasSuffix(requestsLost == 0 ? "active, 0:00 active\n" : "active, 1:00:02 active\n"))
        let paused = fixture.clock.now
        _ = try await fixture.run("pause")
        #expect(fixture.services.commands.last?.at == paused + ahead)
    }

    @Test func `a lap in an outage counts when it was pressed`() async throws {
        _ = try await run("start", "--user", "ann", "--session", "\(key.session)", "--countdown", "0")
        let (bus, pressed) = (fixture.bus, fixture.clock.now)
        bus.cut()
        let arguments = ["lap", "--user", "ann", "--session", "\(key.session)"]
        try await fixture.run(arguments, to: TerminalRecorder()) { tick in if tick == 140 { bus.connect() } }
        #expect(fixture.services.commands.last?.action == .lap)
        #expect(fixture.services.commands.last?.at == pressed)
        #expect(fixture.clock.now.seconds(since: pressed) >= 7)
    }

    @Test func `the status of an unknown session fails`() async throws {
        await #expect(throws: ControlService.Failure.noSuchSession(key)) {
            try await run("status", "--user", "ann", "--session", "\(key.session)")
        }
    }

    @Test func `a command without a broker fails`() async throws {
        fixture.bus.cut()
        await #expect(throws: ControlService.Failure.noConnection) {
            try await run("pause", "--user", "ann", "--session", "\(key.session)")
        }
    }

    @Test(arguments: [
        ["pause"], ["status"], ["follow"], ["plans"],
        ["start", "--saved-plan", "11111111-2222-4333-8444-123456789abc"],
    ])
    func `a command for a silent engine fails`(action: [String]) async throws {
        let fixture = ControlFixture(faults: .init(requestsLost: .max))
        await #expect(throws: ControlService.Failure.noReply(key.user)) {
            try await fixture.run(action + ["--user", "ann"])
        }
        await #expect(throws: ControlService.Failure.noReply(key.user)) {
            try await fixture.run(["status", "--user", "ann", "--session", "\(key.session)"])
        }
    }

    @Test func `a retained current session saves the request to the engine`() async throws {
        try await publish(.user(key.user, .current), JSONCoding.encode(CurrentSession(revision: 7, state: active)))
        await #expect(throws: ControlService.Failure.refused(.sessionNotFound)) {
            try await run("lap", "--user", "ann")
        }
        #expect(fixture.services.requestCount == 1)
    }

    @Test func `the command waits for a message that the broker lost`() async throws {
        let fixture = ControlFixture(faults: .init(requestsLost: 1))
        let current = CurrentSession(revision: 7, state: active)
        let text = try await fixture.run(["follow", "--user", "ann"]) {
            try await fixture.pass(4)
            try await fixture.bus.publish(Topic.session(key, .state).message(JSONCoding.encode(active)))
            try await fixture.bus.publish(Topic.user(key.user, .current).message(JSONCoding.encode(current)))
            try await fixture.pass(1)
            fixture.bus.stopReading()
        }
        #expect(text == "waiting for session-engine, 3 s of at most 30 s\n12:38\n")
    }

    @Test(arguments: [true, false])
    func `a command without a reply prints the component it waits for`(isConnected: Bool) async throws {
        let output = TerminalRecorder()
        let silent = SessionKey(User("bob")!, key.session)
        if !isConnected { fixture.bus.cut() }
        await #expect(throws: ControlService.Failure.self) {
            try await fixture.run(["pause", "--user", "bob", "--session", "\(silent.session)"], to: output)
        }
        let awaited = isConnected ? "session-engine" : "the broker"
        #expect(
            output.status
                == [3, 8, 13, 18, 23, 28].map { "waiting for \(awaited), \($0) s of at most 30 s\n" }.joined())
        #expect(output.text == output.status)
    }

    @Test func `a command with a quick reply prints no wait`() async throws {
        let output = TerminalRecorder()
        try await fixture.run(["start", "--user", "ann", "--session", "\(key.session)"], to: output)
        #expect(output.status == "")
        #expect(output.text.hasPrefix("start: done"))
    }
}
