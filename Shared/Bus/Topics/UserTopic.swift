package import Workouts

/// The part of a user's topic after the user.
package enum UserTopic: Hashable, Sendable {
    case current
    case profile
    case request
    case plans
    case replies(Client)
    case coachRequest
    case coachReply
    case virtualRunRequest
    case virtualRun(RunID)
    case partner(RunID, User)
    case virtualRunAnnouncements(RunID)

    var levels: [String] {
        switch self {
        case .current: ["current"]
        case .profile: ["profile"]
        case .request: ["request"]
        case .plans: ["plans"]
        case .replies(let client): ["replies", client.description]
        case .coachRequest: ["coach", "request"]
        case .coachReply: ["coach", "reply"]
        case .virtualRunRequest: ["virtual-run", "request"]
        case .virtualRun(let run): ["virtual-run", run.description]
        case .partner(let run, let partner): ["virtual-run", run.description, "partner", partner.description]
        case .virtualRunAnnouncements(let run): ["virtual-run", run.description, "announcements"]
        }
    }

    init?(_ levels: ArraySlice<String>) {
        let levels = Array(levels)
        switch (levels.first, levels.count) {
        case ("current", 1): self = .current
        case ("profile", 1): self = .profile
        case ("request", 1): self = .request
        case ("plans", 1): self = .plans
        case ("replies", 2):
            guard let client = Client(levels[1]) else { return nil }
            self = .replies(client)
        case ("coach", 2) where levels[1] == "request": self = .coachRequest
        case ("coach", 2) where levels[1] == "reply": self = .coachReply
        case ("virtual-run", 2) where levels[1] == "request": self = .virtualRunRequest
        case ("virtual-run", 2...4):
            guard let run = RunID(levels[1]) else { return nil }
            switch levels.count {
            case 2: self = .virtualRun(run)
            case 3 where levels[2] == "announcements": self = .virtualRunAnnouncements(run)
            case 4 where levels[2] == "partner":
                guard let partner = User(levels[3]) else { return nil }
                self = .partner(run, partner)
            default: return nil
            }
        default: return nil
        }
    }

    package var isRetained: Bool {
        switch self {
        case .current, .profile, .plans, .virtualRun, .partner: true
        case .request, .replies, .coachRequest, .coachReply, .virtualRunRequest, .virtualRunAnnouncements: false
        }
    }
}
