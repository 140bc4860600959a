import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Section 3: the statuses of a run.
struct RunStatusTests {
    private let anna = RunStage.anna
    private let ben = RunStage.ben
    private let cleo = RunStage.cleo
    private let dora = RunStage.dora
    private let accept = VirtualRunRequest.Action.accept(Sharing.Change())

    // MARK: Inviting

    @Test func `a run made for two confirms when the other accepts`() throws {
        var stage = try RunStage(invite: [ben])
        #expect(stage.run.status == .inviting)
        stage.ask(ben, accept)
        #expect(stage.run.status == .confirming)
        #expect(stage.seconds(stage.run.deadlines.confirmBy) == 60)
    }

    @Test func `a run against ghosts alone confirms at once`() throws {
        #expect(try RunStage(invite: [], ghosts: [.pace(300)]).run.status == .confirming)
    }

    @Test func `a larger group does not begin by itself`() throws {
        var stage = try RunStage()
        stage.ask(ben, accept)
        stage.ask(cleo, accept)
        stage.advance(to: 23 * RunStage.hour)
        #expect(stage.run.status == .inviting)
        stage.ask(anna, .begin)
        #expect(stage.run.status == .confirming)
    }

    @Test func `a run made for two to which others are invited is a larger group`() throws {
        var stage = try RunStage(invite: [ben])
        stage.ask(anna, .invite([cleo]))
        stage.ask(ben, accept)
        stage.ask(cleo, accept)
        #expect(stage.run.status == .inviting)
    }

    @Test(arguments: [[RunStage.ben, RunStage.cleo], [RunStage.ben], []])
    func `a scheduled run confirms 60 s before its time`(invited: [User]) throws {
        var stage = try RunStage(invite: invited, ghosts: [.pace(300)]) { $0.scheduledAt = RunStage.began + 7_200 }
        for user in invited { stage.ask(user, accept) }
        #expect(stage.run.status == .inviting)
        #expect(stage.seconds(stage.run.due) == 7_140)
        stage.advance(to: 7_139)
        #expect(stage.run.status == .inviting)
        stage.advance(to: 7_140)
        #expect(stage.run.status == .confirming)
    }

    @Test func `a run to which all decline is canceled, unless there is a ghost`() throws {
        var stage = try RunStage()
        stage.ask(ben, .decline)
        #expect(stage.run.status == .inviting)
        stage.ask(cleo, .decline)
        #expect(stage.run.status == .canceled)
        #expect(stage.run.reason == "declined")
        stage = try RunStage(invite: [ben], ghosts: [.pace(300)])
        stage.ask(ben, .decline)
        #expect(stage.run.status == .inviting)
        stage.ask(anna, .begin)
        #expect(stage.run.status == .confirming)
    }

    @Test func `a run that its host and all others but one decline is canceled`() throws {
        var stage = try Scene.accepted.stage()
        stage.ask(cleo, .decline)
        stage.ask(anna, .decline)
        #expect(stage.run.host == ben)
        #expect(stage.run.status == .canceled)
    }

    @Test func `a run that never begins is canceled when its invitations are over`() throws {
        var stage = try Scene.accepted.stage()
        stage.advance(to: 24 * RunStage.hour - 1)
        #expect(stage.run.status == .inviting)
        stage.advance(to: 24 * RunStage.hour)
        #expect(stage.run.status == .canceled)
        #expect(stage.run.reason == "expired")
        #expect(stage.participant(cleo).reason == "expired")
    }

    @Test func `a later invitation lasts 24 h too`() throws {
        var stage = try RunStage()
        stage.advance(to: 20 * RunStage.hour)
        stage.ask(anna, .invite([dora]))
        stage.advance(to: 43 * RunStage.hour)
        #expect(stage.status(dora) == .invited)
        stage.advance(to: 44 * RunStage.hour)
        #expect(stage.run.status == .canceled)
    }

    // MARK: Confirming

