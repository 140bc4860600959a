import Bus
import Foundation
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Results, routes and ghosts from finished records and their final rows.
struct ServiceResultsTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let anna = User("anna")!
    private let ben = User("ben")!

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `results come from records and rows, in any order and over a restart the same`() async throws {
        var outcomes: [[UInt8]] = []
        var random = SeededRandom()
        for _ in 0..<6 {
            let folder = try TemporaryFolder()
            var runs: Runs? = try await Runs(folder, clock: clock)
            let id = try #require(await runs?.start(anna, [ben]))
            try await runs?.pass(4)
            let view = try #require(try runs?.view(id, anna))
            let start = try #require(view.startsAt)
            var messages: [MQTTMessage] = []
            for (user, speed) in [(anna, 3.0), (ben, 4.0)] {
                let state = try #require(try runs?.state(id, user))
                try await runs?.deliver([state.message])
                let end = try #require(try runs?.state(id, user, .completed, revision: 2))
                let (workout, rows) = state.finished(from: start, speed: speed)
                messages += [end.message, workout] + rows
            }
            messages.shuffle(using: &random)
            for message in messages {
                try await runs?.deliver([message])
                if Int.random(in: 0..<4, using: &random) == 0 {
                    runs = nil
                    runs = try await Runs(folder, clock: clock)
                }
            }
            // Rows that came too early are asked for, and come again.
            try await runs?.pass(3)
            try await runs?.deliver(messages)
            try await runs?.pass(2)
            let results = try #require(try runs?.view(id, anna)?.results)
            #expect(results.provisional == nil, "seed \(random.seed)")
            #expect(results.rows.map(\.user) == [ben, anna])
            #expect(results.rows.map(\.place) == [1, 2])
            #expect(results.rows.map(\.distance) == [240, 180])
            outcomes.append(JSONCoding.encode(results))
        }
        #expect(Set(outcomes).count == 1)
    }

    @Test func `who reaches the goal first wins, and a clock that is off is named`() async throws {
        var runs = try await Runs(folder, clock: clock)
        var settings = RunSettings()
        settings.goal = .distance(165)
        let id = try await runs.start(anna, [ben], settings)
        try await runs.pass(4)
        let start = try #require(try runs.view(id, anna)?.startsAt)
        for (user, meters) in [(anna, { $0 % 2 == 1 ? 0.5 : 8 }), (ben, { _ in 4.212 })] as [(User, (Int) -> Double)] {
            var state = try runs.state(id, user, .completed)
            if user == ben { state.clockSkew = [Device("watch-1")!: 90, Device("strap-1")!: -20] }
            let (workout, rows) = state.finished(from: start, meters: meters)
            try await runs.deliver([state.message, workout] + rows)
        }
        try await runs.pass(2)
        let rows = try #require(try runs.view(id, anna)?.results?.rows)
        #expect(rows.map(\.user) == [ben, anna])
        #expect(rows.map(\.time) == [39.174, 39.375])
        #expect(rows.map(\.clockSkew) == [90, nil])
    }

    /// A session of anna's yesterday, and the proposal of a run against it.
    private func ghost() -> (workout: MQTTMessage, rows: [MQTTMessage], proposal: RunProposal, state: SessionState) {
        let key = SessionKey(anna, SessionID(UUID()))
        let start = clock.now - 86_400
        let session = Session(key: key, start: SessionStart(activity: .running, countdown: 0), at: start, now: start)
        let state = session.state(revision: 1)
        let (workout, rows) = state.finished(from: start, speed: 3)
        return (workout, rows, RunProposal(invite: [], ghosts: [.session(nil, key.session)]), state)
    }

    @Test func `a ghost of an own session runs along once its rows have come`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (workout, rows, proposal, past) = ghost()
        let id = RunID(UUID())
        #expect(try await runs.request(anna, id, .create(proposal)).replies(to: anna).isEmpty)
        let sent = try await runs.deliver([workout] + rows) + (try await runs.pass(1.1))
        #expect(sent.replies(to: anna).map(\.ok) == [true])
        #expect(sent.views(id, anna).last?.ghosts == [.init(number: 1, user: anna)])
        try await runs.accept(anna, id, .confirm)
        try await runs.pass(4.2)
        let state = try runs.state(id, anna)
        try await runs.deliver([state.message])
        var partners: [Partners] = []
        for second in 1...10 {
            let metrics = state.metrics(at: Double(second), meters: 2 * Double(second))
            partners += try await (runs.deliver([metrics]) + runs.pass(1)).partners(id, anna)
        }
        #expect(partners.last?.rows.map(\.runner) == [.ghost(1)])
        #expect(partners.last?.rows.first?.gapMeters ?? 0 > 5)

        // Its owner deletes the session: row and curve go.
        var deleted = past
        deleted.status = .deleted
        let gone = try await runs.deliver([deleted.message]) + (try await runs.pass(2))
        #expect(gone.views(id, anna).last?.ghosts == [])
        #expect(try await runs.store.records(in: RunRecord.finals, shards: Set(Shard.all)).isEmpty)
    }

    @Test func `a finished run has everyone's splits, whatever they share`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = try await runs.start(anna, [ben])
        try await runs.pass(4)
        let start = try #require(try runs.view(id, anna)?.startsAt)
        try await runs.accept(ben, id, .share(Sharing.Change(position: false, heartRate: false, route: false)))
        for (user, speed) in [(anna, 30.0), (ben, 20.0)] {
            let state = try runs.state(id, user, .completed)
            try await runs.deliver([state.message])
            let (workout, rows) = state.finished(from: start, speed: speed)
            try await runs.deliver([workout] + rows)
        }
        try await runs.pass(2)
        let reply = try #require(try await runs.request(anna, id, .routes).replies(to: anna).last)
        #expect(reply.splits?.map(\.user) == [anna, ben])
        #expect(reply.splits?.map(\.km) == [[33.3], [50]])
        #expect(reply.splits?.map(\.mi) == [[53.6], []])
    }

    /// Lets anna and ben finish a run, and returns it with their records and rows.
    private func finishedRun(_ runs: inout Runs) async throws -> (run: RunID, records: [MQTTMessage]) {
        let id = try await runs.start(anna, [ben])
        try await runs.pass(4)
        let start = try #require(try runs.view(id, anna)?.startsAt)
        var records: [MQTTMessage] = []
        for user in [anna, ben] {
            let state = try runs.state(id, user, .completed)
            try await runs.deliver([state.message])
            let (workout, rows) = state.finished(from: start, speed: 3)
            records += [workout] + rows
        }
        try await runs.deliver(records)
        try await runs.pass(2)
        return (id, records)
    }

    @Test func `results ignore edits until they are undone`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (id, _) = try await finishedRun(&runs)
        let results = try #require(try runs.view(id, anna)?.results)
        let start = try #require(try runs.view(id, anna)?.startsAt)
        var state = try runs.state(id, anna, .completed, revision: 9)
        (state.edited, state.endedAt) = (true, start + 10)
        let (message, rows) = state.finished(from: start, speed: 9, revision: 6)
        var workout = try JSONCoding.decode(WorkoutRecord.self, from: message.payload)
        workout.edited = true
        let edited = Topic.session(state.key, .workout).message(JSONCoding.encode(workout))
        try await runs.deliver([state.message] + rows + [edited])
        try await runs.pass(3)
        #expect(try runs.view(id, anna)?.results == results)
        // A record without an edit counts again.
        state = try runs.state(id, anna, .completed, revision: 10)
        let (undone, again) = state.finished(from: start, speed: 4, revision: 7)
        try await runs.deliver([state.message] + again + [undone])
        try await runs.pass(3)
        #expect(try runs.view(id, anna)?.results?.rows.first?.distance == 240)
    }

    @Test(arguments: [VirtualRunRequest.Action.share(Sharing.Change(ghost: false)), .leave])
    func `a shared session runs along until its owner withdraws it, in a run at rest too`(
        withdrawal: VirtualRunRequest.Action
    ) async throws {
        var runs = try await Runs(folder, clock: clock)
        let (first, records) = try await finishedRun(&runs)
        let session = try #require(runs.run(first)?.participant(ben)?.session?.session)

        let second = RunID(UUID())
        let proposal = RunProposal(invite: [], ghosts: [.session(ben, session)])
        try await runs.request(anna, second, .create(proposal))
        let created = try await runs.deliver(records) + (try await runs.pass(1.1))
        #expect(created.replies(to: anna).map(\.ok) == [true])
        #expect(created.views(second, anna).last?.ghosts == [.init(number: 1, user: ben)])
        try await runs.accept(anna, second, .cancel)
        try await runs.jump(49 * 3_600)
        try await runs.pass(2)
        #expect(runs.run(second) == nil)

        try await runs.accept(ben, first, withdrawal)
        #expect(runs.run(second)?.ghosts == [])
        let third = try await runs.request(anna, RunID(UUID()), .create(proposal))
        #expect(third.replies(to: anna).map(\.error?.code) == ["ghost_not_found"])
        #expect(try await runs.store.records(in: RunRecord.ghosts, shards: Set(Shard.all)).isEmpty)
    }

    @Test func `a block holds in a run at rest, over a restart too, until it ends`() async throws {
        var runs: Runs? = try await Runs(folder, clock: clock)
        let (run, _) = try await finishedRun(&runs!)
        try await runs?.jump(49 * 3_600)
        try await runs?.pass(2)
        #expect(runs?.run(run) == nil)
        try await runs?.accept(ben, nil, .block(anna))
        try await runs?.accept(anna, run, .routes)
        #expect(runs?.run(run)?.sharing(of: ben, with: anna) == .nothing)
        try await runs?.jump(49 * 3_600)
        runs = nil
        runs = try await Runs(folder, clock: clock)
        try await runs?.pass(1)
        try await runs?.accept(anna, run, .routes)
        #expect(runs?.run(run)?.sharing(of: ben, with: anna) == .nothing)
        try await runs?.accept(ben, nil, .unblock(anna))
        #expect(runs?.run(run)?.sharing(of: ben, with: anna).route == true)
    }

    @Test func `runs that wait for a ghost obey the limits when its curve comes`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (workout, rows, proposal, _) = ghost()
        let ids = (0..<12).map { _ in RunID(UUID()) }
        for id in ids { #expect(try await runs.request(anna, id, .create(proposal)).replies(to: anna).isEmpty) }
        let other = try await runs.request(ben, ids[0], .create(RunProposal(invite: [anna])))
        #expect(other.replies(to: ben).map(\.error?.code) == ["invalid_state"])
        let sent = try await runs.deliver([workout] + rows) + (try await runs.pass(1.1))
        let codes = sent.replies(to: anna).map(\.error?.code)
        #expect(codes.count { $0 == nil } == 10 && codes.count { $0 == "run_limit" } == 2, "\(codes)")
    }

    @Test func `a run that waits for the ghost of a deleted session is refused`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (workout, _, proposal, state) = ghost()
        try await runs.request(anna, RunID(UUID()), .create(proposal))
        try await runs.deliver([workout])
        var deleted = state
        deleted.status = .deleted
        let sent = try await runs.deliver([deleted.message])
        #expect(sent.replies(to: anna).map(\.error?.code) == ["ghost_not_found"])
        #expect(runs.loop.machine.creations.isEmpty)
    }
}
