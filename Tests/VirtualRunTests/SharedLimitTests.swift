import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// What runs of one replica mean for those of another.
struct SharedLimitTests {
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let anna = User("anna")!
    private let ben = User("ben")!

    @Test func `a user's limits count the runs of all replicas`() async throws {
        var runs = try await SharedRuns(2, clock: clock)
        func crowd(_ range: Range<Int>) -> [User] { range.map { User("u\($0)")! } }
        for index in 0..<RunLimit.openToOne {
            try await runs.accept(anna, runs.newRun(of: index % 2), .create(RunProposal(invite: [ben])))
        }
        let fourth = RunProposal(invite: [ben])
        for index in 0..<2 {
            #expect(try await runs.refusal(anna, runs.newRun(of: index), .create(fourth)) == "invite_limit")
        }
        try await runs.accept(anna, runs.newRun(of: 0), .create(RunProposal(invite: crowd(0..<49))))
        try await runs.accept(anna, runs.newRun(of: 1), .create(RunProposal(invite: crowd(49..<97))))
        let more = RunProposal(invite: crowd(97..<98))
        for index in 0..<2 {
            #expect(try await runs.refusal(anna, runs.newRun(of: index), .create(more)) == "invite_limit")
        }
        let ghost = RunProposal(invite: [], ghosts: [.pace(300)])
        for index in 0..<5 { try await runs.accept(anna, runs.newRun(of: index % 2), .create(ghost)) }
        #expect(try await runs.refusal(anna, runs.newRun(of: 0), .create(ghost)) == "run_limit")
        try await runs.pass(30)
        try await runs.move(Set(Shard.all), to: 1)
        #expect(try await runs.refusal(anna, runs.newRun(of: 1), .create(ghost)) == "run_limit")
    }

    @Test func `who runs in a run of one replica confirms none of another`() async throws {
        var runs = try await SharedRuns(2, clock: clock)
        let (first, second) = (runs.newRun(of: 0), runs.newRun(of: 1))
        for id in [first, second] {
            try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
            try await runs.accept(ben, id, .accept(Sharing.Change()))
        }
        try await runs.accept(anna, first, .confirm)
        #expect(try await runs.refusal(anna, second, .confirm) == "run_in_progress")
        try await runs.accept(anna, first, .leave)
        #expect(try await runs.refusal(anna, second, .confirm) == nil)
    }