    @Test func `a run starts when all who accepted have confirmed`() throws {
        var stage = try Scene.hostConfirmed.stage()
        stage.advance(to: 10)
        #expect(stage.run.status == .confirming)
        stage.ask(ben, .confirm)
        #expect(stage.run.status == .starting)
        #expect(stage.run.startsAt == stage.time(14))
        #expect(stage.participant(anna).startsAt == stage.time(14))
        #expect(stage.view(ben)?.startsAt == stage.time(14))
    }

    @Test func `a scheduled run starts at its time at the earliest`() throws {
        for (confirmed, start) in [(7_150.0, 7_200.0), (7_199, 7_203)] {
            var stage = try RunStage(invite: [ben]) { $0.scheduledAt = RunStage.began + 7_200 }
            stage.ask(ben, accept)
            stage.advance(to: 7_140)
            stage.ask(anna, .confirm)
            stage.advance(to: confirmed)
            stage.ask(ben, .confirm)
            #expect(stage.run.startsAt == stage.time(start))
            stage.advance(to: start - 0.1)
            #expect(stage.run.status == .starting)
            stage.advance(to: start)
            #expect(stage.run.status == .running)
        }
    }

    @Test func `who confirms while a scheduled run is starting begins with the others`() throws {
        var stage = try RunStage { $0.scheduledAt = RunStage.began + 7_200 }
        stage.ask(ben, accept)
        stage.advance(to: 7_140)
        stage.ask(anna, .confirm)
        stage.ask(ben, .confirm)
        stage.advance(to: 7_150)
        stage.ask(cleo, accept)
        stage.ask(cleo, .confirm)
        #expect(stage.participant(cleo).startsAt == stage.time(7_200))
    }

    @Test func `after 60 s a run starts without those who did not confirm`() throws {
        var stage = try RunStage()
        stage.ask(ben, accept)
        stage.ask(cleo, accept)
        stage.ask(anna, .begin)
        stage.ask(anna, .confirm)
        stage.ask(ben, .confirm)
        stage.advance(to: 59.9)
        #expect(stage.run.status == .confirming)
        stage.advance(to: 60)
        #expect(stage.run.status == .starting)
        #expect(stage.status(cleo) == .declined)
        #expect(stage.participant(cleo).reason == "unconfirmed")
    }

    @Test func `a run of one who confirmed starts with a ghost, and is canceled without`() throws {
        for ghosts in [[GhostSource.pace(300)], []] {
            var stage = try RunStage(invite: [ben], ghosts: ghosts)
            stage.ask(ben, accept)
            stage.ask(anna, .confirm)
            stage.advance(to: 60)
            #expect(stage.run.status == (ghosts.isEmpty ? .canceled : .starting))
            #expect(stage.run.reason == (ghosts.isEmpty ? "unconfirmed" : nil))
        }
    }

    @Test func `a run that nobody confirms is canceled, ghost or not`() throws {
        var stage = try RunStage(invite: [], ghosts: [.pace(300)])
        stage.advance(to: 60)
        #expect(stage.run.status == .canceled)
    }

    @Test func `a run whose last partner declines while confirming is canceled`() throws {
        var stage = try RunStage(invite: [ben])
        stage.ask(ben, accept)
        stage.ask(anna, .confirm)
        stage.ask(ben, .decline)
        #expect(stage.run.status == .canceled)
    }

    @Test func `who accepts while confirming is awaited until its end and may join late`() throws {
        var stage = try Scene.confirming.stage()
        stage.advance(to: 50)
        stage.ask(cleo, accept)
        stage.ask(anna, .confirm)
        stage.ask(ben, .confirm)
        #expect(stage.run.status == .confirming)
        stage.advance(to: 60)
        #expect(stage.run.status == .starting)
        #expect(stage.status(cleo) == .accepted)
        stage.advance(to: 90)
        stage.ask(cleo, .confirm)
        #expect(stage.participant(cleo).startsAt == stage.time(94))
    }

