package import MQTT
import Workouts

/// Who sends and reads messages: the clients of people, and services by the names of their executables.
package enum Party: String, CaseIterable, Sendable {
    /// A user's own clients: devices, apps and terminals.
    case user
    /// The clients of another account that may read a user's topics.
    case viewer
    /// A program outside Pacebus that advises on planned workouts.
    case coach
    case sessionEngine = "session-engine"
    case metricsAggregator = "metrics-aggregator"
    case routeBuilder = "route-builder"
    case weatherFetcher = "weather-fetcher"
    case exporter
    case liveActivityPublisher = "live-activity-publisher"
    case virtualRun = "virtual-run"
    case importer
    case dashboard

    package var isService: Bool { ![.user, .viewer, .coach].contains(self) }

    package static let services = allCases.filter(\.isService)
    /// Those that read or send messages about workouts: dashboard only connects browsers.
    fileprivate static let working = services.filter { $0 != .dashboard }

    /// The services whose presence it reads, besides its own.
    package var observed: [Party] {
        switch self {
        case .sessionEngine: [.routeBuilder]
        case .virtualRun: [.metricsAggregator]
        case .dashboard: [.sessionEngine]
        default: []
        }
    }
}

/// What is true of all topics of a kind. The broker's rules, `asyncapi.yaml` and the READMEs are tested against the rows.
package struct TopicRow: Sendable {
    package let qos: QoS
    package let isRetained: Bool
    package let senders: [Party]
    /// Services, and an outside coach. A user's own clients read all topics of the user.
    package let readers: [Party]
    /// Whether viewers of the user read it too.
    package let isForViewers: Bool
    /// Whether operators, who read everything else, may not read it: it has tokens.
    package let isSecret: Bool
    /// Where it waits in a service's fair queue.
    package let queue: QueueRule.Kind

    fileprivate init(
        _ qos: QoS, retained: Bool = false, from senders: [Party], to readers: [Party],
        viewers isForViewers: Bool = true, secret isSecret: Bool = false, queue: QueueRule.Kind = .service
    ) {
        self.qos = qos
        isRetained = retained
        self.senders = senders
        self.readers = readers
        self.isForViewers = isForViewers && !isSecret
        self.isSecret = isSecret
        self.queue = queue
    }
}

extension SessionTopic.Kind {
    package var row: TopicRow { Self.rows[self] ?? makeRow() }

    private static let rows = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.makeRow()) })

    private func makeRow() -> TopicRow {
        let owners: [Party] = [.sessionEngine, .metricsAggregator, .routeBuilder, .exporter]
        let showing: [Party] = [.exporter, .virtualRun]
        return switch self {
        case .command: TopicRow(.atLeastOnce, from: [.user, .importer], to: [.sessionEngine], queue: .request)
        case .state: TopicRow(.atLeastOnce, retained: true, from: [.sessionEngine], to: Party.working)
        case .profile:
            TopicRow(
                .atLeastOnce, retained: true, from: [.sessionEngine],
                to: [.sessionEngine, .metricsAggregator, .exporter],
                viewers: false)
        case .samples: TopicRow(.atMostOnce, from: [.user, .importer], to: [.metricsAggregator], queue: .items)
        case .samplesAck: TopicRow(.atMostOnce, from: [.metricsAggregator], to: [.importer])
        case .locations: TopicRow(.atMostOnce, from: [.user, .importer], to: [.routeBuilder], queue: .items)
        case .locationsAck: TopicRow(.atMostOnce, from: [.routeBuilder], to: [.importer])
        case .metrics:
            TopicRow(
                .atMostOnce, retained: true, from: [.metricsAggregator], to: [.liveActivityPublisher, .virtualRun])
        case .route: TopicRow(.atMostOnce, retained: true, from: [.routeBuilder], to: [.metricsAggregator])
        case .heardSamples: TopicRow(.atMostOnce, retained: true, from: [.metricsAggregator], to: [.sessionEngine])
        case .heardLocations:
            TopicRow(.atMostOnce, retained: true, from: [.routeBuilder], to: [.sessionEngine, .weatherFetcher])
        case .weather:
            TopicRow(
                .atLeastOnce, retained: true, from: [.weatherFetcher], to: [.sessionEngine, .weatherFetcher])
        case .announcements: TopicRow(.atMostOnce, from: [.sessionEngine, .metricsAggregator], to: [])
        case .activityRegister:
            TopicRow(.atLeastOnce, from: [.user], to: [.liveActivityPublisher], secret: true, queue: .request)
        case .activity:
            TopicRow(.atLeastOnce, retained: true, from: [.liveActivityPublisher], to: [.liveActivityPublisher])
        case .summaryMetrics:
            TopicRow(
                .atLeastOnce, retained: true, from: [.metricsAggregator],
                to: [.sessionEngine, .metricsAggregator] + showing)
        case .summaryRoute:
            TopicRow(
                .atLeastOnce, retained: true, from: [.routeBuilder],
                to: [.sessionEngine, .metricsAggregator, .routeBuilder] + showing)
        case .series: TopicRow(.atLeastOnce, from: [.metricsAggregator], to: showing)
        case .track: TopicRow(.atLeastOnce, from: [.routeBuilder], to: [.metricsAggregator] + showing)
        case .request:
            TopicRow(
                .atLeastOnce, from: [.user, .metricsAggregator, .exporter, .virtualRun], to: owners, queue: .request)
        case .workout:
            TopicRow(
                .atLeastOnce, retained: true, from: [.sessionEngine], to: [.sessionEngine] + showing + [.importer])
        case .export: TopicRow(.atLeastOnce, retained: true, from: [.exporter], to: [.exporter])
        case .exportResult: TopicRow(.atLeastOnce, from: [.user], to: [.exporter], queue: .request)
        }
    }
}

