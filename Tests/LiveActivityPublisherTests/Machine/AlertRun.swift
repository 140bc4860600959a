import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// A machine with its disk, a broker with views, and a clock.
struct AlertRun {
    private(set) var machine = LiveActivityPublisherMachine(canPush: true)
    private(set) var moment = Moment(Timestamp(seconds: 1_800_000_000))
    /// The stored records.
    private var stored: [User: [UInt8]] = [:]
    /// The views that a broker retains.
    private var retained: [View: VirtualRunView] = [:]
    private(set) var replies: [Reply] = []
    private(set) var saves = 0
    /// The alerts that the limit dropped.
    private(set) var drops = 0
    /// The pushes in flight.
    var underway: [Push] = []

    private struct View: Hashable {
        let user: User
        let run: RunID
    }

    static let (anna, ben, cleo) = (User("anna")!, User("ben")!, User("cleo")!)
    static let phone = Device("phone-1")!

    var now: Timestamp { moment.wallClock }

    static func run(_ number: Int = 1) -> RunID { RunID("00000000-0000-4000-8000-000000000\(number + 100)")! }

    /// The records that a new process loads.
    var disk: [User: NotificationRecord] {
        stored.compactMapValues { try? JSONCoding.decode(NotificationRecord.self, from: $0, now: moment) }
    }

    // MARK: Messages

    @discardableResult
    mutating func register(
        _ token: Int? = 1, of user: User = ben, device: Device = phone, id: CommandID = CommandID(UUID())
    ) -> Reply? {
        let action: NotificationRegistration.Action =
            token.map { .register(token: ActivityMachineRun.token($0), environment: .sandbox) } ?? .withdraw
        let registration = NotificationRegistration(id: id, client: Client("app")!, device: device, action: action)
        perform(machine.notifications.receiveRegistration(registration, of: user, now: moment))
        return replies.last
    }

    /// Receives the next revision of a user's view; Anna is the host.
    ///
    /// - Parameter isAgain: whether the user reached the status again since the last revision.
    mutating func view(
        _ status: RunStatus = .inviting, _ own: ParticipantStatus = .invited, of user: User = ben, run: Int = 1,
        others: [User: ParticipantStatus] = [anna: .accepted], expiresIn: Double? = 3_600, confirmIn: Double? = 60,
        goal: RunGoal? = .distance(5_000), name: String? = nil, isAgain: Bool = false
    ) {
        var settings = RunSettings()
        (settings.goal, settings.name) = (goal, name)
        let key = View(user: user, run: Self.run(run))
        let statuses = others.merging([user: own]) { $1 }.sorted { $0.key < $1.key }
        let known = retained[key]?.own
        let at = known?.status == own && !isAgain ? known?.at ?? now : now
        var view = VirtualRunView(
            run: key.run, user: user, revision: max((retained[key]?.revision ?? 0) + 1, now.milliseconds),
            status: status, host: Self.anna, settings: settings, createdAt: now,
            participants: statuses.map { .init(user: $0.key, status: $0.value, at: at, sharing: .all) })
        view.expiresAt = expiresIn.map { now + $0 }
        view.confirmBy = status == .confirming ? confirmIn.map { now + $0 } : nil
        retained[key] = view
        receive(view)
    }

    mutating func receive(_ view: VirtualRunView) { perform(machine.notifications.receiveView(view, now: moment)) }

    /// The newest view that a broker has.
    func newestView(of user: User, run: RunID) -> VirtualRunView? { retained[View(user: user, run: run)] }

    mutating func clearView(of user: User = ben, run: Int = 1) {
        retained[View(user: user, run: Self.run(run))] = nil
        perform(machine.notifications.forgetView(of: user, in: Self.run(run), now: moment))
    }

    mutating func profile(of user: User = ben, units: Units? = nil, erasedAt: Timestamp? = nil) {
        perform(
            machine.notifications.receiveProfile(
                Notifications.UserFacts(units: units, erasedAt: erasedAt), of: user, now: moment))
    }

    // MARK: Time and pushes

    mutating func pass(_ seconds: Double) { moment = moment + seconds }

    mutating func step(by seconds: Double) { moment = moment.stepped(by: seconds) }

    /// Sends due pushes, as after a commit that takes some time, and leaves them in flight.
    mutating func send(room: Int = 100, commitTakes delay: Double = 0) -> [Push] {
        let (pushes, actions) = machine.pushes(now: moment, room: room)
        perform(actions)
        moment = moment + delay
        let sent = pushes.compactMap { machine.remake($0, now: moment) }
        underway += sent
        return sent
    }

    /// Sends due pushes with the same outcome for all.
    @discardableResult
    mutating func exchange(_ outcome: PushOutcome = .delivered) -> [Push] {
        let pushes = send()
        for push in pushes { end(push, outcome) }
        return pushes
    }

    mutating func end(_ push: Push, _ outcome: PushOutcome = .delivered) {
        underway.removeAll { $0 == push }
        perform(machine.recordOutcome(outcome, for: push, now: moment))
    }

    // MARK: The process

    /// Kills the process and starts another on its disk. The broker delivers its retained views.
    mutating func crash(after seconds: Double = 1, stepping step: Double = 0, receivesRetained: Bool = true) {
        underway = []
        moment = (moment + seconds).stepped(by: step)
        machine = LiveActivityPublisherMachine(canPush: true)
        for (user, record) in disk { machine.notifications.load(record, of: user, now: moment) }
        guard receivesRetained else { return }
        for view in retained.values { receive(view) }
    }

    private mutating func perform(_ actions: [ActivityAction]) {
        for action in actions {
            switch action {
            case .saveNotifications(let user):
                saves += 1
                stored[user] = (machine.notifications.entries[user]?.record).map { JSONCoding.encode($0) }
            case .reply(_, _, let reply): replies.append(reply)
            case .dropAlert: drops += 1
            case .report: break
            case .save, .erase, .publish: Issue.record("an action of a session")
            }
        }
    }
}

/// An alert as the app reads it.
struct ReadAlert: Decodable, Equatable {
    struct APS: Decodable, Equatable {
        struct Alert: Decodable, Equatable {
            var title: String
            var body: String
        }
        var alert: Alert
    }
    var aps: APS
    var run: RunID
    var kind: RunAlert.Kind
}

extension Push {
    var alert: ReadAlert {
        guard let alert = try? JSONCoding.decode(ReadAlert.self, from: payload) else {
            preconditionFailure("not an alert: \(String(decoding: payload, as: UTF8.self))")
        }
        return alert
    }

    var text: String { alert.aps.alert.body }
}
