import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Section 2: who may ask what, when, and what it changes.
struct RunRequestTests {
    private static let (anna, ben, cleo, dora) = (RunStage.anna, RunStage.ben, RunStage.cleo, RunStage.dora)
    private static let accept = VirtualRunRequest.Action.accept(Sharing.Change())

    /// A request in a scene. `outcome` is `ok` or the code of the refusal, and `status` what the request changes.
    struct Row: CustomTestStringConvertible {
        let scene: Scene
        let user: User
        let action: VirtualRunRequest.Action
        let outcome: String
        /// The status of the run, and of a participant, afterwards.
        let run: RunStatus?
        let participant: (User, ParticipantStatus)?

        init(
            _ scene: Scene, _ user: User, _ action: VirtualRunRequest.Action, _ outcome: String,
            _ run: RunStatus? = nil, _ participant: (User, ParticipantStatus)? = nil
        ) {
            self.scene = scene
            self.user = user
            self.action = action
            self.outcome = outcome
            self.run = run
            self.participant = participant
        }

        var testDescription: String { "\(action.name) by \(user) while \(scene.rawValue): \(outcome)" }
    }

    static let ofHosts = [
        Row(.inviting, anna, .invite([dora]), "ok", .inviting, (dora, .invited)),
        Row(.confirming, anna, .invite([dora]), "ok", .confirming, (dora, .invited)),
        Row(.starting, anna, .invite([dora]), "ok", .starting, (dora, .invited)),
        Row(.running, anna, .invite([dora]), "ok", .running, (dora, .invited)),
        Row(.rolling, anna, .invite([dora]), "ok", .running, (dora, .invited)),
        Row(.inviting, anna, .invite([ben, anna]), "ok", .inviting, (ben, .invited)),
        Row(.inviting, ben, .invite([dora]), "not_host"),
        Row(.closed, anna, .invite([dora]), "invalid_state"),
        Row(.finished, anna, .invite([dora]), "invalid_state"),
        Row(.canceled, anna, .invite([dora]), "invalid_state"),

        Row(.inviting, anna, .remove(ben), "ok", .inviting, (ben, .declined)),
        Row(.accepted, anna, .remove(ben), "ok", .inviting, (ben, .declined)),
        Row(.confirming, anna, .remove(cleo), "ok", .confirming, (cleo, .declined)),
        Row(.running, anna, .remove(cleo), "ok", .running, (cleo, .declined)),
        Row(.finished, anna, .remove(cleo), "ok", .finished, (cleo, .declined)),
        Row(.starting, anna, .remove(ben), "invalid_state"),
        Row(.running, anna, .remove(ben), "invalid_state"),
        Row(.inviting, anna, .remove(dora), "invalid_state"),
        Row(.inviting, anna, .remove(anna), "invalid_state"),
        Row(.inviting, ben, .remove(cleo), "not_host"),

        Row(.accepted, anna, .begin, "ok", .confirming, (anna, .accepted)),
        Row(.inviting, anna, .begin, "invalid_state"),
        Row(.accepted, ben, .begin, "not_host"),
        Row(.confirming, anna, .begin, "ok", .confirming),
        Row(.running, anna, .begin, "ok", .running),
        Row(.rolling, anna, .begin, "ok", .running),
        Row(.finished, anna, .begin, "invalid_state"),
        Row(.canceled, anna, .begin, "invalid_state"),

        Row(.inviting, anna, .cancel, "ok", .canceled, (ben, .declined)),
        Row(.accepted, anna, .cancel, "ok", .canceled, (ben, .accepted)),
        Row(.confirming, anna, .cancel, "ok", .canceled),
        Row(.canceled, anna, .cancel, "ok", .canceled),
        Row(.inviting, ben, .cancel, "not_host"),
        Row(.starting, anna, .cancel, "invalid_state"),
        Row(.running, anna, .cancel, "invalid_state"),
        Row(.rolling, anna, .cancel, "invalid_state"),
        Row(.finished, anna, .cancel, "invalid_state"),
    ]

