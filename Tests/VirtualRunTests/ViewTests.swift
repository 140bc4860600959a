import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Views: rates, revisions, clearing and deletion.
struct ViewTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let anna = User("anna")!
    private let ben = User("ben")!

    init() throws {
        folder = try TemporaryFolder()
    }

    private func people(_ count: Int) -> [User] { (1...count).map { User("u\($0)")! } }

    @Test(arguments: [(4, 1.0), (12, 3.0)])
    func `the doings of others come at most once in the interval, the own at once`(count: Int, interval: Double)
        async throws
    {
        var runs = try await Runs(folder, clock: clock)
        let (id, others) = (RunID(UUID()), people(count))
        try await runs.accept(anna, id, .create(RunProposal(invite: others)))
        try await runs.pass(interval + 1)
        var toAnna = 0
        for user in others {
            let sent = try await runs.accept(user, id, .accept(Sharing.Change()))
            #expect(sent.views(id, user).last?.own?.status == .accepted)
            toAnna += sent.views(id, anna).count
        }
        #expect(toAnna == 1, "the first of them at once")
        let soon = try await runs.pass(interval - 0.2)
        #expect(soon.views(id, anna).isEmpty)
        let later = try await runs.pass(0.4)
        #expect(later.views(id, anna).map { $0.participants.count { $0.status == .accepted } } == [count + 1])
    }

    @Test func `a change of the run's status goes out at once`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (id, others) = (RunID(UUID()), people(12))
        try await runs.accept(anna, id, .create(RunProposal(invite: others)))
        for user in others { try await runs.accept(user, id, .accept(Sharing.Change())) }
        let sent = try await runs.accept(anna, id, .begin)
        for user in others { #expect(sent.views(id, user).last?.status == .confirming) }
    }

    @Test func `a block goes out at once to both`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (id, others) = (RunID(UUID()), people(12))
        try await runs.accept(anna, id, .create(RunProposal(invite: others)))
        try await runs.pass(4)
        for user in others { try await runs.accept(user, id, .accept(Sharing.Change())) }
        try await runs.pass(4)
        let blocked = try await runs.accept(others[0], nil, .block(anna))
        let unblocked = try await runs.accept(others[0], nil, .unblock(anna))
        for (sent, shares) in [(blocked, false), (unblocked, true)] {
            for (reader, owner) in [(anna, others[0]), (others[0], anna)] {
                let row = try #require(sent.views(id, reader).last?.participants.first { $0.user == owner })
                #expect(row.sharing.heartRate == shares)
            }
        }
    }

    @Test func `an older revision on the bus is replaced, a newer one is passed`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = RunID(UUID())
        let view = try #require(
            try await runs.accept(anna, id, .create(RunProposal(invite: [ben]))).views(id, anna).last)
        func echo(_ revision: Int64) async throws -> [VirtualRunView] {
            var echoed = view
            echoed.revision = revision
            let topic = Topic.user(anna, .virtualRun(id))
            return try await runs.deliver([topic.message(JSONCoding.encode(echoed))]).views(id, anna)
        }
        #expect(try await echo(view.revision) == [])
        #expect(try await echo(view.revision - 5).map(\.revision) == [view.revision])
        #expect(try await echo(view.revision + 5).map(\.revision) == [view.revision + 6])
        let unknown = Topic.user(anna, .virtualRun(RunID(UUID())))
        let cleared = try await runs.deliver([unknown.message(JSONCoding.encode(view))])
        #expect(cleared.payloads(unknown) == [[]], "a run that the store does not have")
    }

    @Test func `a restart publishes every view again, under the same revision`() async throws {
        var runs: Runs? = try await Runs(folder, clock: clock)
        let run = RunID(UUID())
        try await runs?.accept(anna, run, .create(RunProposal(invite: [ben])))
        let before = try runs?.view(run, ben)
        runs = nil
        var later = try await Runs(folder, clock: clock, isSettled: false)
        let sent = try await later.connect()
        #expect(sent.views(run, ben) == [before])
        #expect(sent.views(run, anna).count == 1)
    }

    @Test func `views of a run that is over are cleared after 48 h, and show brings one back`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = RunID(UUID())
        try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
        #expect(try await runs.jump(60).payloads(.user(ben, .virtualRun(id))) == [])
        try await runs.accept(anna, id, .cancel)
        #expect(try await runs.jump(48 * 3_600 - 1).payloads(.user(ben, .virtualRun(id))) == [])
        let cleared = try await runs.jump(2)
        #expect(cleared.payloads(.user(ben, .virtualRun(id))) == [[]])
        #expect(cleared.payloads(.user(anna, .virtualRun(id))) == [[]])
        try await runs.pass(2)
        #expect(runs.run(id) == nil, "at rest")
        let list = try await runs.request(anna, nil, .runs(RunsQuery())).replies(to: anna).first
        #expect(list?.runs?.map(\.run) == [id])
        #expect(try await runs.accept(anna, id, .show).views(id, anna).last?.status == .canceled)
    }

    @Test func `runs are removed after 400 days`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = RunID(UUID())
        try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
        try await runs.accept(anna, id, .cancel)
        for _ in 0..<3 { try await runs.jump(49 * 3_600) }
        #expect(runs.run(id) == nil)
        for _ in 0..<401 { try await runs.jump(86_400) }
        for _ in 0..<300 { try await runs.jump(400) }
        for collection in [RunRecord.runs, RunRecord.listings, RunRecord.finals] {
            #expect(try await runs.store.records(in: collection, shards: Set(Shard.all)).isEmpty)
        }
    }

    @Test func `live metrics are subscribed to for runners only, and until their run is over`() async throws {
        var runs: Runs? = try await Runs(folder, clock: clock)
        func filters() -> [String]? { runs?.loop.subscriptions.map(\.filter) }
        #expect(filters() == [])
        let id = try #require(await runs?.start(anna, [ben]))
        try await runs?.pass(1)
        let expected = ["pacebus/v1/+/anna/+/metrics", "pacebus/v1/+/ben/+/metrics"]
        #expect(filters() == expected)
        runs = nil
        runs = try await Runs(folder, clock: clock)
        #expect(filters() == expected, "after a restart too")
        for user in [anna, ben] { try await runs?.accept(user, id, .leave) }
        try await runs?.pass(1)
        #expect(filters() == [])
    }

    @Test func `subscriptions are renewed on every connect`() {
        let all = VirtualRunService.subscriptions(Set(Shard.all)).map(\.filter)
        #expect(Set(all).count == all.count)
        #expect(all.contains("pacebus/v1/u/+/runs/+") && all.contains("pacebus/v1/+/+/+/workout"))
        #expect(all.contains("pacebus/v1/services/_metrics-aggregator/+"))
    }

    @Test func `a watch that slept gets the latest and nothing older`() async throws {
        // Retained, with QoS 0: the broker keeps one message and queues none.
        let topic = Topic.user(anna, .partners(RunID(UUID())))
        #expect(topic.isRetained && topic.qos == .atMostOnce)
        var runs: Runs? = try await Runs(folder, clock: clock)
        let id = try #require(await runs?.start(anna, [ben]))
        try await runs?.pass(4)
        for user in [anna, ben] {
            let state = try #require(try runs?.state(id, user))
            try await runs?.deliver([state.message])
        }
        let sent = try #require(await runs?.pass(30)).partners(id, anna).map(\.revision)
        #expect(sent.count > 2 && sent == sent.sorted() && Set(sent).count == sent.count)
        runs = nil
        var later = try await Runs(folder, clock: clock, isSettled: false)
        let again = try await later.connect() + (try await later.pass(2))
        #expect(!again.partners(id, anna).isEmpty)
        #expect(again.partners(id, anna).allSatisfy { $0.revision > sent.last! }, "after a restart too")
    }

    @Test func `a route is asked for 18 times, 10 s apart`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = try await runs.start(anna, [ben])
        try await runs.pass(4)
        let states = [try runs.state(id, anna, .completed), try runs.state(id, ben, .completed)]
        try await runs.deliver(states.map(\.message))
        let session = Session(
            key: states[0].key, start: SessionStart(activity: .running, countdown: 0), at: clock.now, now: clock.now)
        var workout = WorkoutRecord(session, metrics: nil, isComplete: true, revision: 5)
        workout.run = id
        workout.distance = 1_000
        workout.summaries = ["metrics": 4, "route": 3]
        let topic = Topic.session(states[0].key, .workout)
        var asked: [Double] = []
        let began = clock.now
        try await runs.deliver([topic.message(JSONCoding.encode(workout))])
        for _ in 0..<(4 * 3_600) {
            if try await runs.jump(1).contains(where: { $0.topic == Topic.session(states[0].key, .request).name }) {
                asked.append(clock.now.seconds(since: began))
            }
        }
        #expect(asked.prefix(18).enumerated().allSatisfy { abs($1 - Double(2 + 10 * $0)) <= 1 }, "\(asked)")
        #expect(asked.count == 18 + 3, "then hourly")
    }
}
