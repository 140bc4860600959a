import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// The invariants of a run by their names in the design.
struct RunInvariantTests {
    private let anna = RunStage.anna
    private let ben = RunStage.ben
    private let cleo = RunStage.cleo
    private let accept = VirtualRunRequest.Action.accept(Sharing.Change())

    /// Another run of the same people, in which all confirm and which starts.
    private func next(after first: RunStage) throws -> RunStage {
        var next = try RunStage(invite: [ben])
        next.run = try Run(
            RunStage.id(2), RunProposal(RunSettings(), invite: [ben]), from: anna, now: first.now)
        next.random = SeededRandom(seed: 8)
        next.wait(first.time)
        #expect(next.ask(ben, accept) == "ok")
        for user in [anna, ben] {
            let context = RunContext(isRunningElsewhere: first.run.occupies(user))
            #expect(next.ask(user, .confirm, context: context) == "ok")
        }
        next.advanceToStart()
        return next
    }

    @Test func `a run's session in saving neither blocks nor touches the next`() throws {
        var first = try Scene.running.stage()
        #expect(first.run.occupies(ben))
        let finished = first.participant(ben).entry?.session
        first.see(anna, .saving)
        first.see(ben, .saving)
        #expect(!first.run.occupies(ben))
        var second = try next(after: first)
        second.see(ben, .active)
        let before = second.run
        // The states of the first run's session reach both runs.
        for status in [SessionStatus.saving, .completed, .deleted] {
            second.run.see(
                RunSession(
                    session: try #require(finished), revision: 1_000, status: status, startedAt: nil, endedAt: nil,
                    environment: .outdoor, run: status == .deleted ? nil : first.run.id), of: ben, now: second.now)
        }
        #expect(second.run == before)
        #expect(second.status(ben) == .running)
    }

    @Test func `an end or leave that comes twice counts once`() throws {
        var stage = try Scene.running.stage()
        stage.see(ben, .saving, ended: 500, revision: 100)
        let ended = stage.run
        stage.wait(30)
        stage.see(ben, .saving, ended: 500, revision: 100)
        #expect(stage.run == ended)
        #expect(stage.ask(anna, .leave) == "ok")
        let left = stage.run
        stage.wait(30)
        #expect(stage.ask(anna, .leave) == "ok")
        #expect(stage.run == left)
        stage.see(ben, .completed, ended: 500)
        #expect(stage.participant(ben).at == stage.time(500))
    }

    @Test func `a run told twice starts once and does not block the next`() throws {
        var stage = try Scene.hostConfirmed.stage()
        stage.ask(ben, .confirm)
        let entry = try #require(stage.participant(ben).entry)
        let once = stage.run
        for _ in 0..<3 {
            stage.wait(1)
            #expect(stage.ask(ben, .confirm) == "ok")
            #expect(stage.ask(anna, .begin) == "ok")
        }
        #expect(stage.run == once)
        #expect(stage.view(ben)?.own?.session == entry.session)
        #expect(stage.view(ben)?.own?.startId == entry.startId)
        stage.advanceToStart()
        stage.see(anna, .completed)
        stage.see(ben, .completed)
        let second = try next(after: stage)
        #expect(second.run.status == .running)
        #expect(second.participant(ben).entry?.session != entry.session)
        #expect(second.participant(ben).entry?.startId != entry.startId)
    }