    static let ofAll = [
        Row(.inviting, cleo, accept, "ok", .inviting, (cleo, .accepted)),
        Row(.confirming, cleo, accept, "ok", .confirming, (cleo, .accepted)),
        Row(.starting, cleo, accept, "ok", .starting, (cleo, .accepted)),
        Row(.running, cleo, accept, "ok", .running, (cleo, .accepted)),
        Row(.rolling, cleo, accept, "ok", .running, (cleo, .accepted)),
        Row(.accepted, ben, accept, "ok", .inviting, (ben, .accepted)),
        Row(.running, ben, accept, "ok", .running, (ben, .running)),
        Row(.expired, ben, accept, "invite_expired"),
        Row(.closed, cleo, accept, "invalid_state"),
        Row(.finished, cleo, accept, "invalid_state"),
        Row(.canceled, ben, accept, "invalid_state"),

        Row(.inviting, cleo, .decline, "ok", .inviting, (cleo, .declined)),
        Row(.accepted, ben, .decline, "ok", .inviting, (ben, .declined)),
        Row(.confirming, cleo, .decline, "ok", .confirming, (cleo, .declined)),
        Row(.running, cleo, .decline, "ok", .running, (cleo, .declined)),
        Row(.expired, ben, .decline, "ok", .canceled, (ben, .declined)),
        Row(.canceled, ben, .decline, "ok", .canceled, (ben, .declined)),
        Row(.hostConfirmed, anna, .decline, "invalid_state"),
        Row(.running, ben, .decline, "invalid_state"),

        Row(.confirming, ben, .confirm, "ok", .confirming, (ben, .confirmed)),
        Row(.hostConfirmed, ben, .confirm, "ok", .starting, (ben, .confirmed)),
        Row(.hostConfirmed, anna, .confirm, "ok", .confirming, (anna, .confirmed)),
        Row(.rolling, ben, .confirm, "ok", .running, (ben, .confirmed)),
        Row(.running, ben, .confirm, "ok", .running, (ben, .running)),
        Row(.inviting, anna, .confirm, "invalid_state"),
        Row(.accepted, ben, .confirm, "invalid_state"),
        Row(.confirming, cleo, .confirm, "invalid_state"),
        Row(.running, cleo, .confirm, "invalid_state"),
        Row(.finished, cleo, .confirm, "invalid_state"),
        Row(.canceled, anna, .confirm, "invalid_state"),

        Row(.hostConfirmed, anna, .leave, "ok", .confirming, (anna, .declined)),
        Row(.starting, ben, .leave, "ok", nil, (ben, .left)),
        Row(.running, ben, .leave, "ok", .running, (ben, .left)),
        Row(.finished, ben, .leave, "ok", .finished, (ben, .left)),
        Row(.canceled, ben, .leave, "ok", .canceled, (ben, .declined)),
        Row(.inviting, ben, .leave, "invalid_state"),
        Row(.accepted, ben, .leave, "invalid_state"),

        Row(.accepted, ben, .share(Sharing.Change(route: true)), "ok", .inviting, (ben, .accepted)),
        Row(.running, ben, .share(Sharing.Change(route: true)), "ok", .running, (ben, .running)),
        Row(.finished, ben, .share(Sharing.Change(route: true)), "ok", .finished, (ben, .finished)),
        Row(.inviting, ben, .share(Sharing.Change(route: true)), "invalid_state"),

        Row(.inviting, ben, .show, "ok"),
        Row(.running, ben, .show, "ok"),
        Row(.canceled, ben, .show, "ok"),

        Row(.finished, ben, .routes, "ok"),
        Row(.finished, cleo, .routes, "invalid_state"),
        Row(.running, ben, .routes, "invalid_state"),
        Row(.canceled, anna, .routes, "invalid_state"),

        Row(.running, ben, .keepWaiting, "invalid_state"),
    ]

