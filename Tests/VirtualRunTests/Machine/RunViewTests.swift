import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// What each participant sees, and what each shares.
struct RunViewTests {
    private let anna = RunStage.anna
    private let ben = RunStage.ben
    private let cleo = RunStage.cleo
    private let dora = RunStage.dora
    private let accept = VirtualRunRequest.Action.accept(Sharing.Change())

    private let figures: RunFigures = {
        var figures = RunFigures()
        figures.prompt = VirtualRunView.Prompt(since: RunStage.began)
        figures.maximumHeartRates = [RunStage.anna: 190, RunStage.ben: 180]
        figures.finishes = [RunStage.ben: .init(distance: 5_000, activeDuration: 1_500, pace: 300)]
        var row = RunResult(user: RunStage.ben, status: .finished)
        row.averageHeartRate = 150
        row.hasRoute = true
        figures.results = VirtualRunView.Results(isProvisional: true, rows: [row])
        return figures
    }()

    private func row(_ user: User, in view: VirtualRunView?) -> VirtualRunView.Participant? {
        view?.participants.first { $0.user == user }
    }

    @Test func `session and start id are in the own row alone`() throws {
        for scene in Scene.allCases {
            let stage = try scene.stage()
            for user in [anna, ben, cleo] {
                let others = stage.view(user)?.participants.filter { $0.user != user } ?? []
                #expect(others.allSatisfy { $0.session == nil && $0.startId == nil })
            }
        }
    }

    @Test func `a view has the deadlines that are open`() throws {
        var stage = try Scene.accepted.stage()
        #expect(stage.view(ben)?.expiresAt == stage.time(86_400))
        #expect(stage.view(ben)?.confirmBy == nil)
        stage.ask(anna, .begin)
        #expect(stage.view(ben)?.confirmBy == stage.time(60))
        stage.ask(cleo, .decline)
        #expect(stage.view(ben)?.expiresAt == nil)
        stage.ask(anna, .confirm)
        stage.ask(ben, .confirm)
        #expect(stage.view(ben)?.confirmBy == nil)
    }

    @Test func `figures are in the rows and only for those who have them`() throws {
        var stage = try Scene.running.stage()
        var view = stage.view(anna, figures: figures)
        #expect(row(ben, in: view)?.maximumHeartRate == 180)
        #expect(row(ben, in: view)?.finished == nil)
        #expect(view?.prompt != nil)
        stage.see(ben, .saving)
        view = stage.view(anna, figures: figures)
        #expect(row(ben, in: view)?.finished?.distance == 5_000)
        #expect(stage.view(ben, figures: figures)?.prompt == nil)
        #expect(stage.view(cleo, figures: figures)?.prompt == nil)
    }

    // MARK: Sharing

    @Test func `a run made for two shares everything, others the heart rate alone`() throws {
        #expect(try RunStage(invite: [ben]).run.participants.map(\.sharing) == [.all, .all])
        #expect(try RunStage().run.participants.map(\.sharing) == [.group, .group, .group])
        let scheduled = try RunStage(invite: [ben]) { $0.scheduledAt = RunStage.began + 7_200 }
        #expect(scheduled.run.participants.map(\.sharing) == [.group, .group])
        var stage = try RunStage(sharing: Sharing.Change(position: true))
        #expect(stage.participant(anna).sharing.position)
        stage.ask(ben, .accept(Sharing.Change(route: true, hideNear: 800)))
        #expect(stage.participant(ben).sharing.route)
        #expect(stage.participant(ben).sharing.hideNear == 800)
        #expect(row(ben, in: stage.view(anna))?.sharing.hideNear == 200)
        #expect(stage.view(ben)?.own?.sharing.hideNear == 800)
    }

    @Test func `an invitation into a run made for two ends position, route and ghost until each shares again`() throws {
        var stage = try RunStage(invite: [ben])
        stage.ask(ben, accept)
        stage.ask(anna, .invite([ben]))
        #expect(stage.participant(ben).sharing == .all)
        stage.ask(anna, .invite([cleo]))
        #expect(stage.run.participants.allSatisfy { $0.sharing == .group })
        stage.ask(ben, .share(Sharing.Change(position: true)))
        stage.ask(anna, .invite([dora]))
        #expect(stage.participant(ben).sharing.position)
        #expect(!stage.participant(ben).sharing.route)
    }

    @Test func `without heart rate, its maximum and average are absent, and without route its mark`() throws {
        var stage = try Scene.running.stage()
        stage.see(ben, .saving)
        var view = stage.view(anna, figures: figures)
        #expect(view?.results?.rows[0].averageHeartRate == 150)
        #expect(view?.results?.rows[0].hasRoute == nil)
        stage.ask(ben, .share(Sharing.Change(heartRate: false, route: true)))
        view = stage.view(anna, figures: figures)
        #expect(row(ben, in: view)?.maximumHeartRate == nil)
        #expect(view?.results?.rows[0].averageHeartRate == nil)
        #expect(view?.results?.rows[0].hasRoute == true)
        #expect(stage.view(ben, figures: figures)?.results?.rows[0].averageHeartRate == 150)
    }

