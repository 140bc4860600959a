import Bus
import MQTT
import Workouts

/// What a stream shows.
enum Watch: Hashable, Sendable {
    /// The cards of users.
    case home(Set<User>)
    case live(SessionKey, isOwner: Bool)
    /// All sessions, for operators.
    case operators(OperatorView)
    /// A virtual run, for one of its participants.
    case virtualRun(User, RunID)

    /// Whether an event names its user and session: the stream has those of several.
    var namesSource: Bool {
        switch self {
        case .home, .operators: true
        case .live, .virtualRun: false
        }
    }

    /// Whose events a stream of this login receives.
    func audiences(of user: User?) -> [Audience] {
        let own = user.map { [Audience.own($0)] } ?? []
        return switch self {
        case .home(let users): users.flatMap { [.cards($0), .places($0)] } + own
        case .live(let key, _): [.session(key)] + own
        case .operators(let view): [.operators(view)]
        // The cards bring the figures of the user's own session.
        case .virtualRun(let user, let run): [.run(user, run), .own(user), .cards(user)]
        }
    }

    /// What must be subscribed to for a stream of this login, besides what always is.
    func needs(of user: User?) -> [WatchedTopics] {
        let own = user.map { [WatchedTopics.views($0)] } ?? []
        return switch self {
        case .home(let users): users.flatMap { [.metrics($0), .routes($0)] } + own
        case .live(let key, _): [.session(key)] + own
        case .operators: [.allMetrics]
        case .virtualRun(let user, let run): [.run(user, run), .views(user), .metrics(user)]
        }
    }
}

/// Streams that receive the same messages.
enum Audience: Hashable {
    case session(SessionKey)
    /// Streams with a card of the user.
    case cards(User)
    /// Streams with a map of people, the user among them.
    case places(User)
    /// Streams of the user's logins.
    case own(User)
    case run(User, RunID)
    case operators(OperatorView)

    /// The audiences of a topic, and the name of its event.
    static func of(_ topic: Topic) -> (name: EventName, audiences: [Audience])? {
        switch topic {
        case .session(let key, .state): (.state, [.session(key), .cards(key.user)])
        case .session(let key, .workout): (.workout, [.session(key), .cards(key.user)])
        case .session(let key, .metrics): (.metrics, [.session(key), .cards(key.user)])
        case .session(let key, .route): (.route, [.session(key), .places(key.user)])
        case .session(let key, .weather): (.weather, [.session(key)])
        case .session(let key, .announcements): (.announcements, [.session(key)])
        case .user(let user, .current): (.current, [.cards(user), .own(user)])
        case .user(let user, .profile): (.profile, [.own(user)])
        case .user(let user, .virtualRun): (.view, [.own(user)])
        case .user(let user, .virtualRunPeople): (.people, [.own(user)])
        case .user(let user, .partners(let run)): (.partners, [.run(user, run)])
        case .user(let user, .partnerPositions(let run)): (.positions, [.run(user, run)])
        case .user(let user, .virtualRunAnnouncements(let run)): (.announcements, [.run(user, run)])
        default: nil
        }
    }
}

/// Topics that are subscribed to only while a stream needs them.
enum WatchedTopics: Hashable {
    case session(SessionKey)
    /// The live metrics of all sessions of a user.
    case metrics(User)
    /// The live routes of all sessions of a user.
    case routes(User)
    /// The live metrics of all sessions.
    case allMetrics
    /// The views of all virtual runs of a user, and the user's contacts.
    case views(User)
    case run(User, RunID)

    /// The topics that are always subscribed to.
    static let always =
        [.state, .workout].flatMap { TopicFilter.sessions($0 as SessionTopic.Kind, shards: Set(Shard.all)) }
        + [TopicFilter.users(.current), TopicFilter.users(.profile), TopicFilter.allPresences]

    var subscriptions: [MQTTSubscription] {
        switch self {
        case .session(let key):
            [.metrics, .route, .weather, .announcements].map {
                TopicFilter.topic(.session(key, $0 as SessionTopic))
            }
        case .metrics(let user): [TopicFilter.metrics(of: user)]
        case .allMetrics: TopicFilter.sessions(.metrics as SessionTopic.Kind, shards: Set(Shard.all))
        case .routes(let user): [TopicFilter.routes(of: user)]
        case .views(let user): [TopicFilter.virtualRuns(of: user), TopicFilter.topic(.user(user, .virtualRunPeople))]
        case .run(let user, let run):
            [.partners(run), .partnerPositions(run), .virtualRunAnnouncements(run)].map {
                TopicFilter.topic(.user(user, $0 as UserTopic))
            }
        }
    }

    /// The subscriptions that bring a topic; `nil` if it is always subscribed to.
    static func bringing(_ topic: Topic) -> [WatchedTopics]? {
        switch topic {
        case .session(_, .state), .session(_, .workout): nil
        case .session(let key, .metrics): [.session(key), .metrics(key.user), .allMetrics]
        case .session(let key, .route): [.session(key), .routes(key.user)]
        case .session(let key, _): [.session(key)]
        case .user(let user, .virtualRun), .user(let user, .virtualRunPeople): [.views(user)]
        case .user(let user, .partners(let run)), .user(let user, .partnerPositions(let run)),
            .user(let user, .virtualRunAnnouncements(let run)):
            [.run(user, run)]
        default: nil
        }
    }
}
