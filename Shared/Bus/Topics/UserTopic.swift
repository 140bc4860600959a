import MQTT
package import Workouts

/// The part of a user's topic after the user.
package enum UserTopic: Hashable, Sendable {
    case current
    case profile
    case request
    /// Requests of another user who may read this user's topics.
    case viewerRequest(User)
    case plans
    case replies(Client)
    /// What services refused of the user's payloads.
    case rejected
    case coachRequest
    case coachReply
    case virtualRunRequest
    case virtualRun(RunID)
    case partner(RunID, User)
    case virtualRunAnnouncements(RunID)

    /// The levels of a user topic as an MQTT filter: `+` stands for any client, viewer, run or partner.
    enum Kind: String {
        case current, profile, request, plans
        case viewerRequest = "viewers/+/request"
        case replies = "replies/+"
        case rejected
        case coachRequest = "coach/request"
        case coachReply = "coach/reply"
        case virtualRunRequest = "virtual-run/request"
        case virtualRun = "virtual-run/+"
        case partner = "virtual-run/+/partner/+"
        case virtualRunAnnouncements = "virtual-run/+/announcements"
    }

    var levels: String {
        let (kind, parameters) = kindAndParameters
        return kind.rawValue.filled(with: parameters)
    }

    package var isRetained: Bool {
        switch self {
        case .current, .profile, .plans, .virtualRun, .partner: true
        case .request, .viewerRequest, .replies, .rejected, .coachRequest, .coachReply, .virtualRunRequest,
            .virtualRunAnnouncements:
            false
        }
    }

    var qos: QoS {
        if case .rejected = self { .atMostOnce } else { .atLeastOnce }
    }
}

extension UserTopic {
    private var kindAndParameters: (Kind, [String]) {
        switch self {
        case .current: (.current, [])
        case .profile: (.profile, [])
        case .request: (.request, [])
        case .viewerRequest(let viewer): (.viewerRequest, [viewer.description])
        case .plans: (.plans, [])
        case .replies(let client): (.replies, [client.description])
        case .rejected: (.rejected, [])
        case .coachRequest: (.coachRequest, [])
        case .coachReply: (.coachReply, [])
        case .virtualRunRequest: (.virtualRunRequest, [])
        case .virtualRun(let run): (.virtualRun, [run.description])
        case .partner(let run, let partner): (.partner, [run.description, partner.description])
        case .virtualRunAnnouncements(let run): (.virtualRunAnnouncements, [run.description])
        }
    }

    init?(_ levels: ArraySlice<String>) {
        guard let (kind, parameters) = Kind.match(levels) else { return nil }
        let first = parameters.first ?? ""
        let topic: UserTopic? =
            switch kind {
            case .current: .current
            case .profile: .profile
            case .request: .request
            case .viewerRequest: User(first).map(UserTopic.viewerRequest)
            case .plans: .plans
            case .replies: Client(first).map(UserTopic.replies)
            case .rejected: .rejected
            case .coachRequest: .coachRequest
            case .coachReply: .coachReply
            case .virtualRunRequest: .virtualRunRequest
            case .virtualRun: Self.run(first).map(UserTopic.virtualRun)
            case .partner:
                if let run = Self.run(first), let partner = User(parameters.last ?? "") {
                    .partner(run, partner)
                } else {
                    nil
                }
            case .virtualRunAnnouncements: Self.run(first).map(UserTopic.virtualRunAnnouncements)
            }
        guard let topic else { return nil }
        self = topic
    }
    /// One run has one topic: its id in lower case.
    private static func run(_ text: String) -> RunID? { RunID(text).flatMap { $0.description == text ? $0 : nil } }
}