    @Test func `without late joining, who accepts while confirming extends it once`() throws {
        var stage = try RunStage(invite: [ben, cleo, dora]) { $0.lateJoin = false }
        stage.ask(ben, accept)
        stage.ask(anna, .begin)
        stage.ask(anna, .confirm)
        stage.advance(to: 30)
        stage.ask(cleo, accept)
        stage.advance(to: 40)
        stage.ask(dora, accept)
        #expect(stage.seconds(stage.run.deadlines.confirmBy) == 90)
        stage.advance(to: 89)
        stage.ask(ben, .confirm)
        stage.advance(to: 90)
        #expect(stage.run.status == .starting)
        #expect(stage.participant(cleo).reason == "unconfirmed")
        #expect(stage.participant(dora).reason == "unconfirmed")
    }

    // MARK: Starting and running

    @Test func `a run in starting is canceled when fewer than two runners remain`() throws {
        var stage = try Scene.starting.stage()
        stage.ask(ben, .leave)
        #expect(stage.run.status == .canceled)
        #expect(stage.run.reason == "left")
        stage = try RunStage(invite: [ben], ghosts: [.pace(300)])
        stage.ask(ben, accept)
        stage.ask(anna, .confirm)
        stage.ask(ben, .confirm)
        stage.ask(ben, .leave)
        #expect(stage.run.status == .starting)
    }

    @Test func `a rolling run begins as running, and each at a time of their own`() throws {
        var stage = try RunStage { $0.start = .rolling }
        #expect(stage.run.status == .running)
        #expect(stage.run.settings.endsAt == stage.time(24 * RunStage.hour))
        stage.ask(anna, .confirm)
        #expect(stage.participant(anna).startsAt == stage.time(4))
        stage.advance(to: 100)
        stage.ask(ben, accept)
        stage.ask(ben, .confirm)
        #expect(stage.participant(ben).startsAt == stage.time(104))
        #expect(stage.run.startsAt == nil)
    }

    @Test func `a run is finished when nobody is confirmed or running`() throws {
        var stage = try Scene.running.stage()
        stage.see(anna, .saving)
        #expect(stage.run.status == .running)
        stage.see(ben, .canceled)
        #expect(stage.run.status == .finished)
        #expect(stage.participant(cleo).reason == "closed")
    }

    @Test func `a rolling run waits for those who are invited or accepted`() throws {
        var stage = try Scene.rolling.stage()
        stage.ask(anna, .confirm)
        stage.see(anna, .active)
        stage.see(anna, .saving)
        #expect(stage.run.status == .running)
        stage.ask(ben, .decline)
        #expect(stage.run.status == .running)
        stage.ask(cleo, .decline)
        #expect(stage.run.status == .finished)
    }

    @Test func `a rolling run takes nobody after its end and waits for those who run`() throws {
        var stage = try RunStage {
            $0.start = .rolling
            $0.endsAt = RunStage.began + 7_200
        }
        stage.ask(anna, .confirm)
        stage.see(anna, .active)
        stage.ask(ben, accept)
        stage.advance(to: 7_200)
        #expect(stage.run.status == .running)
        #expect(stage.participant(ben).reason == "closed")
        #expect(stage.participant(cleo).reason == "closed")
        #expect(stage.ask(anna, .invite([dora])) == "invalid_state")
        stage.see(anna, .saving)
        #expect(stage.run.status == .finished)
    }

    @Test func `a rolling run that all decline is canceled when its host leaves it too`() throws {
        var stage = try RunStage { $0.start = .rolling }
        stage.ask(anna, .decline)
        #expect(stage.run.status == .canceled)
    }

    @Test func `a finished run never runs again`() throws {
        var stage = try Scene.finished.stage()
        stage.see(anna, .active, 9)
        stage.see(ben, .deleted)
        stage.see(ben, .active, 8)
        #expect(stage.run.status == .finished)
        #expect(stage.run.due == nil)
        #expect(stage.ask(anna, .begin) == "invalid_state")
    }

    // MARK: The host