    @Test(arguments: ofHosts + ofAll)
    func `a request is accepted or refused as its row says, and a refusal changes nothing`(row: Row) throws {
        var stage = try row.scene.stage()
        let before = stage.run
        #expect(stage.ask(row.user, row.action) == row.outcome)
        if row.outcome != "ok" { #expect(stage.run == before) }
        if let status = row.run { #expect(stage.run.status == status) }
        if let (user, status) = row.participant { #expect(stage.status(user) == status) }
    }

    @Test(arguments: (ofHosts + ofAll).filter { $0.outcome == "ok" })
    func `a request that comes again succeeds and changes nothing`(row: Row) throws {
        var stage = try row.scene.stage()
        stage.ask(row.user, row.action)
        let once = stage.run
        stage.wait(5)
        #expect(stage.ask(row.user, row.action) == "ok")
        #expect(stage.run == once)
    }

    private static let about: [VirtualRunRequest.Action] = [
        .invite([dora]), .remove(ben), .begin, .cancel, accept, .decline, .confirm, .leave, .share(Sharing.Change()),
        .keepWaiting, .show, .routes,
    ]

    @Test(arguments: Scene.allCases)
    func `a stranger finds no run`(scene: Scene) throws {
        var stage = try scene.stage()
        for action in Self.about { #expect(stage.ask(Self.dora, action) == "run_not_found") }
    }

    @Test func `an invited user who does not see the invitation finds no run, and the host sees no difference`() throws
    {
        var stage = try RunStage(unreachable: [Self.cleo])
        for action in Self.about { #expect(stage.ask(Self.cleo, action) == "run_not_found") }
        #expect(stage.view(Self.cleo) == nil)
        #expect(stage.run.overview(for: Self.cleo) == nil)
        #expect(stage.view(Self.anna) == (try RunStage().view(Self.anna)))
        stage.advance(to: 24 * RunStage.hour)
        #expect(stage.participant(Self.cleo).reason == "expired")
    }

    @Test func `a prompt can be answered by a runner who has one`() throws {
        var stage = try Scene.running.stage()
        #expect(stage.ask(Self.ben, .keepWaiting, context: RunContext(hasPrompt: true)) == "ok")
        #expect(stage.ask(Self.cleo, .keepWaiting, context: RunContext(hasPrompt: true)) == "invalid_state")
    }

    @Test func `who is confirmed or running elsewhere cannot confirm, but repeats a confirmation`() throws {
        var stage = try Scene.confirming.stage()
        let elsewhere = RunContext(isRunningElsewhere: true)
        #expect(stage.ask(Self.ben, .confirm, context: elsewhere) == "run_in_progress")
        #expect(stage.ask(Self.ben, .confirm) == "ok")
        #expect(stage.ask(Self.ben, .confirm, context: elsewhere) == "ok")
    }

    @Test func `a limit of invitations refuses only new ones`() throws {
        var stage = try RunStage()
        let limit = RunContext(refusal: Refusal(code: "invite_limit", message: ""))
        #expect(stage.ask(Self.anna, .invite([Self.ben]), context: limit) == "ok")
        #expect(stage.ask(Self.anna, .invite([Self.dora]), context: limit) == "invite_limit")
        #expect(stage.status(Self.dora) == nil)
    }

    @Test func `a run has 50 runners, and a place is free again when somebody declines`() throws {
        let crowd = (1...47).map { User("r\($0)")! }
        var stage = try RunStage(invite: crowd, ghosts: [.pace(300)])
        #expect(stage.ask(Self.anna, .invite([Self.ben, Self.cleo])) == "run_full")
        #expect(stage.ask(Self.anna, .invite([Self.ben])) == "ok")
        #expect(stage.ask(Self.anna, .invite([Self.cleo])) == "run_full")
        #expect(stage.ask(crowd[0], .decline) == "ok")
        #expect(stage.ask(Self.anna, .invite([Self.cleo])) == "ok")
        #expect(stage.run.runnerCount == 50)
    }

    @Test func `a run invites 99 people in all`() throws {
        var stage = try RunStage()
        for number in 1...97 {
            let user = User("r\(number)")!
            #expect(stage.ask(Self.anna, .invite([user])) == "ok")
            stage.ask(user, .decline)
        }
        #expect(stage.run.participants.count == Run.listLimit)
        #expect(stage.ask(Self.anna, .invite([Self.dora])) == "run_full")
    }

    @Test func `who declined in person is not invited again, and who was removed or did not answer is`() throws {
        var stage = try RunStage()
        stage.ask(Self.ben, .decline)
        stage.ask(Self.anna, .remove(Self.cleo))
        #expect(stage.run.status == .canceled)
        stage = try RunStage(ghosts: [.pace(300)])
        stage.ask(Self.ben, .decline)
        stage.ask(Self.anna, .remove(Self.cleo))
        #expect(stage.ask(Self.anna, .invite([Self.ben, Self.cleo])) == "ok")
        #expect(stage.status(Self.ben) == .declined)
        #expect(stage.status(Self.cleo) == .invited)
    }

    @Test func `a creation that comes again succeeds, and another one with its id is refused`() throws {
        var stage = try RunStage()
        let same = RunProposal(RunSettings(), invite: [Self.ben, Self.cleo])
        var other = same
        other.settings.goal = .distance(5_000)
        let before = stage.run
        #expect(stage.ask(Self.anna, .create(same)) == "ok")
        #expect(stage.ask(Self.anna, .create(other)) == "invalid_state")
        #expect(stage.ask(Self.ben, .create(same)) == "invalid_state")
        #expect(stage.run == before)
    }

    @Test(arguments: [-1, 0, 7 * 86_400 + 1])
    func `a time in the past or more than 7 days ahead is refused`(seconds: Double) {
        #expect(throws: Refusal.self) { try RunStage { $0.scheduledAt = RunStage.began + seconds } }
        #expect(throws: Refusal.self) {
            try RunStage {
                $0.start = .rolling
                $0.endsAt = RunStage.began + seconds
            }
        }
    }

    @Test func `a creation without another runner, with its host or with too many is refused`() {
        #expect(throws: Refusal.self) { try RunStage(invite: []) }
        #expect(throws: Refusal.self) { try RunStage(invite: [Self.anna]) }
        #expect(throws: Refusal.self) { try RunStage(invite: (1...50).map { User("r\($0)")! }) }
        #expect(throws: Refusal.self) { try RunStage(ghosts: Array(repeating: .pace(300), count: 9)) }
    }

    @Test func `a scheduled run begins an hour early at most`() throws {
        var stage = try RunStage { $0.scheduledAt = RunStage.began + 2 * RunStage.hour }
        stage.ask(Self.ben, Self.accept)
        #expect(stage.ask(Self.anna, .begin) == "invalid_state")
        stage.advance(to: RunStage.hour)
        #expect(stage.ask(Self.anna, .begin) == "ok")
    }
}
