import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// Replicas that own runs of the same people.
struct SharedRunsTests {
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let users = ["anna", "ben", "cleo", "dan", "eve"].map { User($0)! }

    /// What people see of a system.
    private struct Outcome: Equatable {
        var answers: [String] = []
        var people: [String] = []
        var views: [String] = []
    }

    /// One step of a script.
    private enum Step {
        case request(User, RunID?, VirtualRunRequest.Action)
        case erase(User)
        /// Shards go to a replica, counted without end.
        case move(Set<Shard>, Int)
    }

    private func script(_ runs: [RunID], canStart: Bool, _ random: inout SeededRandom) -> [Step] {
        (0..<40).map { number in
            let (user, other) = (users.randomElement(using: &random)!, users.randomElement(using: &random)!)
            let run = runs.randomElement(using: &random)!
            let others = Array(
                users.shuffled(using: &random).filter { $0 != user }.prefix(Int.random(in: 1...3, using: &random)))
            switch Int.random(in: 0..<24, using: &random) {
            case 0...3: return .request(user, run, .create(RunProposal(invite: others)))
            case 4: return .request(user, run, .invite(others))
            case 5...9: return .request(user, run, .accept(Sharing.Change()))
            case 10: return .request(user, run, .decline)
            case 11, 12: return .request(user, run, canStart ? .confirm : .begin)
            case 13: return .request(user, run, .begin)
            case 14: return .request(user, run, .cancel)
            case 15: return .request(user, run, .leave)
            case 16: return .request(user, nil, .block(other))
            case 17: return .request(user, nil, .unblock(other))
            case 18: return .request(user, nil, .addContact(other))
            case 19: return .request(user, nil, .removeContact(other))
            case 20:
                let from: [InvitesFrom] = [.everyone, .contacts, .nobody, .everyone]
                return .request(user, nil, .setInvites(from.randomElement(using: &random)!))
            case 21: return .request(user, nil, .runs(RunsQuery(limit: 3)))
            case 22 where number > 25: return .erase(user)
            default:
                guard !canStart else { return .request(user, nil, .runs(RunsQuery())) }
                let shards = Set(Shard.all.filter { _ in Bool.random(using: &random) })
                return .move(shards, Int.random(in: 0..<6, using: &random))
            }
        }
    }

    private func play(_ script: [Step], _ runs: [RunID], on count: Int) async throws -> Outcome {
        let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
        var system = try await SharedRuns(count, clock: clock)
        var outcome = Outcome()
        for step in script {
            switch step {
            case .request(let user, let run, let action):
                let replies = try await system.request(user, run, action).replies(to: user)
                let answers = replies.map { reply in
                    let list = (reply.runs ?? []).map { "\($0.run) \($0.status) \($0.own)" }
                    return "\(user) \(action.name): \(reply.error?.code ?? "ok") \(list)"
                }
                outcome.answers += answers.isEmpty ? ["\(user) \(action.name): nothing"] : answers
            case .erase(let user):
                let profile = UserProfile(revision: 9, profile: Profile(), erasedAt: clock.now)
                try await system.exchange([Topic.user(user, .profile).message(JSONCoding.encode(profile))])
            case .move(let shards, let index): try await system.move(shards, to: index % count)
            }
            try await system.pass(1.1)
        }
        try await system.pass(20)
        for user in users {
            let people = try system.people(user)
            let (contacts, blocked) = (people?.contacts ?? [], people?.blocked ?? [])
            outcome.people.append("\(user): \(contacts), blocked \(blocked), from \(people?.invitesFrom ?? .everyone)")
            for run in runs {
                guard let view = try system.view(run, user) else { continue }
                let rows = view.participants.map { "\($0.user) \($0.status) \($0.sharing.position)" }.sorted()
                outcome.views.append("\(user) in \(run): \(view.status), host \(view.host), \(rows)")
            }
        }
        return outcome
    }

    @Test(arguments: [true, false])
    func `replicas that share runs and people, and move shards, answer and show what a single one does`(canStart: Bool)
        async throws
    {
        var random = SeededRandom()
        for _ in 0..<12 {
            let runs = (0..<8).map { _ in
                RunID(
                    UUID(
                        uuidString:
                            "00000000-0000-4000-8000-\(String(format: "%012x", Int.random(in: 0..<1 << 40, using: &random)))"
                    )!)
            }
            let script = script(runs, canStart: canStart, &random)
            let alone = try await play(script, runs, on: 1)
            let shared = try await play(script, runs, on: Int.random(in: 2...3, using: &random))
            for (one, other) in zip(alone.answers, shared.answers) { try #require(one == other) }
            #expect(alone.answers.count == shared.answers.count)
            #expect(alone.people == shared.people)
            #expect(alone.views == shared.views)
        }
    }
}
