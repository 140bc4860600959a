import Bus
import Foundation
import TestSupport
import Workouts

/// The topics that an account may read and write by the rows of the topics, independent of the broker's rules.
struct AccessRights {
    enum Account: Hashable {
        case user(User)
        case viewer(User, of: Set<User>)
        case service(String)
        case operators, coach, simulator
    }

    static func mayRead(_ account: Account, _ topic: Topic) -> Bool {
        switch (account, topic) {
        case (.operators, _): topic.row?.isSecret != true
        case (.user, .presence), (.viewer, .presence): true
        case (.user(let name), .session(let key, _)): key.user == name
        case (.user(let name), .user(let user, _)): user == name
        case (.viewer(_, let users), .session(let key, let topic)):
            users.contains(key.user) && topic.kind.row.isForViewers
        case (.viewer(let viewer, _), .user(let user, .replies)), (.viewer(let viewer, _), .user(let user, .signedOut)):
            user == viewer
        case (.viewer(_, let users), .user(let user, let topic)): users.contains(user) && topic.kind.row.isForViewers
        case (.coach, _): topic.row?.readers.contains(.coach) == true
        case (.simulator, .session): true
        case (.simulator, .user(_, let topic)): topic != .coachRequest
        case (.service(let service), .presence(let other, _)):
            // The owner of shard 00 clears the presences of ended processes.
            service == other || Party(rawValue: service)?.observed.map(\.rawValue).contains(other) == true
        case (.service(let service), _):
            Party(rawValue: service).map { topic.row?.readers.contains($0) == true } ?? false
        default: false
        }
    }

    static func mayWrite(_ account: Account, _ topic: Topic) -> Bool {
        switch (account, topic) {
        case (.user(let name), .session(let key, let topic)): key.user == name && topic.kind.row.senders.contains(.user)
        case (.user(let name), .user(let user, let topic)): user == name && topic.kind.row.senders.contains(.user)
        case (.viewer(let viewer, let users), .user(let user, let topic)):
            users.contains(user) && topic == .viewerRequest(viewer) || user == viewer && topic == .signOut
        case (.operators, _): topic == .user(.operators, .signOut)
        case (.simulator, _): topic.row?.senders.contains(.user) == true
        case (.coach, _): topic.row?.senders.contains(.coach) == true
        case (.service(let name), .presence(let service, _)), (.service(let name), .rejected(let service)):
            service == name
        case (.service(let service), _):
            Party(rawValue: service).map { topic.row?.senders.contains($0) == true } ?? false
        default: false
        }
    }

    /// Every topic of the design, of each of these users and of services.
    static func topics(of users: [User]) -> [Topic] {
        let watch = Device("watch-1")!
        let health = Target("healthkit")!
        let run = RunID(UUID())
        let upload = ImportID(UUID())
        let sessionTopics: [SessionTopic] = [
            .command, .state, .profile, .samples(watch), .samplesAck(watch), .locations(watch), .locationsAck(watch),
            .heard(.samples), .heard(.locations), .metrics, .route, .weather, .announcements, .activityRegister,
            .activity, .summaryMetrics, .summaryRoute, .series(0),
            .track(0), .request, .workout, .export(health), .exportResult(health),
        ]
        let userTopics: [UserTopic] = [
            .current, .profile, .request, .plans, .replies(Client("phone-1")!), .rejected, .coachRequest, .coachReply,
            .viewerRequest(User("annas-coach")!), .viewerRequest(User("coach")!), .viewerRequest(User("bob")!),
            .virtualRunRequest, .virtualRun(run), .partners(run), .partnerPositions(run), .virtualRunAnnouncements(run),
            .virtualRunPeople, .notificationsRegister, .signOut, .signedOut, .importRequest, .importStatus(upload),
            .importParts(upload), .importAck(upload),
        ]
        precondition(Set(sessionTopics.map(\.kind)) == Set(SessionTopic.Kind.allCases), "a topic is missing")
        precondition(Set(userTopics.map(\.kind)) == Set(UserTopic.Kind.allCases), "a topic is missing")
        let services = Party.services.map(\.rawValue)
        return users.flatMap { user in
            let key = SessionKey(user, SessionID(UUID()))
            return sessionTopics.map { Topic.session(key, $0) } + userTopics.map { Topic.user(user, $0) }
        } + [UserTopic.signOut, .signedOut, .replies(Client("page-1")!)].map { .user(.operators, $0) }
            + services.flatMap { [.presence(service: $0, ProcessName("host-1")!), .rejected(service: $0)] }
    }
}
