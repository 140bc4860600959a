import Bus
import Foundation
import MQTT
import ServiceKit
import Workouts

/// What one connection knows of the person's saved plans, which the dashboard's own account cannot read.
///
/// The broker retains the plans of a person who has some. For the others a request without effect shows that there are
/// none: its reply follows everything that the broker retains.
struct PlanReading {
    enum Action: Equatable {
        case subscribe
        case ask(UserRequest)
    }

    private enum Step: Equatable {
        /// → `subscribing` on a connection.
        case waiting
        /// → `asking` with the broker's confirmation.
        case subscribing
        /// → `known` with the plans, or with the engine's reply; `unreadable`.
        case asking(since: Moment?)
        /// This version cannot read the plans, so they are unknown. → `known` with newer ones.
        case unreadable
        case known(SavedPlans?)
    }

    /// Seconds between requests.
    private static let interval = 5.0

    private let id = CommandID(UUID())
    private let client: Client
    private var isWanted = false
    private var step = Step.waiting

    init(client: Client) {
        self.client = client
    }

    /// The newest plans, empty if there are none; `nil` if they are unknown.
    var plans: [SavedPlans.Plan]? {
        if case .known(let saved) = step { saved?.plans ?? [] } else { nil }
    }

    mutating func want() { isWanted = true }

    /// A new connection has no subscription yet and may have missed a change.
    mutating func restart() { step = .waiting }

    /// - Parameter isConnected: whether the broker accepted the connection.
    mutating func take(isConnected: Bool, _ now: Moment) -> Action? {
        guard isWanted, isConnected else { return nil }
        switch step {
        case .waiting:
            step = .subscribing
            return .subscribe
        case .asking(let since) where since.map({ now.seconds(since: $0) >= Self.interval }) ?? true:
            step = .asking(since: now)
            return .ask(UserRequest(id: id, client: client, action: .workouts(HistoryQuery(limit: 1))))
        case .subscribing, .asking, .unreadable, .known: return nil
        }
    }

    mutating func subscribed() {
        if step == .subscribing { step = .asking(since: nil) }
    }

    /// - Parameter saved: `nil` if the person's plans were cleared.
    mutating func received(_ saved: SavedPlans?) { step = .known(saved) }

    mutating func receivedUnreadable() { step = .unreadable }

    mutating func received(_ reply: Reply) {
        if reply.id == id, reply.ok, case .asking = step { step = .known(nil) }
    }
}

/// The saved plan that a change is based on, by its content: two versions with the same content do not conflict.
struct PlanBase: Sendable {
    let plan: PlanID
    /// `nil` if there was none.
    let digest: PlanDigest?

    /// Why the change would overwrite another; `nil` if it would not.
    ///
    /// - Parameter waiting: the person's presses without a reply.
    func refusal(_ plans: [SavedPlans.Plan], waiting: [PendingCommand]) -> Refusal? {
        if waiting.contains(where: { $0.press.plan == plan }) {
            return Refusal(
                code: "plan_pending",
                message: "an earlier change of this plan still waits for session-engine; try again after its reply")
        }
        let newest = plans.first { $0.plan == plan }.map { PlanDigest($0.definition) }
        return newest == digest ? nil : .planChanged
    }

    /// What the engine compares: a change that reaches it before this one counts.
    func version(in plans: [SavedPlans.Plan]) -> SavedPlans.Version {
        SavedPlans.Version(savedAt: plans.first { $0.plan == plan }?.savedAt)
    }
}

extension Press {
    /// The plan that it saves or deletes.
    fileprivate var plan: PlanID? {
        switch self {
        case .request(.savePlan(let plan, _, _)), .request(.deletePlan(let plan, _)): plan
        case .command, .request, .virtualRun: nil
        }
    }

    /// The same press on another version of the saved plan.
    func based(on version: SavedPlans.Version?) -> Press {
        switch self {
        case .request(.savePlan(let plan, let definition, _)):
            .request(.savePlan(plan, definition, base: version))
        case .request(.deletePlan(let plan, _)): .request(.deletePlan(plan, base: version))
        case .command, .request, .virtualRun: self
        }
    }
}
