import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Two runs of the same people under random requests, sessions, times and restarts.
struct RunStormTests {
    /// The people, their sessions as the engine has them, and two runs.
    private struct Storm {
        /// A session that the engine keeps. Each user has at most one that is unfinished.
        struct Session {
            let user: User
            let number: UInt8
            let run: Int
            var status: SessionStatus
            let started: Double
            var ended: Double?

            var isUnfinished: Bool { [.preparing, .active, .paused, .suspended].contains(status) }
        }

        static let people = (0..<7).map { User("r\($0)")! }
        var random: SeededRandom
        var stages: [RunStage] = []
        var sessions: [Session] = []
        /// Facts that never change back.
        var over: [RunStatus?] = [nil, nil]

        init(_ random: SeededRandom) throws {
            self.random = random
            stages = try (1...2).map { try stage($0) }
        }

        private mutating func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &random) == 0 }

        private mutating func somebody() -> User { Self.people.randomElement(using: &random)! }

        private mutating func stage(_ number: Int) throws -> RunStage {
            var settings = RunSettings()
            settings.lateJoin = chance(2)
            settings.clock = chance(2) ? .gun : .active
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                settings.start = .rolling
                if chance(2) { settings.endsAt = RunStage.began + Double.random(in: 60...90_000, using: &random) }
            case 1: settings.scheduledAt = RunStage.began + Double.random(in: 1...90_000, using: &random)
            default: break
            }
            let count = Int.random(in: 1...4, using: &random)
            let invite = Array(Self.people.dropFirst().shuffled(using: &random).prefix(count))
            var stage = try RunStage()
            stage.run = try Run(
                RunStage.id(UInt8(number)),
                RunProposal(settings, invite: invite, ghosts: chance(3) ? [.pace(300)] : []), from: Self.people[0],
                unreachable: chance(5) ? [invite[0]] : [], now: stage.now)
            stage.random = SeededRandom(seed: random.next())
            return stage
        }

        private mutating func action() -> VirtualRunRequest.Action {
            let change = Sharing.Change(position: chance(2), route: chance(2))
            let actions: [VirtualRunRequest.Action] = [
                .invite(Array(Self.people.shuffled(using: &random).prefix(2))), .remove(somebody()), .begin, .begin,
                .cancel, .accept(change), .accept(change), .accept(change), .decline, .confirm, .confirm, .confirm,
                .confirm, .leave, .share(change), .keepWaiting, .show, .routes,
            ]
            return actions.randomElement(using: &random)!
        }

        /// One event. Both runs have the same clock.
        mutating func step() throws {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9: try request()
            case 9..<14: moveSession()
            case 14..<18:
                let seconds = chance(8) ? 20_000 : Double.random(in: 0...40, using: &random)
                let isDeaf = chance(4)
                for index in stages.indices {
                    if isDeaf { stages[index].wait(seconds) } else { stages[index].advance(by: seconds) }
                }
                if !isDeaf { for stage in stages { #expect(stage.run.due.map { $0 > stage.now } ?? true) } }
            case 18:
                for index in stages.indices {
                    let before = stages[index].run
                    try stages[index].restart()
                    #expect(stages[index].run == before, "restart")
                }
            default:
                let index = Int.random(in: 0..<2, using: &random)
                let user = somebody()
                if chance(6) {
                    stages[index].run.erase(user, now: stages[index].now)
                    #expect(stages[index].run.participant(user) == nil)
                } else {
                    let other = somebody()
                    stages[index].run.setBlocks { $0 == user ? [other] : [] }
                }
            }
        }

        private mutating func request() throws {
            let index = Int.random(in: 0..<2, using: &random)
            let (user, action) = (somebody(), action())
            let context = RunContext(
                isRunningElsewhere: stages[1 - index].run.occupies(user), hasPrompt: chance(2))
            let before = stages[index].run
            guard stages[index].ask(user, action, context: context) == "ok" else {
                #expect(stages[index].run == before, "a refused \(action.name)")
                return
            }
            let after = stages[index].run
            #expect(stages[index].ask(user, action, context: context) == "ok", "a repeated \(action.name)")
            #expect(stages[index].run == after, "a repeated \(action.name)")
        }

        private mutating func moveSession() {
            let time = stages[0].time
            if chance(2) {
                let user = somebody()
                guard !sessions.contains(where: { $0.user == user && $0.isUnfinished }) else { return }
                sessions.append(
                    Session(
                        user: user, number: UInt8(clamping: 100 + sessions.count),
                        run: Int.random(in: 0..<3, using: &random),
                        status: .active, started: time))
                publish(sessions.count - 1)
                return
            }
            guard let index = sessions.indices.randomElement(using: &random) else { return }
            let moves: [SessionStatus] =
                switch sessions[index].status {
                case .preparing, .active, .paused, .suspended: [.active, .paused, .saving, .saving, .canceled]
                case .saving: [.completed, .deleted]
                case .completed: [.deleted]
                case .canceled: [.saving, .deleted]
                case .deleted: []
                }
            guard let status = moves.randomElement(using: &random) else { return }
            sessions[index].status = status
            if status == .saving { sessions[index].ended = time }
            publish(index)
        }

        private mutating func publish(_ index: Int) {
            let session = sessions[index]
            for stage in stages.indices where stages[stage].run.participant(session.user) != nil {
                stages[stage].see(
                    session.user, session.status, session.number, started: session.started, ended: session.ended,
                    run: RunStage.id(UInt8(session.run + 1)))
            }
        }

        // MARK: Bounds

        mutating func check() {
            for (index, stage) in stages.enumerated() {
                let run = stage.run
                #expect(run.runnerCount <= RunSettings.runners.upperBound)
                #expect(run.participants.count <= Run.listLimit)
                #expect(Set(run.participants.map(\.user)).count == run.participants.count)
                if let status = over[index] { #expect(run.status == status) }
                if run.status.isOver {
                    over[index] = run.status
                    #expect(run.due == nil)
                    #expect(run.deadlines.confirmBy == nil)
                    #expect(!run.participants.contains { $0.decision == .invited })
                } else {
                    #expect(run.due != nil || run.status == .running)
                    let host = run.participant(run.host)?.decision
                    #expect(host == .accepted || host == .confirmed || run.status == .running)
                }
                if [.inviting, .confirming, .starting].contains(run.status) {
                    #expect(run.runnerCount >= RunSettings.runners.lowerBound)
                }
                if run.status == .starting { #expect(run.participants.contains { $0.decision == .confirmed }) }
                #expect(run.startsAt == nil || !run.isRolling)
                for participant in run.participants { check(participant, run) }
            }
            for user in Self.people {
                let running = stages.filter { $0.status(user) == .running }
                #expect(running.count <= 1, "\(user) runs twice")
            }
        }

        private func check(_ participant: RunParticipant, _ run: Run) {
            let user = participant.user
            let view = run.view(for: user, revision: 1, figures: RunFigures())
            #expect((view == nil) == participant.isHidden)
            #expect(view?.participants.allSatisfy { $0.user == user || $0.session == nil } ?? true)
            #expect((participant.frozen != nil) == (participant.decision == .declined || participant.decision == .left))
            #expect(run.occupies(user) == (!run.status.isOver && [.confirmed, .running].contains(participant.status)))
            switch participant.status {
            case .running:
                #expect(run.status == .running || run.status == .finished)
                #expect(participant.session?.startedAt != nil)
            case .finished, .absent: #expect(run.status == .running || run.status == .finished)
            case .confirmed: #expect(participant.entry != nil && run.status != .inviting)
            case .invited, .accepted, .declined: #expect(participant.entry == nil)
            case .left: #expect(participant.entry != nil)
            }
            #expect(participant.isHidden == false || participant.entry == nil)
        }
    }

    /// The steps of the tables of section 3.
    private static let runSteps: [RunStatus: Set<RunStatus>] = [
        .inviting: [.confirming, .canceled], .confirming: [.starting, .canceled], .starting: [.running, .canceled],
        // Rolling runs begin as running: without anybody who confirms they are canceled.
        .running: [.finished, .canceled], .finished: [], .canceled: [],
    ]
    private static let steps: [ParticipantStatus: Set<ParticipantStatus>] = [
        .invited: [.accepted, .declined], .accepted: [.confirmed, .declined],
        .confirmed: [.running, .finished, .absent, .left, .declined], .running: [.finished, .left],
        .absent: [.running, .finished, .left], .finished: [.left], .left: [.running, .finished],
        .declined: [.invited],
    ]

    /// Whether a status follows from another in one event, which can pass several deadlines.
    private static func leads<Status: Hashable>(_ from: Status, _ to: Status, _ steps: [Status: Set<Status>]) -> Bool {
        var reached: Set<Status> = [from]
        for _ in steps { reached.formUnion(reached.flatMap { steps[$0] ?? [] }) }
        return reached.contains(to)
    }

    @Test func `random requests, sessions, times and restarts keep the bounds`() throws {
        var random = SeededRandom()
        for _ in 0..<60 {
            var storm = try Storm(SeededRandom(seed: random.next()))
            for _ in 0..<120 {
                let before = storm.stages.map(\.run)
                try storm.step()
                storm.check()
                for (old, stage) in zip(before, storm.stages) {
                    #expect(Self.leads(old.status, stage.run.status, Self.runSteps), "seed \(random.seed)")
                    for participant in old.participants {
                        guard let status = stage.status(participant.user) else { continue }
                        #expect(
                            Self.leads(participant.status, status, Self.steps),
                            "\(participant.status) to \(status), seed \(random.seed)")
                    }
                }
            }
        }
    }

    @Test func `session states in any order, any number of times, give the same participants`() throws {
        var random = SeededRandom()
        let states: [SessionStatus] = [.preparing, .active, .paused, .suspended, .saving, .completed, .canceled]
        for _ in 0..<200 {
            let people = [RunStage.anna, RunStage.ben]
            let stage = try Scene.starting.stage()
            var started = stage
            started.ask(RunStage.cleo, .decline)
            if Bool.random(using: &random) { started.advanceToStart() }
            let messages = people.flatMap { user in
                (1...3 as ClosedRange<UInt8>).flatMap { number in
                    (1...Int64.random(in: 1...4, using: &random)).map { revision in
                        (
                            user, states.randomElement(using: &random)!, number + (user == RunStage.anna ? 0 : 10),
                            Double(number) * 100, revision
                        )
                    }
                }
            }
            let results = (0..<4).map { _ in
                var stage = started
                let repeated = messages + messages.filter { _ in Bool.random(using: &random) }
                for (user, status, number, began, revision) in repeated.shuffled(using: &random) {
                    stage.see(user, status, number, started: began, ended: began + 50, revision: revision)
                }
                stage.advanceToStart()
                return stage.run.participants
            }
            #expect(Set(results.map { String(describing: $0) }).count == 1, "seed \(random.seed)")
        }
    }

    @Test func `no deadline recedes when the wall clock steps backwards, over a restart neither beyond its interval`()
        throws
    {
        var random = SeededRandom()
        for scene in [Scene.inviting, .confirming, .starting, .running, .rolling] {
            for _ in 0..<20 {
                var stage = try scene.stage()
                let due = stage.run.due
                stage.step = -Double.random(in: 1...1e6, using: &random)
                stage.advance(by: 0)
                #expect(stage.run.due == due)
                try stage.restart()
                let interval =
                    switch scene {
                    case .confirming: RunDeadlines.confirmation
                    case .starting: RunDeadlines.delivery + 3
                    default: 7 * 86_400.0
                    }
                if let due = stage.run.due { #expect(due.seconds(since: stage.now) <= interval) }
                stage.advance(by: interval)
                #expect(stage.run.status != scene.status)
            }
        }
    }
}

extension Scene {
    /// The status that time alone ends; `nil` where it does not.
    fileprivate var status: RunStatus? {
        switch self {
        case .inviting: .inviting
        case .confirming: .confirming
        case .starting: .starting
        case .accepted, .hostConfirmed, .running, .finished, .canceled, .expired, .closed, .rolling: nil
        }
    }
}