    @Test func `a finish is seen whoever ended first`() throws {
        for order in [[anna, ben], [ben, anna]] {
            var stage = try Scene.running.stage()
            stage.see(order[0], .saving, ended: 500)
            #expect(stage.view(order[1])?.participants.first { $0.user == order[0] }?.status == .finished)
            stage.see(order[1], .saving, ended: 600)
            for user in order { #expect(stage.view(user)?.participants.count { $0.status == .finished } == 2) }
            #expect(stage.run.status == .finished)
        }
    }

    @Test func `no session starts from an unconfirmed run`() throws {
        for scene in Scene.allCases {
            var stage = try scene.stage()
            for user in [anna, ben, cleo] {
                let own = stage.view(user)?.own
                let hasConfirmed = [.confirmed, .running, .finished].contains(stage.status(user))
                #expect((own?.session != nil) == hasConfirmed, "\(scene) \(user)")
                #expect((own?.startId != nil) == hasConfirmed, "\(scene) \(user)")
            }
            // Nothing says when to start before the run is starting.
            if [.inviting, .accepted, .confirming, .hostConfirmed, .canceled, .expired].contains(scene) {
                #expect(stage.view(anna)?.participants.allSatisfy { $0.startsAt == nil } == true)
                #expect(stage.view(anna)?.startsAt == nil)
            }
            // A session that names the run makes a runner of nobody who did not confirm.
            let before = stage.run
            stage.see(cleo, .active, 9)
            #expect(stage.run == before)
        }
    }

    @Test func `nothing of one run shows in the next`() throws {
        var first = try RunStage(invite: [ben]) { $0.name = "first" }
        first.ask(ben, accept)
        first.ask(ben, .share(Sharing.Change(position: false, heartRate: false, hideNear: 800)))
        first.ask(anna, .confirm)
        first.ask(ben, .confirm)
        first.advanceToStart()
        for user in [anna, ben] { first.see(user, .saving) }
        var fresh = try RunStage(invite: [ben])
        fresh.run = try Run(RunStage.id(2), RunProposal(RunSettings(), invite: [ben]), from: anna, now: first.now)
        let second = try next(after: first)
        let view = try #require(second.view(ben))
        #expect(view.participants.allSatisfy { $0.status == .confirmed && $0.finished == nil && $0.environment == nil })
        #expect(view.participants.map(\.sharing) == [.all, .all])
        #expect(view.settings == fresh.run.settings)
        let text = String(decoding: JSONCoding.encode(second.run), as: UTF8.self)
        #expect(!text.contains(first.run.id.description))
        for user in [anna, ben] {
            let entry = try #require(first.participant(user).entry)
            #expect(!text.contains(entry.session.description))
            #expect(!text.contains(entry.startId.description))
        }
    }

    @Test func `unconfirmed after 60 s is declined, over a restart too`() throws {
        for restarts in [[], [30.0], [30, 59, 59.9], [200]] {
            var stage = try RunStage()
            stage.ask(ben, accept)
            stage.ask(cleo, accept)
            stage.ask(anna, .begin)
            stage.ask(anna, .confirm)
            stage.ask(ben, .confirm)
            for time in restarts {
                stage.wait(time - stage.time)
                try stage.restart()
                if time < 60 { stage.advance(by: 0) }
                #expect(stage.status(cleo) == .accepted)
            }
            stage.advance(to: max(60, stage.time))
            #expect(stage.status(cleo) == .declined)
            #expect(stage.participant(cleo).reason == "unconfirmed")
            #expect(stage.run.status == .starting)
        }
    }

    @Test func `a confirmation that repeats after a connect counts, though its deadline is over`() throws {
        var stage = try Scene.hostConfirmed.stage()
        stage.wait(65)
        try stage.restart()
        #expect(stage.ask(ben, .confirm) == "ok")
        stage.advance(by: 10)
        #expect(stage.status(ben) == .confirmed)
        #expect(stage.run.status == .running)
    }

    @Test func `no way out of a run discards a workout`() throws {
        let ways: [(String, (inout RunStage) -> Void)] = [
            ("leave", { $0.ask(RunStage.ben, .leave) }),
            ("leave of the other", { $0.ask(RunStage.anna, .leave) }),
            ("cancel", { $0.ask(RunStage.anna, .cancel) }),
            ("remove", { $0.ask(RunStage.anna, .remove(RunStage.ben)) }),
            ("decline", { $0.ask(RunStage.ben, .decline) }),
            ("block", { $0.run.setBlocks { $0 == RunStage.anna ? [RunStage.ben] : [] } }),
            ("deletion of the other", { $0.run.erase(RunStage.anna, now: $0.now) }),
            ("end of the run", { $0.see(RunStage.anna, .completed) }),
            ("a day", { $0.advance(by: 86_400) }),
        ]
        for (name, way) in ways {
            var stage = try Scene.running.stage()
            let entry = stage.participant(ben).entry
            way(&stage)
            // The session and its id stay in the runner's own row, so that every device goes on with it.
            #expect(stage.participant(ben).entry?.session == entry?.session, "\(name)")
            #expect(stage.participant(ben).session?.status == .active, "\(name)")
            #expect(stage.view(ben)?.own?.session == entry?.session, "\(name)")
            #expect(stage.view(ben)?.own?.startId == entry?.startId, "\(name)")
        }
        // Before there are sessions a run can be canceled, never after.
        for scene in [Scene.starting, .running, .rolling, .finished] {
            var stage = try scene.stage()
            #expect(stage.ask(anna, .cancel) == "invalid_state")
        }
    }
}