extension UserTopic.Kind {
    package var row: TopicRow { Self.rows[self] ?? makeRow() }

    private static let rows = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.makeRow()) })

    private func makeRow() -> TopicRow {
        switch self {
        case .current: TopicRow(.atLeastOnce, retained: true, from: [.sessionEngine], to: [.sessionEngine])
        case .profile:
            TopicRow(
                .atLeastOnce, retained: true, from: [.sessionEngine],
                to: [.sessionEngine, .liveActivityPublisher, .virtualRun, .importer], viewers: false)
        // A request to set the profile has body data.
        case .request:
            TopicRow(
                .atLeastOnce, from: [.user, .importer], to: [.sessionEngine], viewers: false, queue: .request)
        case .viewerRequest:
            TopicRow(
                .atLeastOnce, from: [.viewer], to: [.sessionEngine, .metricsAggregator, .routeBuilder], viewers: false,
                queue: .request)
        case .plans: TopicRow(.atLeastOnce, retained: true, from: [.sessionEngine], to: [.sessionEngine])
        case .replies:
            TopicRow(
                .atLeastOnce, from: [.sessionEngine, .exporter, .liveActivityPublisher, .virtualRun, .importer],
                to: [.importer], viewers: false)
        case .rejected: TopicRow(.atMostOnce, from: Party.working, to: [], viewers: false)
        case .coachRequest: TopicRow(.atLeastOnce, from: [.sessionEngine], to: [.coach], viewers: false)
        case .coachReply: TopicRow(.atLeastOnce, from: [.coach], to: [.sessionEngine], viewers: false)
        case .virtualRunRequest:
            TopicRow(.atLeastOnce, from: [.user], to: [.virtualRun], viewers: false, queue: .request)
        // Partners of a virtual run did not agree to each other's viewers.
        case .virtualRun:
            TopicRow(
                .atLeastOnce, retained: true, from: [.virtualRun],
                to: [.virtualRun, .liveActivityPublisher], viewers: false)
        case .virtualRunPeople:
            TopicRow(.atLeastOnce, retained: true, from: [.virtualRun], to: [.virtualRun], viewers: false)
        case .partners:
            TopicRow(
                .atMostOnce, retained: true, from: [.virtualRun], to: [.liveActivityPublisher], viewers: false)
        case .partnerPositions, .virtualRunAnnouncements:
            TopicRow(.atMostOnce, from: [.virtualRun], to: [], viewers: false)
        case .signOut: TopicRow(.atLeastOnce, from: [.user], to: [.sessionEngine], viewers: false, queue: .request)
        case .signedOut:
            TopicRow(
                .atLeastOnce, retained: true, from: [.sessionEngine], to: [.sessionEngine, .dashboard], viewers: false)
        case .notificationsRegister:
            TopicRow(.atLeastOnce, from: [.user], to: [.liveActivityPublisher], secret: true, queue: .request)
        case .importRequest: TopicRow(.atLeastOnce, from: [.user], to: [.importer], viewers: false, queue: .request)
        case .importStatus:
            TopicRow(.atLeastOnce, retained: true, from: [.importer], to: [.importer], viewers: false)
        case .importParts: TopicRow(.atMostOnce, from: [.user], to: [.importer], viewers: false, queue: .items)
        case .importAck: TopicRow(.atMostOnce, from: [.importer], to: [], viewers: false)
        }
    }
}