    @Test func `a block ends position, heart rate, routes and ghosts between both, and nobody else`() throws {
        var stage = try RunStage(ghosts: [.session(ben, SessionID(RunStage.uuid(50)))])
        for user in [ben, cleo] { stage.ask(user, accept) }
        for user in [anna, ben, cleo] {
            stage.ask(user, .share(Sharing.Change(position: true, heartRate: true, route: true, ghost: true)))
        }
        let before = stage.run
        stage.run.setBlocks { $0 == anna ? [ben, dora] : [] }
        #expect(stage.run.sharing(of: anna, with: ben) == .nothing)
        #expect(stage.run.sharing(of: ben, with: anna) == .nothing)
        #expect(stage.run.sharing(of: ben, with: cleo) == .all)
        #expect(stage.run.sharing(of: anna, with: cleo) == .all)
        #expect(stage.view(anna)?.ghosts == [])
        var figures = RunFigures()
        figures.results = VirtualRunView.Results(
            isProvisional: true, rows: [RunResult(user: ben, ghost: 1, status: .finished)])
        #expect(stage.view(anna, figures: figures)?.results?.rows == [])
        #expect(stage.view(cleo, figures: figures)?.results?.rows.count == 1)
        #expect(stage.view(cleo)?.ghosts.count == 1)
        #expect(stage.run.blocks == [RunBlock(by: anna, of: ben)])
        stage.run.setBlocks { _ in [] }
        #expect(stage.run == before)
    }

    @Test func `who declined or left shares nothing and receives nothing`() throws {
        var stage = try Scene.running.stage()
        for user in [anna, ben] { stage.ask(user, .share(Sharing.Change(position: true, route: true))) }
        stage.ask(ben, .leave)
        #expect(stage.run.sharing(of: ben, with: anna) == .nothing)
        #expect(stage.run.sharing(of: anna, with: ben) == .nothing)
        #expect(stage.run.sharing(of: anna, with: cleo) == .nothing)
    }

    @Test func `who deleted the workout shares nothing and receives no routes`() throws {
        var stage = try Scene.finished.stage()
        stage.ask(ben, .share(Sharing.Change(route: true)))
        #expect(stage.run.sharing(of: ben, with: anna).route)
        stage.see(ben, .deleted)
        #expect(stage.run.sharing(of: ben, with: anna) == .nothing)
        #expect(stage.ask(ben, .routes) == "invalid_state")
        #expect(stage.ask(anna, .routes) == "ok")
    }

    // MARK: Those without a part

    @Test func `the view of one who declined or left is frozen`() throws {
        for (scene, action) in [(Scene.accepted, VirtualRunRequest.Action.decline), (.running, .leave)] {
            var stage = try scene.stage()
            stage.ask(ben, action)
            let view = stage.view(ben, figures: figures)
            stage.ask(cleo, accept)
            stage.ask(anna, .invite([dora]))
            stage.ask(anna, .begin)
            stage.ask(anna, .confirm)
            stage.see(anna, .saving)
            stage.ask(anna, .leave)
            stage.advance(by: 86_400)
            #expect(stage.view(ben, figures: figures) == view)
            #expect(view?.participants.map(\.user) == [ben])
            #expect(view?.results == nil)
        }
    }

    @Test func `who is invited again sees the run again`() throws {
        var stage = try RunStage()
        stage.ask(anna, .remove(ben))
        #expect(stage.view(ben)?.participants.count == 1)
        stage.ask(anna, .invite([ben]))
        #expect(stage.view(ben)?.participants.count == 3)
        #expect(stage.ask(ben, accept) == "ok")
    }

    @Test func `the largest view takes less than 40 KB`() throws {
        let crowd = (1...49).map { User("runner-" + String(repeating: "x", count: 20) + "\($0)")! }
        var stage = try RunStage(invite: crowd) { $0.name = String(repeating: "n", count: 200) }
        for user in crowd { stage.ask(user, .accept(Sharing.Change(route: true, hideNear: 1_599.5))) }
        stage.ask(anna, .begin)
        for user in [anna] + crowd { stage.ask(user, .confirm) }
        stage.advanceToStart()
        for (index, user) in ([anna] + crowd).enumerated() {
            stage.see(user, .completed, ended: 3_000 + Double(index) * 1.234567)
        }
        var figures = RunFigures()
        let rows = ([anna] + crowd).enumerated().map { index, user in
            figures.maximumHeartRates[user] = 190
            figures.finishes[user] = .init(distance: 10_000.123, activeDuration: 3_000.123, pace: 300.123)
            var row = RunResult(user: user, status: .finished)
            row.place = index + 1
            row.time = 3_000.123
            row.distance = 10_000.123
            row.activeDuration = 3_000.123
            row.elapsedDuration = 3_100.123
            row.pauses = .init(count: 3, seconds: 100.123)
            row.pace = 300.123
            row.behind = .init(seconds: 123.456, meters: 456.789)
            row.averageHeartRate = 151.234
            row.environment = .outdoor
            row.hasRoute = true
            return row
        }
        figures.results = VirtualRunView.Results(isProvisional: true, rows: rows)
        let size = JSONCoding.encode(try #require(stage.view(anna, figures: figures))).count
        #expect(size < 40_000, "\(size)")
    }

    @Test func `a list of runs has the own status`() throws {
        let stage = try Scene.running.stage()
        let overview = try #require(stage.run.overview(for: ben))
        #expect(overview.own == .running)
        #expect(overview.runners == 3)
        #expect(overview.startsAt == stage.run.startsAt)
        #expect(stage.run.overview(for: dora) == nil)
    }
}
