import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// What strangers, viewers, hosts, and runners who left or block each other can do and see: the real virtual-run on a
/// broker with the real rules and accounts.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct VirtualRunAccessTests {
    /// Everything is shared, home included.
    private static let everything = Sharing.Change(
        position: true, heartRate: true, route: true, ghost: true, hideNear: 0)

    private static let ofHosts: [VirtualRunRequest.Action] = [
        .invite([User("eve")!]), .remove(User("ben")!), .begin, .cancel,
    ]
    private static let ofOthers: [VirtualRunRequest.Action] = [
        .accept(everything), .decline, .confirm, .leave, .share(everything), .keepWaiting, .show, .routes,
    ]

    @Test func `requests of strangers, viewers and hosts of other runs are refused and change nothing`() async throws {
        let world = try await VirtualRunWorld(people: ["ann", "ben", "cleo", "eve"], services: ["virtual-run"])
        try await world.run { world in
            let (ann, ben, cleo, eve) = (world.people[0], world.people[1], world.people[2], world.people[3])
            let runs = world.people.map { _ in RunID(UUID()) }
            let run = runs[0]
            #expect(try await ann.refusal(run, .create(RunProposal(invite: [ben.user, cleo.user]))) == nil)
            #expect(try await ben.refusal(run, .accept(Self.everything)) == nil)
            // Ben and eve are hosts, of other runs.
            for (person, id) in [(ben, runs[1]), (eve, runs[3])] {
                #expect(try await person.refusal(id, .create(RunProposal(invite: [User("dora")!]))) == nil)
            }
            let members = [ann, ben, cleo]
            #expect(
                await eventually {
                    members.allSatisfy {
                        $0.view(of: run)?.participants.map(\.status).prefix(2) == [.accepted, .accepted]
                    }
                })
            let before = members.map { $0.messages(of: run) }

            for action in Self.ofHosts + Self.ofOthers {
                #expect(try await eve.refusal(run, action) == "run_not_found", "\(action.name)")
            }
            #expect(try await eve.refusal(run, .create(RunProposal(invite: [ben.user]))) == "invalid_state")
            for action in Self.ofHosts {
                #expect(try await ben.refusal(run, action) == "not_host", "\(action.name)")
                #expect(try await cleo.refusal(run, action) == "not_host", "\(action.name)")
            }
            for user in [ann, ben, cleo, eve].map(\.user) {
                let topics: [UserTopic] = [
                    .virtualRunRequest, .virtualRun(run), .partners(run), .partnerPositions(run),
                    .virtualRunAnnouncements(run), .virtualRunPeople,
                ]
                for topic in topics.map({ Topic.user(user, $0).name }) {
                    #expect(!(try await world.viewer.mayPublish(topic)), "\(topic)")
                    let isOwn = topic == Topic.user(eve.user, .virtualRunRequest).name
                    #expect(try await eve.account.mayPublish(topic) == isOwn, "\(topic)")
                }
            }
            // A reply comes after everything that was published before.
            for person in members { _ = try await person.ask(nil, .runs(RunsQuery())) }
            #expect(members.map { $0.messages(of: run) } == before)
            #expect(eve.messages(of: run).isEmpty)
            #expect(
                world.viewer.live.union(world.viewer.retained).allSatisfy { $0.hasPrefix("pacebus/v1/services/") })

            // The host goes: the earliest who accepted is the host.
            #expect(try await cleo.refusal(run, .accept(Self.everything)) == nil)
            #expect(try await ann.refusal(run, .decline) == nil)
            for action in Self.ofHosts {
                #expect(try await ann.refusal(run, action) == "not_host", "\(action.name)")
                #expect(try await cleo.refusal(run, action) == "not_host", "\(action.name)")
            }
            #expect(try await ben.refusal(run, .begin) == nil)
            #expect(await eventually { cleo.view(of: run)?.status == .confirming })
            #expect(cleo.view(of: run)?.host == ben.user)
            #expect(ann.view(of: run)?.status == .inviting && ann.view(of: run)?.participants.count == 1)
            #expect(try await ben.refusal(run, .cancel) == nil)
            #expect(await eventually { cleo.view(of: run)?.status == .canceled })
        }
    }

    @Test(.enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"))
    func `who leaves gets nothing more of the run, and who is blocked no position and no heart rate`()
        async throws
    {
        let names = ["ann", "ben", "cleo", "dora"]
        let world = try await VirtualRunWorld(
            people: names, services: ["session-engine", "metrics-aggregator", "route-builder", "virtual-run"])
        var random = SeededRandom()
        let seed = random.seed
        try await world.run { world in
            let host = world.people[0]
            let others = world.people.dropFirst().shuffled(using: &random)
            let (leaver, blocker, blocked) = (others[0], others[1], others[2])
            let run = RunID(UUID())
            let proposal = RunProposal(invite: others.map(\.user), sharing: Self.everything)
            #expect(try await host.refusal(run, .create(proposal)) == nil)
            for person in others { #expect(try await person.refusal(run, .accept(Self.everything)) == nil) }
            #expect(try await host.refusal(run, .begin) == nil)
            for person in world.people { try world.simulate(person.user, in: run) }
            /// Waits until the newest rows and positions of a runner are about these others.
            func see(_ runners: [Person], _ person: Person, positionsOf shown: [Person]? = nil) async -> Bool {
                await eventually {
                    person.positions(in: run).map { Set($0.x.map(\.u)) } == Set((shown ?? runners).map(\.user))
                        && person.partners(in: run).last.map { Set($0.rows.map(\.runner)) }
                            == Set(runners.map { .participant($0.user) })
                }
            }
            for person in world.people {
                let isComplete = await see(world.people.filter { $0.user != person.user }, person)
                try #require(isComplete, "\(person.user), seed \(seed): \(world.log(of: "\(person.user)"))")
            }

            // A block: figures without position and heart rate, between these two alone.
            #expect(try await blocker.refusal(nil, .block(blocked.user)) == nil)
            for (person, other) in [(blocker, blocked), (blocked, blocker)] {
                #expect(await see([other, host, leaver], person, positionsOf: [host, leaver]), "seed \(seed)")
                let row = person.partners(in: run).last?.rows.first { $0.runner == .participant(other.user) }
                #expect(row?.distance != nil && row?.heartRate == nil && row?.activeEnergy == nil, "seed \(seed)")
                let shared = person.view(of: run)?.participants.first { $0.user == other.user }?.sharing
                #expect(shared?.position == false && shared?.heartRate == false && shared?.route == false)
            }
            #expect(await see([host, blocker, blocked], leaver))
            #expect(leaver.partners(in: run).last?.rows.allSatisfy { $0.heartRate != nil } == true)

            // One leaves. virtual-run is killed then or a moment later.
            let rest = [host, blocker, blocked]
            #expect(try await leaver.refusal(run, .leave) == nil)
            let isKilled = Bool.random(using: &random)
            if isKilled { try world.kill("virtual-run") }
            let partnersTopic = Topic.user(leaver.user, .partners(run)).name
            let isCleared = await eventually {
                leaver.account.payloads(partnersTopic).last == [] && leaver.view(of: run)?.own?.status == .left
            }
            #expect(isCleared, "seed \(seed)")
            let view = try #require(leaver.view(of: run))
            #expect(view.participants.map(\.user) == [leaver.user] && view.results == nil && view.status == .running)
            let last = leaver.messages(of: run)
            func leftCues(_ person: Person) -> Int {
                person.cues(in: run).count { $0.kind == .left && $0.user == leaver.user }
            }
            // A kill between the commit and the message loses a cue; none comes twice.
            #expect(await eventually { isKilled || rest.allSatisfy { leftCues($0) == 1 } }, "seed \(seed)")
            try world.kill("virtual-run")
            for person in rest {
                let count = person.partners(in: run).count
                #expect(await eventually { person.partners(in: run).count >= count + 3 })
                #expect(await see(rest.filter { $0.user != person.user }, person, positionsOf: shown(to: person)))
                #expect(leftCues(person) <= 1, "seed \(seed)")
            }
            func shown(to person: Person) -> [Person] {
                rest.filter { $0.user != person.user && (person.user == host.user || $0.user == host.user) }
            }
            for action: VirtualRunRequest.Action in [.accept(Self.everything), .confirm, .keepWaiting, .routes] {
                #expect(try await leaver.refusal(run, action) == "invalid_state", "\(action.name)")
            }

            // The host leaves too: the first of the others who confirmed is the host.
            #expect(try await host.refusal(run, .leave) == nil)
            #expect(await eventually { blocker.view(of: run).map { $0.host != host.user } ?? false })
            let next = blocker.view(of: run)?.host == blocker.user ? blocker : blocked
            let other = next.user == blocker.user ? blocked : blocker
            for person in [host, other, leaver] {
                #expect(try await person.refusal(run, .invite([User("eve")!])) == "not_host", "seed \(seed)")
            }
            #expect(try await next.refusal(run, .invite([User("eve")!])) == nil)
            let hostLast = host.messages(of: run)

            // The others finish and get results; those who left run on alone.
            for person in [blocker, blocked] {
                #expect(await world.endRun(of: person.user) == 0, "\(world.log(of: "\(person.user)"))")
            }
            for person in [blocker, blocked] {
                let isFinal = await eventually {
                    person.view(of: run)?.results.map { $0.provisional != true } ?? false
                }
                #expect(isFinal, "\(String(describing: person.view(of: run)?.results)), seed \(seed)")
                let rows = try #require(person.view(of: run)?.results?.rows)
                let ranked = Set(rows.filter { $0.place != nil }.compactMap(\.user))
                #expect(ranked == [blocker.user, blocked.user])
                #expect(Set(rows.filter { $0.status == .left }.compactMap(\.user)) == [host.user, leaver.user])
                let routes = try await person.ask(run, .routes).routes
                #expect(routes?.map(\.user) == [person.user], "seed \(seed)")
            }
            for (person, known) in [(leaver, last), (host, hostLast)] {
                let viewTopic = Topic.user(person.user, .virtualRun(run)).name
                for (topic, payloads) in person.messages(of: run) {
                    // A new process publishes the view again and clears the partners again.
                    let new = Set(payloads.dropFirst(known[topic]?.count ?? 0))
                    let allowed: [UInt8]? = topic == viewTopic ? known[topic]?.last : []
                    #expect(new.isSubset(of: [allowed].compactMap { $0 }), "\(topic), seed \(seed)")
                }
                #expect(try await world.retained(of: person, in: run) == [viewTopic])
                #expect(await world.endRun(of: person.user) == 0, "\(world.log(of: "\(person.user)"))")
            }
            // A viewer reads the sessions of its user, and nothing of the run.
            let seen = world.viewer.live.union(world.viewer.retained)
            #expect(seen.contains { $0.hasSuffix("/metrics") } && !seen.contains { $0.contains("/run") })
        }
    }
}
