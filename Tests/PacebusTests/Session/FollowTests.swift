import Bus
import Client
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Pacebus

/// `pacebus follow`.
@Suite struct FollowTests {
    private let fixture = ControlFixture()
    private var arguments: [String] { ["follow", "--user", "ann", "--session", "\(fixture.key.session)"] }

    private func start(_ plan: ExamplePlan = .strength) async throws {
        _ = try await fixture.run("start", "--plan", plan.path, "--countdown", "0")
    }

    @Test func `each change prints a line, and time alone prints none`() async throws {
        try await start()
        let text = try await fixture.run(arguments) {
            try await fixture.pass(10)
            try await fixture.command(.plan(.goTo(item: "squat")))
            try await fixture.pass(5)
            try await fixture.command(.plan(.completeSet(SetCompletion())))
            try await fixture.pass(30)
            try await fixture.command(.pause)
            try await fixture.pass(5)
            try await fixture.command(.discard)
        }
        #expect(
            text == """
                0:00 · Warm-up, 5:00 left · Easy Skipping · 0/6 exercises
                0:10 · Main Lifts · Back Squat, set 1 of 4, 8 × 40 kg · 0/6 exercises
                0:15 · Main Lifts, rest, 1:30 left · Back Squat, set 2 of 4, 5 × 70 kg · 0/6 exercises
                paused at 0:45 · Main Lifts, rest, 1:00 left · Back Squat, set 2 of 4, 5 × 70 kg · 0/6 exercises
                Full Body Strength is canceled (discarded)

                """)
    }

    @Test func `a terminal updates one line below the announcements`() async throws {
        try await start(.intervals)
        let announcement = Announcement(.interval, at: fixture.clock.now, number: 1, text: "Round 1 of 6: Fast Run")
        let text = try await fixture.run(arguments, isInteractive: true) {
            try await fixture.pass(2)
            try await fixture.bus.publish(
                Topic.session(fixture.key, .announcements).message(JSONCoding.encode(announcement)))
            try await fixture.pass(1)
            fixture.bus.stopReading()
        }
        func line(_ clock: String, _ left: String) -> String {
            "\r\u{1B}[K\u{1B}[?7l\(clock) · Warm-up, \(left) left · Easy Run · 0/3 exercises\u{1B}[?7h"
        }
        #expect(text.contains(line("0:00", "10:00") + line("0:01", "9:59")))
        #expect(text.contains("\r\u{1B}[K> Round 1 of 6: Fast Run\n" + line("0:02", "9:58")))
        #expect(text.hasSuffix("\n"))
    }

    @Test func `an announcement is a line of its own and repeats no other`() async throws {
        try await start()
        let announcements = [
            Announcement(.interval, at: fixture.clock.now, text: "Time is up"),
            Announcement(.warning, at: fixture.clock.now, text: "nothing is saved"),
        ]
        let text = try await fixture.run(arguments) {
            try await fixture.pass(1)
            for announcement in announcements {
                try await fixture.bus.publish(
                    Topic.session(fixture.key, .announcements).message(JSONCoding.encode(announcement)))
            }
            try await fixture.pass(1)
            fixture.bus.stopReading()
        }
        #expect(text.hasSuffix("0/6 exercises\n> Time is up\n> warning: nothing is saved\n"))
        #expect(text.split(separator: "\n").count == 3)
    }

    @Test func `an announcement of a newer service is shown or skipped`() throws {
        var view = LiveView(isInteractive: false)
        func said(_ payload: String) throws -> String? {
            try view.receive(Topic.session(fixture.key, .announcements).message(Array(payload.utf8)))
        }
        #expect(try said("{\"kind\":\"lead\",\"text\":\"bob leads\"}") == "> bob leads\n")
        #expect(try said("{\"kind\":7}") == nil)
        #expect(try said("[1]") == nil)
    }

    @Test(arguments: [0, 2])
    func `time follows the engine's clock, which is requested until it replies`(
        requestsLost: Int
    ) async throws {
        let fixture = ControlFixture(faults: .init(requestsLost: requestsLost, clockAhead: 600))
        // A device with a correct clock.
        var start = SessionStart(activity: .running, countdown: 0)
        start.definition = try ExamplePlan.strength.definition()
        let began = Command(
            id: CommandID(UUID()), client: Client("phone-1")!, at: fixture.clock.now + 600, action: .start(start))
        try await fixture.bus.publish(Topic.session(fixture.key, .command).message(JSONCoding.encode(began)))
        let text = try await fixture.run(
            ["follow", "--user", "ann", "--session", "\(fixture.key.session)"], isInteractive: true
        ) {
            try await fixture.pass(12)
            fixture.bus.stopReading()
        }
        #expect(text.contains("0:11 · Warm-up, 4:49 left · Easy Skipping · 0/6 exercises"))
    }

    @Test func `a lost connection is shown, and later changes follow`() async throws {
        try await start()
        let text = try await fixture.run(arguments) {
            try await fixture.pass(1)
            fixture.bus.cut()
            try await fixture.pass(60)
            fixture.bus.connect()
            try await fixture.command(.plan(.goTo(item: "plank")))
            try await fixture.pass(1)
            try await fixture.command(.discard)
        }
        #expect(text.contains("\nno connection · 0:01 · Warm-up, "))
        #expect(text.contains("1:01 · Core, 0:45 left · Plank, set 1 of 3, 0:45 · 0/6 exercises\n"))
    }

    @Test(arguments: [false, true])
    func `a silent engine is a line of its own, and so is its return`(isInteractive: Bool) async throws {
        try await start(.intervals)
        let text = try await fixture.run(arguments, isInteractive: isInteractive) {
            try await fixture.pass(7)
            fixture.services.loseRequests(3)
            try await fixture.pass(25)
            fixture.bus.stopReading()
        }
        let gone = "no reply from session-engine, or this account may not send requests; the session may have changed\n"
        let back = "session-engine replies again\n"
        let parts = text.components(separatedBy: gone)
        let rest = try #require(parts.last).components(separatedBy: back)
        #expect(parts.count == 2)
        #expect(rest.count == 2)
        // The live line follows below each.
        #expect(rest.allSatisfy { $0.hasPrefix("\r\u{1B}[K\u{1B}[?7l0:") } == isInteractive)
    }

    @Test func `a short silence of the engine prints nothing`() async throws {
        try await start()
        fixture.services.loseRequests(1)
        let text = try await fixture.run(arguments) {
            try await fixture.pass(20)
            fixture.bus.stopReading()
        }
        #expect(text.split(separator: "\n").count == 1)
    }

    @Test func `the finished workout is the last line`() async throws {
        try await start()
        let text = try await fixture.run(arguments) {
            try await fixture.pass(60)
            try await fixture.command(.end(streams: [:]))
            try await fixture.pass(1)
            var session = try #require(fixture.services.session)
            let record = WorkoutRecord(session, metrics: nil, isComplete: true, revision: 900)
            try await fixture.bus.publish(
                Topic.session(fixture.key, .workout).message(JSONCoding.encode(record)))
            session.complete()
            try await fixture.bus.publish(
                Topic.session(fixture.key, .state).message(JSONCoding.encode(session.state(revision: 901))))
        }
        #expect(text.contains("\nsaving, 1:00\n"))
        #expect(text.hasSuffix("\nFull Body Strength: 1:00, 0/6 exercises\n"))
    }

    @Test func `an older state changes nothing`() async throws {
        try await start()
        let before = try #require(fixture.services.session).state(revision: 1)
        let text = try await fixture.run(arguments) {
            try await fixture.pass(1)
            try await fixture.command(.pause)
            try await fixture.bus.publish(
                Topic.session(fixture.key, .state).message(JSONCoding.encode(before)))
            try await fixture.pass(1)
            fixture.bus.stopReading()
        }
        let lines = text.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(try #require(lines.last).hasPrefix("paused at 0:01 · Warm-up, 4:59 left"))
    }

    @Test func `start --follow shows the session`() async throws {
        let arguments = [
            "start", "--plan", ExamplePlan.emom.path, "--countdown", "0", "--follow", "--user", "ann", "--session",
            "\(fixture.key.session)",
        ]
        let text = try await fixture.run(arguments) {
            try await fixture.pass(2)
            fixture.bus.stopReading()
        }
        #expect(text.hasPrefix("start: done, session \(fixture.key.session) is active"))
        #expect(text.contains("\n0:00 · Warm-up, 4:00 left · Jumping Jacks · 0/5 exercises\n"))
    }

    @Test func `an unknown session cannot be followed`() async throws {
        await #expect(throws: ControlService.Failure.noSuchSession(fixture.key)) { try await fixture.run("follow") }
    }

    @Test func `follow fails without a broker and without an engine`() async throws {
        fixture.services.loseRequests(.max)
        await #expect(throws: ControlService.Failure.noReply(fixture.key.user)) { try await fixture.run("follow") }
        fixture.bus.cut()
        await #expect(throws: ControlService.Failure.noConnection) { try await fixture.run("follow") }
    }

    @Test func `a session that the broker lost is shown once it arrives`() async throws {
        try await start()
        let state = try #require(fixture.services.session).state(revision: 9)
        fixture.bus.forget(.session(fixture.key, .state))
        fixture.services.loseRequests(.max)
        let text = try await fixture.run(arguments) {
            try await fixture.pass(9.5)
            try await fixture.bus.publish(Topic.session(fixture.key, .state).message(JSONCoding.encode(state)))
            try await fixture.pass(1)
            fixture.bus.stopReading()
        }
        #expect(
            text == """
                waiting for session-engine, 3 s of at most 30 s
                waiting for session-engine, 8 s of at most 30 s
                0:09
                no reply from session-engine, or this account may not send requests; the session may have changed

                """)
    }

    @Test func `an invalid state ends follow with an error`() async throws {
        try await fixture.bus.publish(Topic.session(fixture.key, .state).message(Array("{}".utf8)))
        await #expect(throws: ControlService.Failure.invalidMessage("session: missing")) {
            try await fixture.run("follow")
        }
    }
}
