import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// A machine with its disk, bus and clock.
struct ActivityMachineRun {
    private(set) var machine: LiveActivityPublisherMachine
    private(set) var moment: Moment
    /// The stored records.
    private var stored: [SessionKey: [UInt8]] = [:]
    /// The retained statuses.
    private(set) var retained: [SessionKey: ActivityStatus] = [:]
    private(set) var statuses: [ActivityStatus] = []
    private(set) var replies: [Reply] = []
    private(set) var reports: [PushReport] = []
    /// The number of saves.
    private(set) var saves = 0
    /// The pushes in flight.
    var underway: [Push] = []
    private(set) var states: [SessionKey: SessionState] = [:]
    private(set) var plans: [SessionKey: PlanState] = [:]
    /// The retained metrics. The machine receives those that it subscribes to.
    private(set) var snapshots: [SessionKey: MetricsSnapshot] = [:]
    private var subscribed: Set<SessionKey> = []

    static let phone = Device("phone-1")!

    init(canPush: Bool = true, at start: Double = 1_800_000_000) {
        machine = LiveActivityPublisherMachine(canPush: canPush)
        moment = Moment(Timestamp(seconds: start))
    }

    var now: Timestamp { moment.wallClock }

    /// The records that a new process loads.
    var disk: [SessionKey: ActivityRecord] { stored.compactMapValues(loaded) }

    private func loaded(_ bytes: [UInt8]) -> ActivityRecord? {
        try? JSONCoding.decode(ActivityRecord.self, from: bytes, now: moment)
    }

    static func key(_ number: Int = 1) -> SessionKey {
        SessionKey(User("anna")!, SessionID("00000000-0000-4000-8000-0000000000\(number + 10)")!)
    }

    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    // MARK: Messages

    /// Begins a session a minute ago, with a snapshot.
    mutating func begin(_ number: Int = 1) -> SessionKey {
        let key = Self.key(number)
        state(.active, of: key)
        snapshot(of: key, distance: 100)
        return key
    }

    mutating func state(_ status: SessionStatus, of key: SessionKey, reason: String? = nil) {
        var state = states[key] ?? Self.state(key, at: now - 60, now: now)
        if let last = state.segments.last, last.end == nil, status != .active, status != .canceled {
            state.segments[state.segments.count - 1].end = max(now, last.start)
        } else if status == .active, state.segments.last?.end != nil {
            state.segments.append(Segment(start: now, end: nil))
        }
        state.status = status
        state.endReason = reason
        state.revision = max(state.revision + 1, now.milliseconds)
        receive(state)
    }

    mutating func receive(_ state: SessionState, plan: PlanState? = nil) {
        if state.revision > states[state.key]?.revision ?? 0 {
            states[state.key] = state
            plans[state.key] = plan
        }
        perform(machine.receiveState(state, plan: plan, now: moment))
        subscribe(state.key)
    }

    /// Receives the session as the engine publishes it now.
    mutating func receive(_ session: Session) {
        let revision = max((states[session.key]?.revision ?? 0) + 1, now.milliseconds)
        receive(session.state(revision: revision, lastActiveAt: now), plan: session.planState(now))
    }

    private static func state(_ key: SessionKey, at: Timestamp, now: Timestamp) -> SessionState {
        Session(key: key, start: SessionStart(activity: .running, countdown: 0), at: at, now: now)
            .state(revision: now.milliseconds, lastActiveAt: now)
    }

    mutating func snapshot(of key: SessionKey, distance: Double) {
        let revision = max((snapshots[key]?.revision ?? 0) + 1, now.milliseconds)
        var snapshot = MetricsSnapshot(user: key.user, revision: revision)
        snapshot.newest = now
        snapshot.distance = distance
        snapshot.heartRate = 140
        receive(snapshot, of: key)
    }

    mutating func receive(_ snapshot: MetricsSnapshot, of key: SessionKey) {
        if snapshot.revision > snapshots[key]?.revision ?? 0 { snapshots[key] = snapshot }
        if subscribed.contains(key) { machine.receiveMetrics(snapshot, of: key, now: moment) }
    }

    /// The machine subscribes to the metrics of a session if it shows them now, and the broker delivers the retained ones.
    private mutating func subscribe(_ key: SessionKey) {
        guard machine.shown.hasMetrics(of: key) else {
            subscribed.remove(key)
            return
        }
        guard subscribed.insert(key).inserted, let snapshot = snapshots[key] else { return }
        machine.receiveMetrics(snapshot, of: key, now: moment)
    }