    @Test func `the list of runs has those of all replicas, newest first, and a removed contact stays removed`()
        async throws
    {
        var runs = try await SharedRuns(2, clock: clock)
        var ids: [RunID] = []
        for index in 0..<4 {
            ids.append(runs.newRun(of: index % 2))
            try await runs.accept(anna, ids[index], .create(RunProposal(invite: [ben], ghosts: [.pace(300)])))
            if index == 2 { try await runs.accept(ben, ids[index], .decline) }
            try await runs.pass(1)
        }
        let page = try await runs.request(ben, nil, .runs(RunsQuery(limit: 3))).replies(to: ben).first?.runs
        #expect(page?.map(\.run) == [ids[3], ids[2], ids[1]])
        let before = try #require(page?.last?.createdAt)
        let rest = try await runs.request(ben, nil, .runs(RunsQuery(before: before))).replies(to: ben).first?.runs
        #expect(rest?.map(\.run) == [ids[0]])

        for id in [ids[0], ids[1]] { try await runs.accept(ben, id, .accept(Sharing.Change())) }
        try await runs.pass(2)
        for (own, other) in [(anna, ben), (ben, anna)] {
            #expect(try runs.people(own)?.contacts == [other])
            try await runs.accept(own, nil, .removeContact(other))
        }
        for index in [0, 1, 0] { try await runs.move(Set(Shard.all), to: index) }
        try await runs.pass(12)
        for user in [anna, ben] { #expect(try runs.people(user)?.contacts == []) }
    }

    @Test(arguments: [VirtualRunRequest.Action.share(Sharing.Change(ghost: false)), .leave])
    func `a session of one replica's run is a ghost of another's until its owner withdraws it`(
        withdrawal: VirtualRunRequest.Action
    ) async throws {
        var runs = try await SharedRuns(2, clock: clock)
        let first = runs.newRun(of: 0)
        try await runs.accept(anna, first, .create(RunProposal(invite: [ben])))
        try await runs.accept(ben, first, .accept(Sharing.Change()))
        for user in [anna, ben] { try await runs.accept(user, first, .confirm) }
        try await runs.pass(5)
        let start = try #require(try runs.view(first, anna)?.startsAt)
        var records: [MQTTMessage] = []
        for user in [anna, ben] {
            let state = try runs.replicas[0].state(first, user, .completed)
            let (workout, rows) = state.finished(from: start, speed: 3)
            records += [workout] + rows
            try await runs.exchange([state.message] + records)
        }
        try await runs.pass(2)
        let session = try #require(runs.run(first)?.participant(ben)?.session?.session)
        let proposal = RunProposal(invite: [], ghosts: [.session(ben, session)])
        let cleo = User("cleo")!
        try await runs.accept(ben, nil, .block(cleo))
        let (open, old) = (runs.newRun(of: 1), runs.newRun(of: 1))
        for id in [old, open] {
            try await runs.request(anna, id, .create(proposal))
            try await runs.exchange(records)
            try await runs.pass(1.1)
            #expect(runs.run(id)?.ghosts.map(\.owner) == [ben])
            if id == open { try await runs.accept(anna, id, .invite([cleo])) }
            #expect(id == old || runs.run(id)?.ghosts(for: cleo) == [])
            if id == old {
                try await runs.accept(anna, id, .cancel)
                try await runs.skip(49 * 3_600)
                #expect(runs.run(old) == nil, "at rest")
            }
        }
        try await runs.accept(ben, first, withdrawal)
        try await runs.pass(2)
        #expect(runs.run(open)?.ghosts == [])
        #expect(runs.run(old)?.ghosts == [])
        #expect(try await runs.refusal(anna, runs.newRun(of: 1), .create(proposal)) == "ghost_not_found")
    }

    @Test func `a contact that its owner did not see in time is made by whoever gains the user`() async throws {
        for gaining in 0..<2 {
            var runs = try await SharedRuns(2, clock: clock)
            let (host, id) = (runs.newUser(of: 1), runs.newRun(of: 0))
            try await runs.accept(host, id, .create(RunProposal(invite: [runs.newUser(of: 0)])))
            let user = runs.newUser(of: 0)
            runs.stopped = [1]
            try await runs.accept(user, id, .accept(Sharing.Change()))
            try await runs.pass(1.1)
            #expect(try runs.people(host)?.contacts ?? [] == [])
            if gaining == 1 { runs.stopped = [] }
            try await runs.move(Set(Shard.all), to: gaining)
            try await runs.pass(1.1)
            for (own, other) in [(host, user), (user, host)] { #expect(try runs.people(own)?.contacts == [other]) }
        }
    }

    @Test func `a block that its owner stored and did not publish holds in runs of the replica that gains the user`()
        async throws
    {
        var runs = try await SharedRuns(2, clock: clock)
        let (host, user, id) = (runs.newUser(of: 0), runs.newUser(of: 1), runs.newRun(of: 0))
        try await runs.accept(host, id, .create(RunProposal(invite: [user])))
        try await runs.accept(user, id, .accept(Sharing.Change()))
        try await runs.end(1, handling: user, .block(host))
        #expect(runs.run(id)?.blocks == [])
        try await runs.move(Set(Shard.all.filter { runs.owner(of: $0) == 1 }), to: 0)
        #expect(runs.run(id)?.blocks == [RunBlock(by: user, of: host)])
    }

    @Test func `a meeting from before a deletion of everything makes no contact`() async throws {
        var runs = try await SharedRuns(2, clock: clock)
        let (host, user, id) = (runs.newUser(of: 0), runs.newUser(of: 1), runs.newRun(of: 0))
        try await runs.accept(host, id, .create(RunProposal(invite: [user])))
        runs.stopped = [1]
        try await runs.accept(user, id, .accept(Sharing.Change()))
        #expect(try runs.people(host)?.contacts == [user])
        try await runs.pass(1.1)
        // The run's owner fails before it applies the deletion.
        runs.stopped = [0]
        let profile = UserProfile(revision: 9, profile: Profile(), erasedAt: clock.now)
        try await runs.exchange([Topic.user(user, .profile).message(JSONCoding.encode(profile))])
        try await runs.move(Set(Shard.all), to: 1)
        try await runs.pass(1.1)
        #expect(runs.run(id)?.participant(user) == nil)
        #expect(try runs.people(user)?.contacts ?? [] == [])
    }

    @Test func `repeated requests leave none unchecked`() async throws {
        var runs = try await SharedRuns(2, clock: clock)
        let (host, user, id) = (runs.newUser(of: 0), runs.newUser(of: 1), runs.newRun(of: 0))
        try await runs.accept(user, nil, .block(host))
        let one = VirtualRunRequest(id: CommandID(UUID()), client: nil, run: nil, action: .addContact(anna))
        let create = VirtualRunRequest(
            id: CommandID(UUID()), client: nil, run: id, action: .create(RunProposal(invite: [user])))
        let topic = Topic.user(host, .virtualRunRequest)
        let repeated = Array(repeating: topic.message(JSONCoding.encode(one)), count: 40)
        try await runs.exchange(repeated + [topic.message(JSONCoding.encode(create))])
        #expect(runs.run(id)?.participant(user)?.isHidden == true)
    }

    @Test func `a deletion of everything reaches the runs of all replicas, those at rest and those that move too`()
        async throws
    {
        var runs = try await SharedRuns(2, clock: clock)
        let ids = [runs.newRun(of: 0), runs.newRun(of: 1), runs.newRun(of: 0), runs.newRun(of: 1)]
        for (index, id) in ids.enumerated() {
            try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
            try await runs.accept(ben, id, .accept(Sharing.Change()))
            if index < 2 { try await runs.accept(anna, id, .cancel) }
        }
        try await runs.skip(49 * 3_600)
        #expect(runs.run(ids[0]) == nil && runs.run(ids[1]) == nil, "at rest")
        let profile = UserProfile(revision: 9, profile: Profile(), erasedAt: clock.now)
        let message = Topic.user(ben, .profile).message(JSONCoding.encode(profile))
        try await runs.exchange([message])
        try await runs.move(Set(Shard.all), to: 0)
        try await runs.pass(12)
        for collection in RunRecord.schema.steps.joined()
        where ![RunRecord.people, .init("cleared")].contains(collection) {
            let records = try await runs.replicas[0].store.records(in: collection, shards: Set(Shard.all))
            for record in records {
                #expect(!record.key.contains("ben"), "\(collection.name) \(record.key)")
                #expect(!String(decoding: record.value, as: UTF8.self).contains("\"ben\""), "\(collection.name)")
            }
        }
        for id in ids { #expect(try runs.view(id, ben) == nil) }
    }
}
