import ArgumentParser
import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Pacebus

/// The commands of virtual runs, against a scripted virtual-run.
@Suite struct RunCommandTests {
    private let clock = ManualClock()
    private let ann = User("ann")!
    private let ben = User("ben")!
    private let virtualRun: FakeVirtualRun
    private let bus: FakeBus

    init() {
        virtualRun = FakeVirtualRun([ann, ben], clock: clock)
        bus = FakeBus([], virtualRun: virtualRun)
    }

    /// Publishes the views of the run.
    private func publish(_ change: (inout VirtualRunView) -> Void = { _ in }) async throws {
        for message in virtualRun.change(change) { try await bus.publish(message) }
    }

    private func service(_ user: User, _ arguments: [String], _ terminal: Terminal) throws -> ControlService {
        let command = try ControlFixture.command(arguments + ["--user", "\(user)"])
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "pacebus"), logger: .silent, bus: bus, clock: clock)
        return try command.build(context, try command.request(), terminal: terminal)
    }

    private func run(_ user: User, _ arguments: String...) async throws -> String {
        let output = TerminalRecorder()
        let service = try service(user, arguments, output.terminal)
        #expect(try await bus.play(clock) { try await service.run() })
        return output.text
    }

    @Test func `invite creates a run and prints it`() async throws {
        let text = try await run(ann, "invite", "ben", "cleo", "--distance", "5000", "--name", "Sunday")
        let request = try #require(virtualRun.requests.first)
        let id = try #require(request.run)
        #expect(
            text == """
                invite: done, run \(id)
                \(id), Sunday, inviting, 5.00 km, host ann
                  ann   accepted
                  ben   invited
                  cleo  invited

                """)
        guard case .create(let proposal) = request.action else { return }
        #expect(proposal.invite.map(\.description) == ["ben", "cleo"])
        #expect(proposal.settings.goal == .distance(5_000) && proposal.settings.clock == .active)
    }

    @Test func `the options of invite become the run's settings`() throws {
        func proposal(_ arguments: String...) throws -> RunProposal? {
            let request = try ControlFixture.command(["invite"] + arguments + ["--user", "ann"]).request()
            guard case .virtualRun(.create(let proposal)) = request else { return nil }
            return proposal
        }
        let session = SessionID(UUID())
        let ghosts = try proposal("--pace", "5:30", "--ghost", "\(session)", "--ghost", "ben/\(session)")
        #expect(ghosts?.ghosts == [.session(nil, session), .session(ben, session), .pace(330)])
        #expect(try proposal("ben", "--duration", "30:00", "--clock", "gun")?.settings.goal == .duration(1_800))
        #expect(try proposal("ben", "--rolling", "--no-position")?.settings.start == .rolling)
        #expect(
            try proposal("ben", "--no-position", "--route")?.sharing == Sharing.Change(position: false, route: true))
        #expect(try proposal("ben", "--at", "2026-11-30T18:30")?.settings.scheduledAt != nil)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone.current
        let noon = try #require(calendar.date(from: DateComponents(year: 2026, month: 11, day: 22, hour: 12)))
        let evening = try #require(LocalTime("18:30", now: noon))
        #expect(evening.time.seconds - noon.timeIntervalSince1970 == 6.5 * 3_600)
        let morning = try #require(LocalTime("08:00", now: noon))
        #expect(morning.time.seconds - noon.timeIntervalSince1970 == 20 * 3_600)
    }

    @Test(arguments: [
        (["invite"], "a run has 2 to 50 runners"),
        (["invite", "ben", "--distance", "50"], "invalid --distance '50.0'; allowed: 100 to 500000 m"),
        (["invite", "ben", "--distance", "5000", "--duration", "60"], "exclude each other"),
        (["invite", "ben", "--duration", "0:59"], "allowed: 1:00 to 24:00:00"),
        (["invite", "ben", "--pace", "1:00"], "allowed: 2:00 to 30:00"),
        (["invite", "ben", "ben"], "each user can be invited once"),
        (["invite", "ben", "--rolling", "--at", "18:30"], "--rolling and --at exclude each other"),
        (["invite", "ben", "--run", "0f1e2d3c-4b5a-4968-8776-655443322110", "--rolling"], "omit other options"),
        (["invite", "ben", "--hide-near", "2000"], "allowed: 0 to 1600 m"),
        (["share"], "nothing to change"),
        (["contacts", "add"], "missing user; use contacts add USER"),
        (["runs", "--limit", "51"], "allowed: 1 to 50"),
        (["accept", "no-run"], "The value 'no-run' is invalid"),
    ])
    func `an invalid command line names the value and what is allowed`(arguments: [String], text: String) {
        do {
            _ = try Pacebus.parseAsRoot(arguments + ["--user", "ann"])
            Issue.record("accepted: \(arguments)")
        } catch {
            #expect(Pacebus.message(for: error).contains(text), "\(Pacebus.message(for: error))")
        }
    }

    @Test func `two people accept, confirm and begin without naming the run`() async throws {
        try await publish()
        #expect(try await run(ben, "accept").hasPrefix("accept: done, run \(virtualRun.run)\n"))
        #expect(try await run(ann, "go").contains("  ann  confirmed\n  ben  accepted\n"))
        #expect(try await run(ben, "go").contains("starting, host ann\n"))
        #expect(
            virtualRun.requests.filter { $0.action.name != "runs" }.map(\.action.name) == [
                "accept", "confirm", "confirm",
            ])
        #expect(virtualRun.requests.filter { $0.run != nil }.allSatisfy { $0.run == virtualRun.run })
    }

    @Test func `go names an unfinished session, and confirm is another name of it`() async throws {
        try await publish()
        _ = try await run(ben, "accept")
        let session = SessionID(UUID())
        func current(_ session: SessionID, _ revision: Int64) -> MQTTMessage {
            let state = Session(
                key: SessionKey(ann, session), start: SessionStart(activity: .running, countdown: 0), at: clock.now,
                now: clock.now
            ).state(revision: 1)
            return Topic.user(ann, .current)
                .message(JSONCoding.encode(CurrentSession(revision: revision, state: state)))
        }
        try await bus.publish(current(session, 1))
        let refused = await #expect(throws: ControlService.Failure.self) { try await run(ann, "go") }
        #expect(refused?.description.hasPrefix("session \(session), Outdoor Running, is ") == true)
        // The session of the run itself is no obstacle.
        _ = virtualRun.change { $0.participants[0].session = session }
        try await publish()
        #expect(try await run(ann, "confirm").contains("  ann  confirmed\n"))
    }

    @Test func `remove takes a person out of the run`() async throws {
        try await publish()
        #expect(try await run(ann, "remove", "ben").hasPrefix("remove: done, run \(virtualRun.run)\n"))
        #expect(virtualRun.requests.last?.action == .remove(ben))
    }

    @Test func `a command without a fitting run says so, and several are listed`() async throws {
        try await publish()
        let none = await #expect(throws: ControlService.Failure.self) { try await run(ann, "accept") }
        #expect(none?.description == "ann has no virtual run with an open invitation; runs lists all")
        var second = virtualRun.view
        second.run = RunID(UUID())
        second.user = ben
        second.createdAt = second.createdAt - 60
        try await bus.publish(Topic.user(ben, .virtualRun(second.run)).message(JSONCoding.encode(second)))
        let several = await #expect(throws: ControlService.Failure.self) { try await run(ben, "accept") }
        #expect(
            several?.description == """
                several virtual runs fit; name one of them:
                  \(virtualRun.run), inviting, host ann
                  \(second.run), inviting, host ann
                """)
        #expect(try await run(ben, "accept", "\(virtualRun.run)").hasPrefix("accept: done"))
    }

    @Test func `a refusal is printed with the service's words, and a lost reply is repeated`() async throws {
        try await publish()
        virtualRun.refuse("confirm", .invalidState("the run has begun; leave ends your part"))
        let refused = await #expect(throws: ControlService.Failure.self) {
            try await run(ann, "go", "\(virtualRun.run)")
        }
        #expect(refused?.description == "the run has begun; leave ends your part")
        virtualRun.loseReplies(1)
        #expect(try await run(ann, "share", "--no-heart-rate").contains("share: done, run \(virtualRun.run)\n"))
    }

    @Test func `a silent service fails after 30 s by its name`() async throws {
        virtualRun.loseReplies(.max)
        let began = clock.now
        let silent = await #expect(throws: ControlService.Failure.self) { try await run(ann, "runs") }
        #expect(silent?.description.contains("no reply from virtual-run within 30 s") == true)
        #expect((30...31).contains(clock.now.seconds(since: began)))
    }

    @Test func `contacts lists people, and block and unblock change them`() async throws {
        #expect(try await run(ann, "contacts") == "contacts: none\nblocked: none\ninvitations from: everyone\n")
        #expect(try await run(ann, "contacts", "add", "ben") == "ben is a contact\n")
        #expect(try await run(ann, "block", "mallory") == "mallory is blocked\n")
        #expect(try await run(ann, "contacts", "--invites-from", "contacts") == "invitations from contacts\n")
        #expect(
            try await run(ann, "contacts")
                == "contacts: ben\nblocked: mallory\ninvitations from: contacts\n")
    }

    @Test func `leave --end also ends the session of the run`() async throws {
        let session = SessionID(UUID())
        let services = FakeServices(
            key: SessionKey(ann, session), device: Workouts.Device("watch-1")!, clock: clock)
        let virtualRun = FakeVirtualRun([ann, ben], sessions: [ann: session], clock: clock)
        let bus = FakeBus([services], virtualRun: virtualRun)
        for message in virtualRun.change({
            $0.status = .running
            $0.participants[0].status = .running
            $0.participants[0].session = session
        }) { try await bus.publish(message) }
        let start = Command(
            id: CommandID(UUID()), client: nil, at: clock.now,
            action: .start(SessionStart(activity: .running, countdown: 0)))
        try await bus.publish(Topic.session(SessionKey(ann, session), .command).message(JSONCoding.encode(start)))
        let output = TerminalRecorder()
        let command = try ControlFixture.command(["leave", "--end", "--user", "ann"])
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "pacebus"), logger: .silent, bus: bus, clock: clock)
        let service = try command.build(context, try command.request(), terminal: output.terminal)
        #expect(try await bus.play(clock) { try await service.run() })
        #expect(output.text.contains("leave: done, run \(virtualRun.run)\nend: done, session \(session) is"))
        #expect(services.commands.last?.action.name == "end")
    }

    // MARK: The runners

    private func running() async throws {
        try await publish { view in
            view.status = .running
            view.settings.goal = .distance(5_000)
            for index in view.participants.indices { view.participants[index].status = .running }
            view.ghosts = [VirtualRunView.Ghost(number: 1, pace: 330)]
        }
    }

    private func partners(_ revision: Int64 = 1, _ change: (inout Partners) -> Void = { _ in }) -> MQTTMessage {
        var row = Partners.Row(.participant(ben), link: .stale)
        (row.distance, row.pace, row.heartRate, row.age) = (2_380, 315, 150, 12)
        (row.gapMeters, row.gapSeconds) = (29, 9)
        var ghost = Partners.Row(.ghost(1), link: .connected)
        (ghost.distance, ghost.gapMeters, ghost.gapSeconds) = (2_300, -51, -16)
        var partners = Partners(run: virtualRun.run, revision: revision, now: clock.now, rows: [row, ghost])
        (partners.distance, partners.place) = (2_351, 2)
        change(&partners)
        return Topic.user(ann, .partners(virtualRun.run)).message(partners.payload)
    }

    @Test func `run prints a line for each runner in group order`() async throws {
        try await running()
        try await bus.publish(partners())
        let text = try await run(ann, "run")
        #expect(
            text == """
                \(virtualRun.run), running, 5.00 km, host ann
                  ann                  2.35 km                      place 2
                  ben                  2.38 km   5:15 /km  150 bpm  29 m ahead, 9 s, no data for 0:12
                  ghost 1 (5:30 /km)   2.30 km                      51 m behind, 16 s

                """)
    }

    private func follow(
        isInteractive: Bool, _ script: () async throws -> Void
    ) async throws -> String {
        let output = TerminalRecorder()
        var terminal = output.terminal
        terminal.isInteractive = isInteractive
        let service = try service(ann, ["run", "--follow"], terminal)
        async let end: Void = service.run()
        try await script()
        try await end
        try #require(await eventually { clock.sleeperCount == 0 })
        return output.text
    }

    private func pass(_ seconds: Double) async throws {
        for _ in 0..<Int(seconds * 20) {
            try await clock.waitForSleepers()
            try await bus.waitForReader()
            clock.advance(by: .milliseconds(50))
        }
        try await clock.waitForSleepers()
        try await bus.waitForReader()
    }

    private func finish() async throws {
        try await publish { view in
            view.status = .finished
            var first = RunResult(user: ben, status: .finished)
            (first.place, first.time, first.distance, first.pace) = (1, 1_560, 5_000, 312)
            var second = RunResult(user: ann, status: .finished)
            (second.place, second.time, second.distance) = (2, 1_570, 5_000)
            second.behind = RunResult.Behind(seconds: 10)
            second.pauses = RunResult.Pauses(count: 1, seconds: 62)
            view.results = VirtualRunView.Results(isProvisional: false, rows: [first, second])
        }
    }

    @Test func `run --follow prints changes every 5 s at most, cues at once, and ends with the results`() async throws {
        try await running()
        let text = try await follow(isInteractive: false) {
            try await pass(1)
            try await bus.publish(partners(1))
            var cue = Announcement(.lead, at: clock.now)
            (cue.user, cue.taken) = (ben, false)
            try await bus.publish(
                Topic.user(ann, .virtualRunAnnouncements(virtualRun.run)).message(JSONCoding.encode(cue)))
            try await pass(6)
            try await bus.publish(partners(2) { $0.rows[0].gapMeters = 40 })
            try await bus.publish(partners(3) { $0.rows[0].gapMeters = 41 })
            try await pass(6)
            try await finish()
        }
        #expect(text.contains("> ben is ahead of you\n"))
        #expect(text.contains("29 m ahead") && text.contains("41 m ahead") && !text.contains("40 m ahead"))
        #expect(
            text.hasSuffix(
                """
                \(virtualRun.run), finished, 5.00 km, host ann
                  results
                   1. ben  26:00  5.00 km  5:12 /km
                   2. ann  26:10  5.00 km  +0:10  1 pause, 1:02

                """))
    }

    @Test func `a terminal redraws the runners in place`() async throws {
        try await running()
        let text = try await follow(isInteractive: true) {
            try await pass(1)
            try await bus.publish(partners(1))
            try await pass(1)
            try await bus.publish(partners(2) { $0.rows[0].gapMeters = 41 })
            try await pass(1)
            try await finish()
        }
        #expect(text.contains("\u{1B}[4A\r\u{1B}[J\u{1B}[?7l"))
        #expect(text.contains("41 m ahead") && text.hasSuffix("+0:10  1 pause, 1:02\n"))
    }

    @Test func `a canceled run ends it`() async throws {
        try await publish()
        let text = try await follow(isInteractive: false) {
            try await pass(1)
            try await publish { ($0.status, $0.reason) = (.canceled, "expired") }
        }
        #expect(text.hasSuffix("canceled (expired), host ann\n  ann  accepted\n  ben  invited\n"))
    }

    @Test func `a list of runs and routes are printed`() async throws {
        #expect(try await run(ann, "runs") == "ann has no virtual runs\n")
        var overview = RunOverview(
            run: virtualRun.run, status: .finished, host: ann, createdAt: clock.now, runners: 3, own: .finished)
        overview.place = 2
        #expect(Text.overview(overview).hasSuffix("  finished, 3 runners, host ann, place 2\n"))
        try await finish()
        let reason = "no routes: no runner shares one, or its workout is not complete or has no positions\n"
        #expect(try await run(ann, "routes") == "[]\n" + reason)
    }
}
