import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Section 3: the statuses of participants.
struct RunParticipantTests {
    private let anna = RunStage.anna
    private let ben = RunStage.ben
    private let cleo = RunStage.cleo
    private let dora = RunStage.dora
    private let accept = VirtualRunRequest.Action.accept(Sharing.Change())

    @Test func `an invitation ends after 24 h, or with the time of the run where that is later`() throws {
        let late = 30 * RunStage.hour
        var scheduled = try RunStage(ghosts: [.pace(300)]) { $0.scheduledAt = RunStage.began + late }
        scheduled.ask(ben, accept)
        scheduled.advance(to: late - 60)
        scheduled.ask(anna, .confirm)
        scheduled.advance(to: late - 1)
        #expect(scheduled.status(cleo) == .invited)
        scheduled.advance(to: late)
        #expect(scheduled.participant(cleo).reason == "expired")
        var rolling = try RunStage {
            $0.start = .rolling
            $0.endsAt = RunStage.began + late
        }
        rolling.advance(to: late - 1)
        #expect(rolling.status(cleo) == .invited)
    }

    @Test func `who is invited to a run without late joining is declined when it starts`() throws {
        let stage = try Scene.closed.stage()
        #expect(stage.status(cleo) == .declined)
        #expect(stage.participant(cleo).reason == "closed")
    }

    @Test func `an acceptance has no deadline in an open run`() throws {
        var stage = try Scene.running.stage()
        stage.ask(cleo, accept)
        stage.advance(by: 30 * RunStage.hour)
        #expect(stage.status(cleo) == .accepted)
    }

    @Test(arguments: [SessionStatus.preparing, .active, .paused, .suspended])
    func `a confirmed participant with an unfinished session is running`(status: SessionStatus) throws {
        var stage = try Scene.starting.stage()
        stage.see(ben, status)
        #expect(stage.status(ben) == .confirmed)
        stage.advanceToStart()
        #expect(stage.status(ben) == .running)
        #expect(stage.status(anna) == .confirmed)
    }

    @Test(arguments: [SessionStatus.saving, .completed])
    func `a participant whose session is over is finished`(status: SessionStatus) throws {
        var stage = try Scene.running.stage()
        stage.advance(to: 700)
        stage.see(ben, status, ended: 650)
        #expect(stage.status(ben) == .finished)
        #expect(stage.participant(ben).at == stage.time(650))
        #expect(stage.status(anna) == .running)
    }

    @Test(arguments: [SessionStatus.canceled, .deleted])
    func `a participant whose session is canceled or deleted left, and is back when it is heard of again`(
        status: SessionStatus
    ) throws {
        var stage = try Scene.running.stage()
        stage.see(ben, status)
        #expect(stage.status(ben) == .left)
        #expect(stage.participant(ben).reason == status.rawValue)
        #expect(stage.participant(ben).isWithdrawn == (status == .deleted))
        stage.see(ben, .paused)
        #expect(stage.status(ben) == .running)
        #expect(stage.participant(ben).reason == nil)
    }