    @discardableResult
    mutating func register(
        _ kind: ActivityRegistration.TokenKind?, _ token: Int = 1, of key: SessionKey, device: Device = phone,
        id: CommandID = CommandID(UUID())
    ) -> Reply? {
        let action: ActivityRegistration.Action =
            kind.map { .register(token: Self.token(token), kind: $0, environment: .sandbox) } ?? .withdraw
        let registration = ActivityRegistration(id: id, client: Client("app")!, device: device, action: action)
        let before = replies.count
        perform(machine.receiveRegistration(registration, of: key, now: moment))
        subscribe(key)
        return replies.count > before ? replies.last : nil
    }

    mutating func forgetState(of key: SessionKey) {
        perform(machine.forgetState(of: key, now: moment))
        subscribe(key)
    }
    mutating func see(_ revision: Int64, of key: SessionKey) { perform(machine.see(revision, of: key, now: moment)) }
    mutating func connect() { perform(machine.connected(now: moment)) }

    // MARK: Time and pushes

    /// Sets the wall clock.
    mutating func step(by seconds: Double) {
        moment = moment.stepped(by: seconds)
        perform(machine.advance(to: moment))
    }

    mutating func pass(_ seconds: Double) {
        moment = moment + seconds
        perform(machine.advance(to: moment))
        subscribed = subscribed.filter { machine.shown.hasMetrics(of: $0) }
    }

    /// Sends due pushes and leaves them in flight.
    mutating func send(room: Int = 100) -> [Push] {
        let (pushes, actions) = machine.pushes(now: moment, room: room)
        perform(actions)
        underway += pushes
        return pushes
    }

    /// Sends due pushes with the same outcome for all.
    @discardableResult
    mutating func exchange(_ outcome: PushOutcome = .delivered, room: Int = 100) -> [Push] {
        let pushes = send(room: room)
        for push in pushes { end(push, outcome) }
        return pushes
    }

    mutating func end(_ push: Push, _ outcome: PushOutcome = .delivered) {
        underway.removeAll { $0 == push }
        perform(machine.recordOutcome(outcome, for: push, now: moment))
        if case .session(let key) = push.owner { subscribe(key) }
    }

    /// Advances the clock in steps of a quarter of a second and delivers all pushes.
    mutating func run(_ seconds: Double, _ each: (inout ActivityMachineRun) -> Void = { _ in }) -> [(
        time: Timestamp, push: Push
    )] {
        var sent: [(time: Timestamp, push: Push)] = []
        for _ in 0..<Int(seconds * 4) {
            pass(0.25)
            each(&self)
            for push in exchange() { sent.append((now, push)) }
        }
        return sent
    }

    // MARK: The process

    /// Kills the process and starts another on its disk. The broker delivers its retained messages.
    mutating func crash(
        after seconds: Double = 1, stepping step: Double = 0, canPush: Bool? = nil, receivesRetained: Bool = true
    ) {
        underway = []
        machine = LiveActivityPublisherMachine(canPush: canPush ?? machine.canPush)
        moment = (moment + seconds).stepped(by: step)
        for (key, record) in disk { machine.load(record, of: key, now: moment) }
        subscribed = Set(stored.keys).filter { machine.shown.hasMetrics(of: $0) }
        perform(machine.connected(now: moment))
        guard receivesRetained else { return }
        for state in states.values { receive(state, plan: plans[state.key]) }
        for (key, snapshot) in snapshots { receive(snapshot, of: key) }
    }

    mutating func drop(_ key: SessionKey) {
        machine.drop([key.session.shard])
        subscribe(key)
    }

    private mutating func perform(_ actions: [ActivityAction]) {
        for action in actions {
            switch action {
            case .save(let key):
                saves += 1
                guard let record = machine.entries[key]?.record else { continue }
                stored[key] = JSONCoding.encode(record)
                #expect(stored[key].flatMap(loaded).map { JSONCoding.encode($0) } == stored[key])
            case .erase(let key): stored[key] = nil
            case .publish(let key):
                let payload = machine.message(of: key).payload
                retained[key] = try? JSONCoding.decode(ActivityStatus.self, from: payload)
                if let status = retained[key] { statuses.append(status) }
            case .reply(_, _, let reply): replies.append(reply)
            case .saveNotifications, .dropAlert: Issue.record("a user's record in a test of sessions")
            case .report(let report): reports.append(report)
            }
        }
    }

    func status(_ key: SessionKey) -> ActivityStatus.Status? { retained[key]?.status }
}
