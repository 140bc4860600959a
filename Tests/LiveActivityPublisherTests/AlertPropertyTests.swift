import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// Runs invite users with two phones each, again and again, who accept, confirm and decline. Views come late, twice and
/// out of order, apps register and withdraw, APNs responds at random, and the process is killed at any moment.
private struct AlertWorld {
    private struct Receipt: Hashable {
        let user: User
        let device: Device
        let run: RunID
        let kind: RunAlert.Kind
        /// When the user was invited, or accepted.
        let at: Timestamp
    }

    private(set) var run = AlertRun()
    private var ids: [Receipt: UUID] = [:]
    private var delivered: Set<UUID> = []
    private(set) var hasInvitedAgain = false
    private var past: [VirtualRunView] = []
    /// The newest views that this process received.
    private var received: [String: VirtualRunView] = [:]
    private var tokens: [String: String] = [:]
    private var registered: Set<User> = []
    private var count = 0

    private let users = [AlertRun.ben, AlertRun.cleo]
    private let devices = [Device("phone-1")!, Device("phone-2")!]

    init(_ random: inout SeededRandom) {
        for user in users { register(user, devices[0], &random) }
    }

    mutating func step(_ random: inout SeededRandom) {
        let user = users.randomElement(using: &random)!
        switch Int.random(in: 0..<30, using: &random) {
        case 0..<4: register(user, devices.randomElement(using: &random)!, &random)
        case 4..<10: change(user, Int.random(in: 1...4, using: &random), &random)
        case 10..<12:
            // The broker delivers a formerly retained view.
            if let view = past.randomElement(using: &random), view.revision <= newest(view) { run.receive(view) }
        case 12..<19: send(&random)
        case 19..<25: answer(&random)
        case 25..<29: run.pass(.random(in: 0...20, using: &random))
        default: crash(&random)
        }
    }

    private func key(_ user: User, _ run: RunID) -> String { "\(user)/\(run)" }

    private func newest(_ view: VirtualRunView) -> Int64 { received[key(view.user, view.run)]?.revision ?? -1 }

    private mutating func register(_ user: User, _ device: Device, _ random: inout SeededRandom) {
        count += 1
        let isWithdrawal = Int.random(in: 0..<5, using: &random) == 0
        let reply = run.register(isWithdrawal ? nil : count, of: user, device: device)
        guard reply?.ok == true else { return }
        tokens["\(user)/\(device)"] = isWithdrawal ? nil : ActivityMachineRun.token(count)
        if !isWithdrawal { registered.insert(user) }
    }

    private mutating func change(_ user: User, _ number: Int, _ random: inout SeededRandom) {
        let status = RunStatus.allCases.randomElement(using: &random)!
        let own = [ParticipantStatus.invited, .accepted, .accepted, .confirmed, .declined].randomElement(
            using: &random)!
        run.view(
            status, own, of: user, run: number, expiresIn: .random(in: -5...300, using: &random),
            confirmIn: .random(in: -5...60, using: &random), isAgain: Int.random(in: 0..<4, using: &random) == 0)
        let view = run.newestView(of: user, run: AlertRun.run(number))!
        past.append(view)
        note(view)
    }

    /// The publisher reads no views of users who never registered.
    private mutating func note(_ view: VirtualRunView) {
        if registered.contains(view.user) { received[key(view.user, view.run)] = view }
    }

    private mutating func send(_ random: inout SeededRandom) {
        let delay = Bool.random(using: &random) ? 0 : Double.random(in: 0...30, using: &random)
        for push in run.send(room: .random(in: 0...4, using: &random), commitTakes: delay) {
            let user = push.owner.user
            let (id, kind) = (push.alert.run, push.alert.kind)
            #expect(!delivered.contains(push.id), "an alert again that APNs accepted")
            #expect(tokens["\(user)/\(push.device)"] == push.token, "not the device's token")
            #expect(run.disk[user]?.pending(push.id) != nil, "an alert that is not on disk")
            #expect(push.expiration.map { $0 > run.now } == true, "an alert after its end")
            guard let view = received[key(user, id)] else {
                Issue.record("an alert without a view")
                continue
            }
            let at = view.own?.at ?? view.createdAt
            let receipt = Receipt(user: user, device: push.device, run: id, kind: kind, at: at)
            #expect(ids[receipt, default: push.id] == push.id, "a second alert")
            let isAgain = ids.keys.contains {
                $0.user == user && $0.run == id && $0.kind == .invitation && $0.at < at
            }
            if kind == .invitation, isAgain { hasInvitedAgain = true }
            ids[receipt] = push.id
            let end = kind == .confirm ? view.confirmBy : view.expiresAt
            #expect(end.map { abs($0.seconds(since: push.expiration ?? $0)) < 1 } == true, "another end")
            #expect(view.own?.status == (kind == .confirm ? .accepted : .invited), "an alert after the answer")
            #expect(kind == .confirm ? view.status == .confirming : !view.status.isOver)
        }
    }

    private mutating func answer(_ random: inout SeededRandom) {
        guard let push = run.underway.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            run.end(push, .tokenGone(reason: "Unregistered"))
            let place = "\(push.owner.user)/\(push.device)"
            if tokens[place] == push.token { tokens[place] = nil }
        case 1: run.end(push, .refused(reason: "BadTopic"))
        case 2..<5: run.end(push, .failed(reason: "timeout", retryAfter: nil))
        default:
            run.end(push, .delivered)
            delivered.insert(push.id)
        }
    }

    private mutating func crash(_ random: inout SeededRandom) {
        received = [:]
        run.crash(after: .random(in: 0.5...30, using: &random), receivesRetained: false)
        for user in users {
            for number in 1...4 where Int.random(in: 0..<5, using: &random) > 0 {
                guard let view = run.newestView(of: user, run: AlertRun.run(number)) else { continue }
                note(view)
                for _ in 0..<Int.random(in: 1...2, using: &random) { run.receive(view) }
            }
        }
    }

    /// Whether something was sent at all.
    var hasDelivered: Bool { !delivered.isEmpty }
}

struct AlertPropertyTests {
    @Test
    func `in any order of events, a device gets each alert of an invitation once, never after its end or the answer`() {
        var random = SeededRandom()
        var (deliveries, repeats) = (0, 0)
        for _ in 0..<200 {
            var world = AlertWorld(&random)
            for _ in 0..<Int.random(in: 20...300, using: &random) { world.step(&random) }
            if world.hasDelivered { deliveries += 1 }
            if world.hasInvitedAgain { repeats += 1 }
        }
        #expect(deliveries > 100 && repeats > 20)
    }
}
