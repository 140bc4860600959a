import Bus
import Foundation
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Deleted sessions, deleted accounts, and ghosts.
struct RunDeletionTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let anna = User("anna")!
    private let ben = User("ben")!

    init() throws {
        folder = try TemporaryFolder()
    }

    private func profile(_ user: User, erasedAt: Timestamp?) -> MQTTMessage {
        Topic.user(user, .profile).message(
            JSONCoding.encode(UserProfile(revision: 9, profile: Profile(), erasedAt: erasedAt)))
    }

    @Test func `an account that deletes everything leaves no view, no contacts and no name`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = try await runs.start(anna, [ben])
        try await runs.pass(4)
        for user in [anna, ben] { try await runs.deliver([try runs.state(id, user).message]) }
        for user in [anna, ben] { try await runs.deliver([try runs.state(id, user, .completed, revision: 2).message]) }
        try await runs.pass(2)
        clock.advance(by: .seconds(60))
        let sent = try await runs.deliver([profile(ben, erasedAt: clock.now)]) + (try await runs.pass(2))
        #expect(sent.payloads(.user(ben, .virtualRun(id))).last == [])
        #expect(sent.payloads(.user(ben, .virtualRunPeople)).last == [])
        #expect(sent.payloads(.user(ben, .partners(id))).last == [])
        let view = try #require(sent.views(id, anna).last)
        #expect(view.participants.map(\.user) == [anna])
        #expect(view.results?.rows.contains { $0.user == nil && $0.status == .withdrawn } == true)
        let live = try await runs.store.records(in: RunRecord.live, shards: Set(Shard.all))
        #expect(live.allSatisfy { !String(decoding: $0.value, as: UTF8.self).contains("\"ben\"") })
        let list = try await runs.request(ben, nil, .runs(RunsQuery())).replies(to: ben).first
        #expect(list?.runs == [])
        // The profile is retained: it comes again with each connect.
        let again = try await runs.deliver([profile(ben, erasedAt: clock.now)])
        #expect(again == [])
    }

    @Test func `each connect clears the partners of a deleted account for 48 h, over restarts too`() async throws {
        func eraseBen() async throws -> (run: RunID, deserted: RunID) {
            var runs = try await Runs(folder, clock: clock)
            let id = try await runs.start(anna, [ben])
            try await runs.pass(4)
            for user in [anna, ben] { try await runs.deliver([try runs.state(id, user).message]) }
            #expect(try await runs.pass(3).partners(id, ben).isEmpty == false)
            let deserted = RunID(UUID())
            try await runs.accept(ben, deserted, .create(RunProposal(invite: [anna])))
            try await runs.deliver([profile(ben, erasedAt: clock.now)])
            #expect(runs.run(id) != nil && runs.run(deserted) == nil)
            #expect(try await runs.connect().payloads(.user(ben, .partners(id))) == [[]])
            return (id, deserted)
        }
        let (id, deserted) = try await eraseBen()
        var later = try await Runs(folder, clock: clock, isSettled: false)
        let sent = try await later.connect()
        #expect(sent.payloads(.user(ben, .partners(id))) == [[]])
        #expect(sent.payloads(.user(ben, .partners(deserted))) == [[]], "the run itself is removed")
        #expect(!sent.payloads(.user(anna, .partners(id))).contains([]))
        clock.advance(by: .seconds(48 * 3_600 - 1))
        #expect(try await later.connect().payloads(.user(ben, .partners(id))) == [[]])
        clock.advance(by: .seconds(2))
        #expect(try await later.connect().payloads(.user(ben, .partners(id))) == [])
        #expect(try await later.store.records(in: RunRecord.cleared, shards: Set(Shard.all)).isEmpty)
    }

    @Test func `a deleted account ends a run that has not begun, at rest or not`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (open, old) = (RunID(UUID()), RunID(UUID()))
        try await runs.accept(anna, old, .create(RunProposal(invite: [ben])))
        try await runs.accept(anna, old, .cancel)
        try await runs.jump(48 * 3_600)
        try await runs.pass(2)
        #expect(runs.run(old) == nil)
        try await runs.accept(anna, open, .create(RunProposal(invite: [ben])))
        let sent = try await runs.deliver([profile(anna, erasedAt: clock.now)])
        #expect(sent.payloads(.user(ben, .virtualRun(open))).last == [], "nobody has a part in it any more")
        let stored =
            try await runs.store.records(in: RunRecord.runs, shards: Set(Shard.all))
            + runs.store.records(in: RunRecord.live, shards: Set(Shard.all))
        let texts = stored.map { String(decoding: $0.value, as: UTF8.self) }
        #expect(texts.allSatisfy { !$0.contains("\"anna\"") }, "\(texts)")
    }

    @Test func `who deletes everything and is invited again stays in the run`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let (id, cleo) = (RunID(UUID()), User("cleo")!)
        try await runs.accept(anna, id, .create(RunProposal(invite: [ben, cleo])))
        clock.advance(by: .seconds(60))
        let erased = profile(ben, erasedAt: clock.now)
        try await runs.deliver([erased])
        #expect(runs.run(id)?.participant(ben) == nil)
        clock.advance(by: .seconds(60))
        try await runs.accept(anna, id, .invite([ben]))
        try await runs.accept(ben, id, .accept(Sharing.Change()))
        try await runs.deliver([erased])
        for _ in 0..<300 { try await runs.jump(100) }
        #expect(runs.run(id)?.participant(ben)?.decision == .accepted)
        #expect(runs.loop.machine.people[ben]?.contacts == [anna])
        let list = try await runs.request(ben, nil, .runs(RunsQuery())).replies(to: ben).first?.runs
        #expect(list?.map(\.run) == [id])
    }

    @Test func `a deletion of everything gives no new invitations for the day`() async throws {
        var runs = try await Runs(folder, clock: clock)
        func crowd(_ range: Range<Int>) -> [User] { range.map { User("u\($0)")! } }
        for range in [0..<49, 49..<98] {
            try await runs.accept(anna, RunID(UUID()), .create(RunProposal(invite: crowd(range))))
        }
        clock.advance(by: .seconds(60))
        try await runs.deliver([profile(anna, erasedAt: clock.now)])
        clock.advance(by: .seconds(60))
        let sent = try await runs.request(anna, RunID(UUID()), .create(RunProposal(invite: crowd(98..<101))))
        #expect(sent.replies(to: anna).first?.error?.code == "invite_limit")
    }

    @Test func `a block by the owner of a ghost ends the ghost, though the owner has no part in the run`() throws {
        var machine = VirtualRunMachine(hidingKey: HidingKey(Array(repeating: 7, count: 16))!)
        let cleo = User("cleo")!
        let proposal = RunProposal(invite: [ben], ghosts: [.session(cleo, SessionID(UUID()))])
        let run = try Run(RunID(UUID()), proposal, from: anna, now: clock.moment)
        machine.load(RunRecord(run), now: clock.moment)
        var random = SeededRandom(seed: 1)
        let block = VirtualRunRequest(id: CommandID(UUID()), client: nil, action: .block(anna))
        _ = machine.answerRequest(block, of: cleo, now: clock.moment, using: &random)
        #expect(machine.entries[run.id]?.run.ghosts(for: anna) == [])
        #expect(machine.entries[run.id]?.run.ghosts(for: ben).count == 1)
    }

    @Test func `a deleted session's row is withdrawn`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = try await runs.start(anna, [ben])
        try await runs.pass(4)
        for user in [anna, ben] { try await runs.deliver([try runs.state(id, user, .completed).message]) }
        var deleted = try runs.state(id, ben, .deleted, revision: 3)
        deleted.run = nil
        let sent = try await runs.deliver([deleted.message]) + (try await runs.pass(2))
        let results = try #require(sent.views(id, anna).last?.results)
        #expect(results.rows.first { $0.user == ben }?.status == .withdrawn)
    }

    @Test func `a pacing partner needs no curve, and an unknown ghost is refused after a minute`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = RunID(UUID())
        let paced = try await runs.accept(anna, id, .create(RunProposal(invite: [], ghosts: [.pace(300)])))
        #expect(paced.views(id, anna).last?.status == .confirming)
        #expect(paced.views(id, anna).last?.ghosts == [.init(number: 1, pace: 300)])

        let session = SessionID(UUID())
        let ghost = RunProposal(invite: [], ghosts: [.session(nil, session)])
        let asked = try await runs.request(ben, RunID(UUID()), .create(ghost))
        #expect(asked.replies(to: ben).isEmpty)
        #expect(asked.map(\.topic) == [Topic.session(SessionKey(ben, session), .request).name])
        #expect(try await runs.pass(59).replies(to: ben).isEmpty)
        #expect(try await runs.pass(2).replies(to: ben).map(\.error?.code) == ["ghost_not_found"])
        let foreign = RunProposal(invite: [], ghosts: [.session(anna, session)])
        let refused = try await runs.request(ben, RunID(UUID()), .create(foreign))
        #expect(refused.replies(to: ben).map(\.error?.code) == ["ghost_not_found"])
    }
}
