package import MQTT
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
    /// The other runners of a virtual run now.
    case partners(RunID)
    /// The positions that the other runners share.
    case partnerPositions(RunID)
    case virtualRunAnnouncements(RunID)
    /// The user's contacts for virtual runs.
    case virtualRunPeople
    case notificationsRegister
    /// A request to end logins on web pages.
    case signOut
    /// The logins that were ended.
    case signedOut
    case importRequest
    /// How far the import of a file is.
    case importStatus(ImportID)
    case importParts(ImportID)
    case importAck(ImportID)

    /// The levels of a user topic as an MQTT filter: `+` stands for any client, viewer, run or import.
    package enum Kind: String, CaseIterable, Sendable {
        case current, profile, request, plans
        case viewerRequest = "viewers/+/request"
        case replies = "replies/+"
        case rejected
        case coachRequest = "coach-request"
        case coachReply = "coach-reply"
        case virtualRunRequest = "run-request"
        case virtualRun = "runs/+"
        case virtualRunPeople = "run-people"
        case partners = "runs/+/partners"
        case partnerPositions = "runs/+/positions"
        case virtualRunAnnouncements = "runs/+/announcements"
        case notificationsRegister = "notifications/register"
        case signOut = "sign-out"
        case signedOut = "signed-out"
        case importRequest = "import-request"
        case importStatus = "imports/+"
        case importParts = "imports/+/parts"
        case importAck = "imports/+/parts/ack"
    }

    var levels: String {
        let (kind, parameters) = kindAndParameters
        return kind.rawValue.filled(with: parameters)
    }

    package var isRetained: Bool { kind.row.isRetained }
    package var qos: QoS { kind.row.qos }
}

extension UserTopic {
    package var kind: Kind { kindAndParameters.0 }

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
        case .virtualRunPeople: (.virtualRunPeople, [])
        case .partners(let run): (.partners, [run.description])
        case .partnerPositions(let run): (.partnerPositions, [run.description])
        case .virtualRunAnnouncements(let run): (.virtualRunAnnouncements, [run.description])
        case .notificationsRegister: (.notificationsRegister, [])
        case .signOut: (.signOut, [])
        case .signedOut: (.signedOut, [])
        case .importRequest: (.importRequest, [])
        case .importStatus(let id): (.importStatus, [id.description])
        case .importParts(let id): (.importParts, [id.description])
        case .importAck(let id): (.importAck, [id.description])
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
            case .virtualRun: Self.identifier(first).map(UserTopic.virtualRun)
            case .virtualRunPeople: .virtualRunPeople
            case .partners: Self.identifier(first).map(UserTopic.partners)
            case .partnerPositions: Self.identifier(first).map(UserTopic.partnerPositions)
            case .virtualRunAnnouncements: Self.identifier(first).map(UserTopic.virtualRunAnnouncements)
            case .notificationsRegister: .notificationsRegister
            case .signOut: .signOut
            case .signedOut: .signedOut
            case .importRequest: .importRequest
            case .importStatus: Self.identifier(first).map(UserTopic.importStatus)
            case .importParts: Self.identifier(first).map(UserTopic.importParts)
            case .importAck: Self.identifier(first).map(UserTopic.importAck)
            }
        guard let topic else { return nil }
        self = topic
    }

    /// One run or import has one topic: its id in lower case.
    private static func identifier<Kind>(_ text: String) -> Identifier<Kind>? {
        Identifier(text).flatMap { $0.description == text ? $0 : nil }
    }
}

extension UserTopic.Kind {
    /// Whether operators have it too: they log in on web pages, and own nothing.
    var isOfOperators: Bool { [.signOut, .signedOut, .replies].contains(self) }
}
