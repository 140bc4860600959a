import Bus
import Foundation
import TestSupport
import Workouts

/// The topics that the design lets an account read and write, independent of the broker's rules.
struct AccessRights {
    enum Account: Hashable {
        case user(User)
        case viewer(User, of: Set<User>)
        case service(String)
        case operators, coach, simulator
    }

    static func mayRead(_ account: Account, _ topic: Topic) -> Bool {
        switch (account, topic) {
        // They have tokens.
        case (.operators, .session(_, .activityRegister)), (.operators, .user(_, .notificationsRegister)): false
        case (.operators, _): true
        case (.user(let name), .session(let key, _)): key.user == name
        case (.user(let name), .user(let user, _)): user == name
        case (.viewer(_, let users), .session(let key, let topic)):
            users.contains(key.user) && topic != .activityRegister && topic != .profile
        case (.viewer(let viewer, let users), .user(let user, let topic)):
            switch topic {
            case .replies: user == viewer
            // A request to set the profile has its body data.
            case .coachRequest, .coachReply, .profile, .rejected, .request, .viewerRequest: false
            // Partners of a virtual run did not agree to each other's viewers.
            case .virtualRunRequest, .virtualRun, .partners, .partnerPositions, .virtualRunAnnouncements,
                .virtualRunPeople:
                false
            // It has tokens.
            case .notificationsRegister: false
            default: users.contains(user)
            }
        case (.coach, .user(_, let topic)): topic == .coachRequest
        case (.simulator, .session): true
        case (.simulator, .user(_, let topic)): topic != .coachRequest
        case (.service("session-engine"), .session(_, let topic)):
            switch topic {
            case .command, .state, .profile, .workout, .heard, .summaryMetrics, .summaryRoute, .weather, .request: true
            default: false
            }
        case (.service("session-engine"), .user(_, let topic)):
            switch topic {
            case .current, .profile, .plans, .request, .viewerRequest, .coachReply: true
            // Its own topic. The rule for a session's requests also allows this.
            case .coachRequest: true
            default: false
            }
        case (.service("session-engine"), .presence(service: "route-builder", _)): true
        // The owner of shard 00 clears the presences of ended processes.
        case (.service(let name), .presence(let service, _)) where service == name: true
        case (.service("metrics-aggregator"), .session(_, let topic)):
            switch topic {
            case .samples, .state, .profile, .route, .request, .summaryMetrics, .summaryRoute, .track: true
            default: false
            }
        case (.service("metrics-aggregator"), .user(_, let topic)), (.service("route-builder"), .user(_, let topic)):
            if case .viewerRequest = topic { true } else { false }
        case (.service("route-builder"), .session(_, let topic)):
            switch topic {
            case .locations, .state, .request, .summaryRoute: true
            default: false
            }
        case (.service("weather-fetcher"), .session(_, let topic)):
            switch topic {
            case .state, .heard(.locations), .weather: true
            default: false
            }
        case (.service("live-activity-publisher"), .session(_, let topic)):
            switch topic {
            case .state, .metrics, .activityRegister, .activity: true
            default: false
            }
        case (.service("live-activity-publisher"), .user(_, let topic)):
            switch topic {
            case .profile, .virtualRun, .partners, .notificationsRegister: true
            default: false
            }
        case (.service("virtual-run"), .session(_, let topic)):
            switch topic {
            case .state, .metrics, .workout, .summaryMetrics, .summaryRoute, .series, .track: true
            default: false
            }
        case (.service("virtual-run"), .user(_, let topic)):
            switch topic {
            case .profile, .virtualRun, .virtualRunRequest, .virtualRunPeople: true
            default: false
            }
        case (.service("virtual-run"), .presence(service: "metrics-aggregator", _)): true
        case (.service("dashboard"), .session(_, let topic)):
            switch topic {
            case .state, .metrics, .route, .weather, .announcements, .workout, .summaryMetrics, .summaryRoute, .series,
                .track, .export:
                true
            default: false
            }
        case (.service("dashboard"), .user(_, let topic)):
            switch topic {
            case .current, .profile, .virtualRun, .partners, .partnerPositions, .virtualRunAnnouncements: true
            // The rule for views also allows this.
            case .virtualRunPeople: true
            default: false
            }
        case (.service("dashboard"), .presence): true
        case (.service("exporter"), .session(_, let topic)):
            switch topic {
            case .state, .workout, .summaryMetrics, .summaryRoute, .series, .track, .request, .export, .exportResult:
                true
            default: false
            }
        default: false
        }
    }

