import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// Users with two phones each begin, pause, end and delete workouts. Apps register tokens and APNs responds at random.
/// The process is killed at any moment.
struct PropertyWorld {
    private struct Phone: Hashable {
        let key: SessionKey
        let device: Device
    }

    /// The state of a phone as its pushes and their outcomes define it.
    private struct Seen {
        var pushedAt: Timestamp?
        var timestamp: Int64 = 0
        var distance = 0.0
        /// The token of an activity that the service must end later.
        var token: String?
        var endedToken: String?
        /// The time of the last confirmed start without a later activity token.
        var startConfirmedAt: Timestamp?
    }

    private(set) var run = ActivityMachineRun()
    private var seen: [Phone: Seen] = [:]
    /// Registrations without a reply.
    private var pending: [CommandID: (phone: Phone, kind: ActivityRegistration.TokenKind?, token: Int)] = [:]
    private var ended: Set<String> = []
    private var confirmedStarts: Set<UUID> = []
    private var newest: [SessionKey: ActivityStatus] = [:]
    private var pastStates: [SessionKey: [SessionState]] = [:]
    private var pastSnapshots: [SessionKey: [MetricsSnapshot]] = [:]
    private var replies = 0
    private var statuses = 0
    private var tokens = 0
    private var distance = 0.0

    let keys = (1...5).map { ActivityMachineRun.key($0) }
    private let devices = [Device("phone-1")!, Device("phone-2")!]

    // MARK: Events

    mutating func step(_ random: inout SeededRandom) {
        let key = keys.randomElement(using: &random)!
        switch Int.random(in: 0..<44, using: &random) {
        case 0..<5: change(key, &random)
        case 5..<12: measure(key)
        case 12..<17: register(Phone(key: key, device: devices.randomElement(using: &random)!), &random)
        case 17..<28: send(room: .random(in: 0...4, using: &random))
        case 28..<36: answer(&random)
        case 36..<42: run.pass(.random(in: 0...4, using: &random))
        case 42:
            let long = Int.random(in: 0..<6, using: &random) == 0
            run.pass(long ? 1_800 : 20)
        default: disturb(key, &random)
        }
        check()
    }

    private mutating func change(_ key: SessionKey, _ random: inout SeededRandom) {
        guard let state = run.states[key] else { return run.state(.active, of: key) }
        pastStates[key, default: []].append(state)
        let isGoingOn = [SessionStatus.active, .paused].contains(state.status)
        switch Int.random(in: 0..<12, using: &random) {
        case 0 where isGoingOn: run.state(.saving, of: key, reason: "ended")
        case 1 where isGoingOn: run.state(.canceled, of: key, reason: "expired")
        case 2 where isGoingOn: run.state(.canceled, of: key, reason: "discarded")
        case 3 where Bool.random(using: &random) && state.status != .deleted: run.state(.deleted, of: key)
        case _ where state.status == .active: run.state(.paused, of: key)
        case _ where state.status == .paused: run.state(.active, of: key)
        case _ where state.status == .saving: run.state(.completed, of: key, reason: "ended")
        case _ where state.status == .canceled && state.endReason == "expired": run.state(.active, of: key)
        default: break
        }
    }

    private mutating func measure(_ key: SessionKey) {
        distance += 1
        run.snapshot(of: key, distance: distance)
        pastSnapshots[key, default: []].append(run.snapshots[key]!)
    }