    @Test func `the earliest confirmed, then the earliest accepted becomes host when the host goes`() throws {
        var stage = try RunStage(invite: [ben, cleo, dora])
        stage.wait(1)
        stage.ask(dora, accept)
        stage.wait(1)
        stage.ask(ben, accept)
        stage.ask(anna, .decline)
        #expect(stage.run.host == dora)
        stage.ask(dora, .begin)
        stage.ask(ben, .confirm)
        stage.advance(to: 59)
        stage.ask(cleo, accept)
        stage.advance(to: 62)
        #expect(stage.status(dora) == .declined)
        #expect(stage.run.host == ben)
    }

    @Test func `a host who leaves hands over, and a host whose session is canceled stays host`() throws {
        var stage = try Scene.running.stage()
        stage.see(anna, .canceled)
        #expect(stage.run.host == anna)
        stage.ask(anna, .leave)
        #expect(stage.run.host == ben)
        #expect(stage.view(ben)?.participants.first?.user == ben)
    }

    @Test func `a run without anybody to become host is canceled`() throws {
        var stage = try RunStage()
        stage.ask(anna, .decline)
        #expect(stage.run.status == .canceled)
    }

    // MARK: Deletion

    @Test func `a run whose host deletes everything is canceled before it starts`() throws {
        for scene in [Scene.inviting, .accepted, .confirming, .hostConfirmed] {
            var stage = try scene.stage()
            stage.run.erase(anna, now: stage.now)
            #expect(stage.run.status == .canceled)
            #expect(stage.run.reason == "deleted")
        }
    }

    @Test func `a run made for two does not begin when the other deletes everything`() throws {
        var stage = try RunStage(invite: [ben], ghosts: [.pace(300)])
        stage.run.erase(ben, now: stage.now)
        #expect(stage.run.status == .inviting)
    }

    @Test func `a run loses its name with the account of its creator`() throws {
        var stage = try RunStage { $0.name = "Anna's birthday" }
        stage.ask(ben, accept)
        stage.ask(anna, .decline)
        stage.run.erase(anna, now: stage.now)
        #expect(stage.run.settings.name == nil)
        #expect(stage.run.status == .inviting)
    }

    @Test func `a run goes on when a runner deletes everything, without a trace of them`() throws {
        var stage = try Scene.running.stage()
        stage.ask(cleo, accept)
        stage.run.erase(anna, now: stage.now)
        #expect(stage.run.status == .running)
        #expect(stage.run.host == ben)
        #expect(stage.run.erasedRunners == 1)
        #expect(!String(decoding: JSONCoding.encode(stage.run), as: UTF8.self).contains("anna"))
        stage.see(ben, .saving)
        #expect(stage.run.status == .finished)
        stage.run.erase(ben, now: stage.now)
        stage.run.erase(cleo, now: stage.now)
        #expect(stage.run.isDeserted)
    }

    @Test func `an erased user is in no view of those who left before`() throws {
        var stage = try Scene.running.stage()
        stage.ask(ben, .leave)
        stage.ask(cleo, accept)
        stage.run.erase(anna, now: stage.now)
        let view = try #require(stage.view(ben))
        #expect(!String(decoding: JSONCoding.encode(view), as: UTF8.self).contains("anna"))
    }

    @Test func `a ghost goes with its session or its owner`() throws {
        let session = SessionID(RunStage.uuid(50))
        var stage = try RunStage(ghosts: [.session(nil, session), .session(dora, session), .pace(300)])
        stage.run.removeGhosts(of: anna, session: session, now: stage.now)
        #expect(stage.run.ghosts.map(\.number) == [2, 3])
        stage.run.erase(dora, now: stage.now)
        #expect(stage.run.ghosts.map(\.number) == [3])
    }

    @Test func `a run that loses its last other runner with a ghost is canceled`() throws {
        var stage = try RunStage(invite: [], ghosts: [.session(dora, SessionID(RunStage.uuid(50)))])
        stage.run.erase(dora, now: stage.now)
        #expect(stage.run.status == .canceled)
    }
}