    static func mayWrite(_ account: Account, _ topic: Topic) -> Bool {
        switch (account, topic) {
        case (.user(let name), .session(let key, let topic)): key.user == name && isFromDevice(topic)
        case (.user(let name), .user(let user, let topic)): user == name && isFromDevice(topic)
        case (.viewer(let viewer, let users), .user(let user, let topic)):
            users.contains(user) && topic == .viewerRequest(viewer)
        case (.simulator, .session(_, let topic)): isFromDevice(topic)
        case (.simulator, .user(_, let topic)): isFromDevice(topic)
        case (.coach, .user(_, let topic)): topic == .coachReply
        case (.service("session-engine"), .session(_, let topic)):
            switch topic {
            case .state, .profile, .workout, .announcements: true
            default: false
            }
        case (.service("session-engine"), .user(_, let topic)):
            switch topic {
            case .current, .profile, .plans, .replies, .rejected, .coachRequest: true
            default: false
            }
        case (.service("metrics-aggregator"), .session(_, let topic)):
            switch topic {
            case .samplesAck, .heard(.samples), .metrics, .summaryMetrics, .series, .announcements, .request: true
            default: false
            }
        case (.service("route-builder"), .session(_, let topic)):
            switch topic {
            case .locationsAck, .heard(.locations), .route, .summaryRoute, .track: true
            default: false
            }
        case (.service("weather-fetcher"), .session(_, let topic)): topic == .weather
        case (.service("exporter"), .session(_, let topic)):
            switch topic {
            case .request, .export: true
            default: false
            }
        case (.service("live-activity-publisher"), .session(_, let topic)): topic == .activity
        case (.service("virtual-run"), .session(_, let topic)), (.service("dashboard"), .session(_, let topic)):
            topic == .request
        case (.service("virtual-run"), .user(_, let topic)):
            switch topic {
            case .virtualRun, .partners, .partnerPositions, .virtualRunAnnouncements, .virtualRunPeople, .replies,
                .rejected:
                true
            // The rule for views also allows this.
            case .virtualRunRequest: true
            default: false
            }
        case (.service("exporter"), .user(_, let topic)), (.service("live-activity-publisher"), .user(_, let topic)):
            switch topic {
            case .replies, .rejected: true
            default: false
            }
        case (.service("metrics-aggregator"), .user(_, let topic)), (.service("route-builder"), .user(_, let topic)),
            (.service("weather-fetcher"), .user(_, let topic)):
            topic == .rejected
        case (.service(let name), .presence(let service, _)), (.service(let name), .rejected(let service)):
            service == name
        default: false
        }
    }

    /// Whether devices publish this topic in their own sessions.
    private static func isFromDevice(_ topic: SessionTopic) -> Bool {
        switch topic {
        case .command, .samples, .locations, .activityRegister, .exportResult, .request: true
        default: false
        }
    }

    private static func isFromDevice(_ topic: UserTopic) -> Bool {
        [.request, .virtualRunRequest, .notificationsRegister].contains(topic)
    }

    /// Every topic of the design, of each of these users and of services.
    static func topics(of users: [User]) -> [Topic] {
        let watch = Device("watch-1")!
        let health = Target("healthkit")!
        let run = RunID(UUID())
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
            .virtualRunPeople, .notificationsRegister,
        ]
        let services = [
            "session-engine", "metrics-aggregator", "route-builder", "weather-fetcher", "exporter",
            "live-activity-publisher", "virtual-run", "dashboard",
        ]
        return users.flatMap { user in
            let key = SessionKey(user, SessionID(UUID()))
            return sessionTopics.map { Topic.session(key, $0) } + userTopics.map { Topic.user(user, $0) }
        } + services.flatMap { [.presence(service: $0, ProcessName("host-1")!), .rejected(service: $0)] }
    }
}