    private mutating func register(_ phone: Phone, _ random: inout SeededRandom) {
        tokens += 1
        let id = CommandID(UUID())
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            pending[id] = (phone, nil, 0)
            run.register(nil, of: phone.key, device: phone.device, id: id)
        case 1..<4:
            pending[id] = (phone, .start, tokens)
            run.register(.start, tokens, of: phone.key, device: phone.device, id: id)
        case 4:
            // A late registration of an ended activity.
            guard let token = seen[phone]?.endedToken, let number = Int(token, radix: 16) else { return }
            run.register(.activity, number, of: phone.key, device: phone.device, id: id)
        default:
            pending[id] = (phone, .activity, tokens)
            run.register(.activity, tokens, of: phone.key, device: phone.device, id: id)
        }
    }

    private mutating func send(room: Int) {
        let before = Set(run.underway.map { Phone(key: $0.key, device: $0.device) })
        for push in run.send(room: room) {
            let phone = Phone(key: push.key, device: push.device)
            let read = push.read
            var known = seen[phone] ?? Seen()
            #expect(!before.contains(phone), "two pushes in flight")
            if let last = known.pushedAt { #expect(run.now.seconds(since: last) >= 2, "over the rate limit") }
            #expect(read.timestamp > known.timestamp, "the timestamp does not increase")
            if let distance = read.content.distance {
                #expect(distance >= known.distance, "an old snapshot after a newer one")
                known.distance = distance
            }
            #expect(!ended.contains(push.token), "a push after a confirmed end")
            #expect(push.payload.count <= PushPayload.sizeLimit)
            if read.event == "start" {
                #expect(!confirmedStarts.contains(push.id), "a confirmed start again")
                #expect(known.startConfirmedAt == nil, "another start after a confirmed one")
                #expect(known.token == nil, "a start while an activity exists")
                #expect(run.disk[push.key]?[push.device]?.id == push.id, "a start that is not on disk")
            }
            if read.event == "end" {
                #expect(run.disk[push.key]?[push.device]?.id == push.id, "an end that is not on disk")
            }
            known.pushedAt = run.now
            known.timestamp = read.timestamp
            seen[phone] = known
        }
    }

    private mutating func answer(_ random: inout SeededRandom) {
        guard let push = run.underway.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: end(push, .tokenGone(reason: "Unregistered"))
        case 1: end(push, .refused(reason: "BadTopic"))
        case 2: end(push, .failed(reason: "timeout", retryAfter: nil))
        case 3: end(push, .failed(reason: "TooManyRequests", retryAfter: 30))
        default: end(push, .delivered)
        }
    }

    private mutating func end(_ push: Push, _ outcome: PushOutcome) {
        let phone = Phone(key: push.key, device: push.device)
        let event = push.read.event
        run.end(push, outcome)
        switch (event, outcome) {
        case ("start", .delivered):
            confirmedStarts.insert(push.id)
            guard let known = seen[phone], known.token == nil else { break }
            seen[phone]?.startConfirmedAt = run.now
        case ("end", .delivered), ("end", .tokenGone):
            ended.insert(push.token)
            guard seen[phone]?.token == push.token else { break }
            // Withdrawn phones have no record.
            seen[phone]?.endedToken = run.disk[push.key]?[push.device] == nil ? nil : push.token
            seen[phone]?.token = nil
        case ("update", .tokenGone):
            guard seen[phone]?.token == push.token else { break }
            seen[phone]?.token = nil
        default: break
        }
    }

    private mutating func disturb(_ key: SessionKey, _ random: inout SeededRandom) {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: repeatPast(of: key, &random)
        case 1: run.see(run.now.milliseconds + .random(in: -5_000...5_000, using: &random), of: key)
        default: crash(&random)
        }
    }

    /// The broker delivers formerly retained messages.
    private mutating func repeatPast(of key: SessionKey, _ random: inout SeededRandom) {
        guard run.machine.entries[key]?.session != nil else { return }
        if let state = pastStates[key]?.randomElement(using: &random) { run.receive(state) }
        if let snapshot = pastSnapshots[key]?.randomElement(using: &random) { run.receive(snapshot, of: key) }
    }

    private mutating func crash(_ random: inout SeededRandom) {
        pending = [:]
        // A withdrawn phone whose activity ended has no record, so the rate limit starts over.
        for phone in seen.keys where run.disk[phone.key]?[phone.device] == nil {
            seen[phone]?.pushedAt = nil
            seen[phone]?.timestamp = 0
        }
        run.crash(
            after: .random(in: LiveActivityPublisherMachine.restartTime...5, using: &random), receivesRetained: false)
        check()
        for key in keys.shuffled(using: &random) {
            if Bool.random(using: &random), let snapshot = run.snapshots[key] { run.receive(snapshot, of: key) }
            if let state = run.states[key] { run.receive(state) }
            if let snapshot = run.snapshots[key] { run.receive(snapshot, of: key) }
        }
    }

    // MARK: Invariants

    private mutating func check() {
        for reply in run.replies[replies...] {
            guard let (phone, kind, number) = pending.removeValue(forKey: reply.id), reply.ok else { continue }
            switch kind {
            case .activity?:
                seen[phone, default: Seen()].token = ActivityMachineRun.token(number)
                seen[phone]?.startConfirmedAt = nil
            // The service must end the activity.
            case nil: seen[phone]?.endedToken = nil
            case .start?: break
            }
        }
        replies = run.replies.count
        for key in keys where run.machine.entries[key]?.record == nil {
            #expect(!run.machine.shown.hasMetrics(of: key), "subscribed to metrics that no device shows")
        }
        for status in run.statuses[statuses...] {
            let key = SessionKey(status.user, status.session)
            if let last = newest[key] {
                #expect(status.revision >= last.revision, "a revision decreased")
                #expect(status.revision > last.revision || status == last, "one revision with two contents")
            }
            newest[key] = status
        }
        statuses = run.statuses.count
        for (phone, known) in seen where known.startConfirmedAt.map({ run.now.seconds(since: $0) > 7 * 3_600 }) ?? false
        {
            seen[phone]?.startConfirmedAt = nil
        }
    }

    private mutating func deliver(_ seconds: Int) {
        for _ in 0..<seconds {
            run.pass(1)
            send(room: 100)
            for push in run.underway { end(push, .delivered) }
            check()
        }
    }

    /// APNs accepts every push: each activity is updated until its end.
    mutating func settle() {
        for push in run.underway { end(push, .delivered) }
        deliver(100)
        for (phone, known) in seen where known.token != nil {
            let status = run.states[phone.key]?.status
            guard status == .active || status == .paused,
                run.disk[phone.key]?[phone.device]?.isWithdrawn == false
            else { continue }
            #expect(known.pushedAt.map { run.now.seconds(since: $0) <= 11 } == true, "\(phone) receives no update")
            #expect(known.distance == run.snapshots[phone.key]?.distance ?? 0, "\(phone) shows old values")
        }
        for key in keys {
            if let status = run.states[key]?.status, status == .active || status == .paused {
                run.state(.saving, of: key, reason: "ended")
            }
        }
        // The backoff of refused pushes ends.
        run.pass(DeviceActivity.limit / 2)
        deliver(100)
        for (phone, known) in seen where known.token != nil {
            guard run.states[phone.key] != nil, run.disk[phone.key] != nil else { continue }
            Issue.record("\(phone) received no end")
        }
        for key in keys where run.states[key]?.status == .deleted {
            #expect(run.retained[key] == nil, "a status of a deleted session")
        }
        run.pass(3_600 * 60)
        run.pass(3_600)
        #expect(run.machine.entries.isEmpty && run.disk.isEmpty && run.retained.isEmpty, "records or statuses remain")
    }
}

struct PropertyTests {
    @Test func `in any order of events, phones receive each state once, in order, within the rate limit, and the end`()
    {
        var random = SeededRandom()
        for _ in 0..<Tier.runs(40, nightly: 150) {
            var world = PropertyWorld()
            for _ in 0..<Int.random(in: 20...600, using: &random) { world.step(&random) }
            world.settle()
        }
    }
}
