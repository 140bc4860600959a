import Bus
import Client
import Workouts

/// A command on virtual runs or people. Without a run, it applies to the user's only run that fits it.
enum RunRequest: Sendable {
    case create(RunProposal)
    case act(VirtualRunRequest.Action, RunID?, RunFit)
    /// - Parameter endsSession: whether the user's session in the run ends too.
    case leave(RunID?, endsSession: Bool)
    case list(RunsQuery)
    case show(RunID?)
    /// Shows the run until its results.
    case follow(RunID?)
    case routes(RunID?)
    case contacts
    case people(VirtualRunRequest.Action, done: String)
}

/// The virtual runs that a command can apply to.
enum RunFit: Sendable {
    case invited, declinable, confirmable, invitable, removable, beginnable, cancelable, leavable, shareable, prompted,
        finished
    /// Unfinished ones, else finished ones.
    case any

    func fits(_ view: VirtualRunView) -> Bool {
        guard let own = view.own?.status else { return false }
        let isHost = view.host == view.user
        let isOver = view.status.isOver
        switch self {
        case .invited: return own == .invited && !isOver
        case .declinable: return [.invited, .accepted].contains(own) && !isOver
        case .confirmable: return own == .accepted && view.canConfirm
        case .invitable: return isHost && ([.inviting, .confirming].contains(view.status) || view.isOpen)
        case .removable: return isHost && !isOver
        case .beginnable: return isHost && view.status == .inviting
        case .cancelable: return isHost && [.inviting, .confirming].contains(view.status)
        case .leavable: return [.confirmed, .running, .absent].contains(own) && !isOver
        case .shareable: return ![.invited, .declined, .left].contains(own)
        case .prompted: return own == .running && view.prompt != nil
        case .finished: return view.status == .finished && own != .left
        case .any: return !isOver && ![.declined, .left].contains(own)
        }
    }

    /// What a run lacks: `ann has no virtual run …`.
    var text: String {
        switch self {
        case .invited: "with an open invitation"
        case .declinable: "to decline"
        case .confirmable: "that waits for confirmation"
        case .invitable: "to invite others to"
        case .removable: "to remove people from"
        case .beginnable: "to begin"
        case .cancelable: "to cancel; leave ends the user's part in a run that has begun"
        case .leavable: "to leave"
        case .shareable: "to share anything in"
        case .prompted: "that lost all partners"
        case .finished: "with results of the last two days"
        case .any: "of the last two days"
        }
    }
}