    @Test func `a runner whose canceled session is purged left, and withdrew nothing`() throws {
        var stage = try Scene.running.stage()
        stage.see(ben, .canceled)
        let before = stage.participant(ben).status
        let key = SessionKey(ben, try #require(stage.participant(ben).entry?.session))
        for reason in [Session.CancelReason.expired, .discarded, nil] {
            var session = Session(
                key: key, start: SessionStart(activity: .running), at: stage.time(4), now: stage.time(4))
            session.delete(givenUp: reason)
            stage.run.see(RunSession(session.state(revision: reason == nil ? 1_001 : 1_000)), of: ben, now: stage.now)
            #expect(stage.status(ben) == before)
            #expect(stage.participant(ben).reason == (reason == nil ? "deleted" : "canceled"))
            #expect(stage.participant(ben).isWithdrawn == (reason == nil))
        }
    }

    @Test func `a participant without a session is absent 10 minutes after the own start`() throws {
        var stage = try Scene.starting.stage()
        stage.advanceToStart()
        stage.see(anna, .active)
        stage.ask(cleo, accept)
        stage.advance(to: 100)
        stage.ask(cleo, .confirm)
        stage.advance(to: 603)
        #expect(stage.status(ben) == .confirmed)
        stage.advance(to: 604)
        #expect(stage.status(ben) == .absent)
        stage.advance(to: 703)
        #expect(stage.status(cleo) == .confirmed)
        stage.advance(to: 704)
        #expect(stage.status(cleo) == .absent)
    }

    @Test func `an absent participant runs or finishes when the session appears, after the run too`() throws {
        var stage = try Scene.starting.stage()
        stage.advanceToStart()
        stage.see(anna, .active)
        stage.advance(to: 604)
        stage.see(ben, .active)
        #expect(stage.status(ben) == .running)
        stage = try Scene.starting.stage()
        stage.advanceToStart()
        stage.see(anna, .active)
        stage.advance(to: 1_000)
        stage.see(anna, .completed)
        #expect(stage.run.status == .finished)
        stage.see(ben, .completed, started: 4, ended: 900)
        #expect(stage.status(ben) == .finished)
        #expect(stage.run.status == .finished)
    }

    @Test func `a run whose only partner is absent is finished with its runner`() throws {
        var stage = try Scene.starting.stage()
        stage.advanceToStart()
        stage.see(anna, .saving)
        #expect(stage.run.status == .running)
        stage.advance(to: 604)
        #expect(stage.run.status == .finished)
    }

    @Test func `who leaves has left for good, whatever the session shows`() throws {
        var stage = try Scene.running.stage()
        stage.ask(ben, .leave)
        let left = stage.run
        for status in [SessionStatus.active, .saving, .completed, .canceled] { stage.see(ben, status) }
        #expect(stage.run == left)
        #expect(stage.ask(ben, accept) == "invalid_state")
        #expect(stage.ask(ben, .confirm) == "invalid_state")
        #expect(stage.ask(anna, .invite([ben])) == "ok")
        #expect(stage.status(ben) == .left)
    }

    @Test func `of several sessions the first started counts that is neither canceled nor deleted`() throws {
        var stage = try Scene.running.stage()
        stage.see(ben, .canceled, started: 4)
        stage.see(ben, .active, 9, started: 300)
        stage.see(ben, .completed, 8, started: 200, ended: 250)
        #expect(stage.participant(ben).session?.session == SessionID(RunStage.uuid(8)))
        #expect(stage.status(ben) == .finished)
        stage.see(ben, .deleted, 8)
        #expect(stage.participant(ben).session?.session == SessionID(RunStage.uuid(9)))
        #expect(stage.status(ben) == .running)
    }

    @Test func `who finished stays finished, though another session of the run begins`() throws {
        var stage = try Scene.running.stage()
        stage.see(ben, .saving, started: 4)
        stage.see(ben, .active, 9, started: 300)
        #expect(stage.status(ben) == .finished)
    }

    @Test func `an older or repeated state of a session changes nothing`() throws {
        var stage = try Scene.running.stage()
        stage.see(ben, .saving, ended: 500, revision: 100)
        let before = stage.run
        stage.see(ben, .active, revision: 99)
        stage.see(ben, .saving, ended: 600, revision: 100)
        #expect(stage.run == before)
    }

    @Test(arguments: [Scene.running, .rolling])
    func `nobody enters a run by naming it`(scene: Scene) throws {
        var stage = try scene.stage()
        let before = stage.run
        stage.see(cleo, .active, 9)
        #expect(stage.run == before)
        stage.run.see(
            RunSession(
                session: SessionID(RunStage.uuid(9)), revision: 1, status: .active, startedAt: stage.time(1),
                endedAt: nil, environment: .outdoor, run: stage.run.id), of: dora, now: stage.now)
        #expect(stage.run == before)
    }

    @Test func `a session without the run is not its session`() throws {
        var stage = try Scene.running.stage()
        let before = stage.run
        stage.see(ben, .active, 9, run: RunStage.id(2))
        #expect(stage.run == before)
    }

    @Test func `a participant keeps at most 16 sessions`() throws {
        var stage = try Scene.running.stage()
        for number in 100..<130 as Range<UInt8> { stage.see(ben, .canceled, number, started: Double(number)) }
        #expect(stage.participant(ben).entry?.sessions.count == 16)
        #expect(stage.status(ben) == .running)
    }

    @Test func `a late joiner and one who confirms during the countdown start at their own time`() throws {
        var stage = try RunStage(invite: [ben, cleo, dora]) { $0.countdown = 30 }
        stage.ask(ben, accept)
        stage.ask(anna, .begin)
        stage.ask(anna, .confirm)
        stage.ask(ben, .confirm)
        stage.wait(10)
        stage.ask(cleo, accept)
        stage.ask(cleo, .confirm)
        #expect(stage.run.startsAt == stage.time(31))
        #expect(stage.participant(cleo).startsAt == stage.time(41))
        stage.advance(to: 500)
        stage.ask(dora, accept)
        stage.ask(dora, .confirm)
        #expect(stage.participant(dora).startsAt == stage.time(531))
    }
}
