import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Replies, repeats, limits and people.
struct ServiceRequestTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let anna = User("anna")!
    private let ben = User("ben")!
    private let cleo = User("cleo")!

    init() throws {
        folder = try TemporaryFolder()
    }

    private func code(_ sent: [MQTTMessage], _ user: User) -> String? { sent.replies(to: user).first?.error?.code }

    @Test func `a repeated request gets its reply again, over a restart too, and changes nothing`() async throws {
        var runs: Runs? = try await Runs(folder, clock: clock)
        let (id, request) = (RunID(UUID()), CommandID(UUID()))
        let create = VirtualRunRequest.Action.create(RunProposal(invite: [ben]))
        let first = try #require(await runs?.request(anna, id, create, id: request).replies(to: anna).first)
        #expect(first.ok && first.revision != nil)
        let before = runs?.run(id)
        let again = try #require(await runs?.request(anna, id, create, id: request).replies(to: anna).first)
        #expect(again.revision == first.revision && runs?.run(id) == before)
        runs = nil
        var later = try await Runs(folder, clock: clock)
        let repeated = try #require(await later.request(anna, id, create, id: request).replies(to: anna).first)
        #expect(repeated.ok && repeated.revision == first.revision)
    }

    @Test func `of each user the last 200 accepted replies are kept`() async throws {
        var runs = try await Runs(folder, clock: clock)
        var ids: [CommandID] = []
        for number in 0..<201 {
            ids.append(CommandID(UUID()))
            clock.advance(by: .seconds(1))
            let action: VirtualRunRequest.Action =
                number.isMultiple(of: 2) ? .addContact(ben) : .removeContact(ben)
            try await runs.request(anna, nil, action, id: ids[number])
        }
        #expect(runs.loop.machine.replies.replies(to: anna).map(\.reply.id) == Array(ids.dropFirst()))
        let stored = try await runs.store.records(in: RunRecord.replies, shards: [anna.shard])
        #expect(stored.count == 200)
    }

    @Test func `one request a second is accepted, in bursts of 30`() async throws {
        var runs = try await Runs(folder, clock: clock)
        var codes: [String?] = []
        for _ in 0..<31 { codes.append(code(try await runs.request(anna, nil, .addContact(ben)), anna)) }
        #expect(codes == Array(repeating: nil, count: 30) + ["too_many_requests"])
        #expect(try await runs.request(ben, nil, .addContact(anna)).replies(to: ben).first?.ok == true)
        clock.advance(by: .seconds(1))
        #expect(try await runs.request(anna, nil, .addContact(ben)).replies(to: anna).first?.ok == true)
    }

    @Test func `a run is unknown to whoever has no part in it`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = RunID(UUID())
        #expect(code(try await runs.request(anna, id, .show), anna) == "run_not_found")
        try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
        for action in [VirtualRunRequest.Action.show, .accept(Sharing.Change()), .routes, .leave] {
            #expect(code(try await runs.request(cleo, id, action), cleo) == "run_not_found")
        }
    }

    @Test func `an invitation to an unknown account or a viewer is refused`() async throws {
        var runs = try await Runs(folder, clock: clock)
        func tell(_ user: User, _ rights: String) -> MQTTMessage {
            Topic.account(user).message(Array(rights.utf8))
        }
        let id = RunID(UUID())
        try await runs.accept(anna, id, .create(RunProposal(invite: [User("unknown")!])))
        _ = try await runs.deliver([
            tell(anna, #"{"users":["anna"],"viewer":false}"#), tell(ben, #"{"users":["ben"],"viewer":false}"#),
            tell(cleo, #"{"users":["anna"],"viewer":true}"#),
        ])
        let others = RunProposal(invite: [ben, User("bem")!])
        let refused = try await runs.request(anna, RunID(UUID()), .create(others)).replies(to: anna).first?.error
        #expect(refused?.code == "unknown_account" && refused?.message.contains("'bem'") == true)
        #expect(code(try await runs.request(anna, id, .invite([cleo])), anna) == "unknown_account")
        #expect(code(try await runs.request(anna, nil, .addContact(User("bem")!)), anna) == "unknown_account")
        try await runs.accept(anna, id, .invite([ben]))
        _ = try await runs.deliver([tell(ben, "")])
        let removed = try await runs.request(anna, RunID(UUID()), .create(RunProposal(invite: [ben])))
        #expect(code(removed, anna) == "unknown_account")
    }

    @Test func `an invalid request is refused by its id and rejected`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let topic = Topic.user(anna, .virtualRunRequest)
        let id = CommandID(UUID())
        let sent = try await runs.deliver([
            topic.message(Array(#"{"id":"\#(id)","client":"phone-1","type":"dance"}"#.utf8))
        ])
        #expect(code(sent, anna) == "invalid_command")
        #expect(sent.contains { $0.topic == Topic.user(anna, .rejected).name })
    }

    @Test func `a user hosts ten unfinished runs`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let ghost = [GhostSource.pace(300)]
        var first: RunID?
        for _ in 0..<RunLimit.hosted {
            let id = RunID(UUID())
            first = first ?? id
            try await runs.accept(
                anna, id, .create(RunProposal(invite: [ben], ghosts: ghost).scheduled(clock.now + 600)))
            try await runs.accept(anna, id, .remove(ben))
        }
        let proposal = RunProposal(invite: [], ghosts: ghost)
        #expect(code(try await runs.request(anna, RunID(UUID()), .create(proposal)), anna) == "run_limit")
        try await runs.accept(anna, first, .cancel)
        #expect(code(try await runs.request(anna, RunID(UUID()), .create(proposal)), anna) == nil)
    }

    @Test func `three invitations to one person are open, and a hundred go out in a day`() async throws {
        var runs = try await Runs(folder, clock: clock)
        for _ in 0..<RunLimit.openToOne {
            try await runs.accept(anna, RunID(UUID()), .create(RunProposal(invite: [ben])))
        }
        let fourth = try await runs.request(anna, RunID(UUID()), .create(RunProposal(invite: [ben])))
        #expect(code(fourth, anna) == "invite_limit")
        func people(_ range: Range<Int>) -> [User] { range.map { User("u\($0)")! } }
        try await runs.accept(anna, RunID(UUID()), .create(RunProposal(invite: people(0..<49))))
        try await runs.accept(anna, RunID(UUID()), .create(RunProposal(invite: people(49..<97))))
        let more = RunProposal(invite: people(97..<98))
        #expect(code(try await runs.request(anna, RunID(UUID()), .create(more)), anna) == "invite_limit")
        try await runs.jump(86_400)
        #expect(code(try await runs.request(anna, RunID(UUID()), .create(more)), anna) == nil)
    }

    @Test(arguments: [true, false])
    func `200 contacts and 200 blocked users are the limit, and removing one makes room`(isBlock: Bool) async throws {
        var runs = try await Runs(folder, clock: clock)
        func add(_ number: Int) async throws -> String? {
            clock.advance(by: .seconds(1))
            let user = User("u\(number)")!
            return code(try await runs.request(anna, nil, isBlock ? .block(user) : .addContact(user)), anna)
        }
        for number in 0..<200 { #expect(try await add(number) == nil) }
        #expect(try await add(200) == "people_limit")
        #expect(try await add(199) == nil, "one of the 200")
        let first = User("u0")!
        clock.advance(by: .seconds(1))
        try await runs.accept(anna, nil, isBlock ? .unblock(first) : .removeContact(first))
        #expect(try await add(200) == nil)
        let person = try #require(runs.loop.machine.people[anna])
        #expect((isBlock ? person.blocked : person.contacts) == (1...200).map { User("u\($0)")! })
    }

    @Test func `someone who blocks the host sees no invitation, and the host cannot tell`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = RunID(UUID())
        try await runs.accept(ben, nil, .block(anna))
        let sent = try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
        #expect(sent.views(id, ben) == [])
        #expect(sent.views(id, anna).last?.participants.map(\.status) == [.accepted, .invited])
        #expect(code(try await runs.request(ben, id, .accept(Sharing.Change())), ben) == "run_not_found")
        let list = try await runs.request(ben, nil, .runs(RunsQuery())).replies(to: ben).first
        #expect(list?.runs == [])
    }

    @Test func `who blocks the host and accepts gains no contact`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = RunID(UUID())
        try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
        try await runs.accept(ben, nil, .block(anna))
        try await runs.accept(ben, id, .accept(Sharing.Change()))
        #expect(runs.loop.machine.people[ben]?.contacts == [])
    }

    @Test(arguments: [(InvitesFrom.everyone, true), (.contacts, false), (.nobody, false)])
    func `who may invite is the invitee's choice`(from: InvitesFrom, isShown: Bool) async throws {
        var runs = try await Runs(folder, clock: clock)
        try await runs.accept(ben, nil, .setInvites(from))
        let id = RunID(UUID())
        let sent = try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
        #expect(sent.views(id, ben).isEmpty != isShown)
        guard from == .contacts else { return }
        try await runs.accept(ben, nil, .addContact(anna))
        let other = RunID(UUID())
        #expect(!(try await runs.accept(anna, other, .create(RunProposal(invite: [ben]))).views(other, ben).isEmpty))
    }

    @Test func `an invitee is shown twenty open invitations`() async throws {
        var runs = try await Runs(folder, clock: clock)
        for number in 0...RunLimit.shown {
            let (host, id) = (User("host-\(number)")!, RunID(UUID()))
            let sent = try await runs.accept(host, id, .create(RunProposal(invite: [ben])))
            #expect(sent.views(id, ben).isEmpty == (number == RunLimit.shown))
        }
    }

    @Test func `people are published, and accepting makes both contacts`() async throws {
        var runs = try await Runs(folder, clock: clock)
        func people(_ sent: [MQTTMessage], _ user: User) throws -> RunPeople? {
            try sent.payloads(.user(user, .virtualRunPeople)).last.map {
                try JSONCoding.decode(RunPeople.self, from: $0)
            }
        }
        let added = try await runs.accept(anna, nil, .addContact(cleo))
        #expect(try people(added, anna)?.contacts == [cleo])
        let blocked = try await runs.accept(anna, nil, .block(cleo))
        #expect(try people(blocked, anna)?.contacts == [])
        #expect(try people(blocked, anna)?.blocked == [cleo])
        let id = RunID(UUID())
        try await runs.accept(anna, id, .create(RunProposal(invite: [ben])))
        let accepted = try await runs.accept(ben, id, .accept(Sharing.Change()))
        #expect(try people(accepted, anna)?.contacts == [ben])
        #expect(try people(accepted, ben)?.contacts == [anna])
        #expect(code(try await runs.request(anna, nil, .addContact(anna)), anna) == "invalid_command")
        #expect(try people(try await runs.connect(), anna)?.contacts == [ben], "after a connect")
    }

    @Test func `the list of runs is paged, newest first, with the own place and status`() async throws {
        var runs = try await Runs(folder, clock: clock)
        var ids: [RunID] = []
        for _ in 0..<3 {
            ids.append(RunID(UUID()))
            try await runs.accept(anna, ids.last, .create(RunProposal(invite: [ben])))
            clock.advance(by: .seconds(1))
        }
        try await runs.accept(ben, ids[2], .accept(Sharing.Change()))
        let page = try #require(await runs.request(ben, nil, .runs(RunsQuery(limit: 2))).replies(to: ben).first?.runs)
        #expect(page.map(\.run) == [ids[2], ids[1]])
        #expect(page.map(\.own) == [.accepted, .invited])
        let rest = try await runs.request(ben, nil, .runs(RunsQuery(before: page[1].createdAt))).replies(to: ben).first
        #expect(rest?.runs?.map(\.run) == [ids[0]])
        let counted = #"pacebus_virtual_run_requests_total{outcome="accepted"} 6"#
        #expect(runs.loop.context.metrics.render().contains(counted))
    }

    @Test func `while the disk refuses there are no replies and no new states, but partners go on`() async throws {
        var runs = try await Runs(folder, clock: clock)
        let id = try await runs.start(anna, [ben])
        try await runs.pass(4)
        let states = [try runs.state(id, anna), try runs.state(id, ben)]
        try await runs.deliver(states.map(\.message))
        try await runs.pass(2)
        runs.store.refuse(true)
        let sent = try await runs.request(anna, id, .share(Sharing.Change(heartRate: false)))
        let later = try await runs.pass(12)
        #expect(sent.replies(to: anna) == [] && (sent + later).views(id, ben) == [])
        #expect(!later.partners(id, anna).isEmpty)
        runs.store.refuse(false)
        #expect(!(try await runs.pass(2)).views(id, ben).isEmpty)
    }
}

extension RunProposal {
    fileprivate func scheduled(_ time: Timestamp) -> RunProposal {
        var proposal = self
        proposal.settings.scheduledAt = time
        return proposal
    }
}
