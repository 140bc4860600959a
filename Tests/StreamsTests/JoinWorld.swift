import Bus
import Foundation
import MQTT
import Storage
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import RouteBuilder
@testable import Streams

/// metrics-aggregator and route-builder on their stores, a broker with retained messages, and one session.
struct JoinWorld {
    enum Role: CaseIterable {
        case aggregator, builder

        /// Whether the broker delivers a topic to the service.
        fileprivate func reads(_ topic: SessionTopic) -> Bool {
            switch topic {
            case .state, .request: true
            case .samples, .summaryMetrics, .route, .track, .profile: self == .aggregator
            case .summaryRoute: true
            case .locations: self == .builder
            default: false
            }
        }
    }

    static let start = 1_700_000_000.0
    /// Ten minutes with a pause.
    static let segments = [
        Segment(start: Timestamp(seconds: start), end: Timestamp(seconds: start + 299)),
        Segment(start: Timestamp(seconds: start + 400), end: Timestamp(seconds: start + 600)),
    ]

    let clock = ManualClock(now: Timestamp(seconds: start + 1_000))
    var script = Script(start: start)
    /// `nil` while offline.
    private(set) var aggregator: Aggregator?
    private(set) var builder: StreamOwner<RouteWork>?
    /// All messages, in their order.
    private(set) var log: [MQTTMessage] = []
    var bounds = StreamBounds()
    /// Whether jobs wait for ``runJobs(_:where:)``.
    var holdsJobs = false {
        didSet {
            aggregator?.runsJobs = !holdsJobs
            builder?.runsJobs = !holdsJobs
        }
    }
    private var broker = BrokerModel()
    private var queues: [Role: [MQTTMessage]] = [:]
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    // MARK: The broker

    /// Publishes messages to both services and the log.
    mutating func publish(_ messages: [MQTTMessage]) {
        log += messages
        for message in messages {
            broker.publish(message)
            guard case .session(_, let topic)? = Topic(message.topic) else { continue }
            for role in Role.allCases where isOnline(role) && role.reads(topic) {
                queues[role, default: []].append(message)
            }
        }
    }

    /// Changes a retained message as a broker does that starts from an old save.
    mutating func restore(_ message: MQTTMessage) { publish([message]) }

    /// Loses all retained messages.
    mutating func forget() { broker.forgetAll() }

    /// Drops queued messages.
    mutating func lose(_ role: Role, where isLost: (SessionTopic) -> Bool) {
        queues[role]?.removeAll { message in
            guard case .session(_, let topic)? = Topic(message.topic) else { return false }
            return isLost(topic)
        }
    }

    /// Shuffles the queued chunks of the track among themselves and between other messages.
    mutating func shuffleTracks(_ role: Role, using random: inout SeededRandom) {
        var queue = queues[role] ?? []
        let chunks = queue.filter { $0.topic.contains("/track/") }
        queue.removeAll { $0.topic.contains("/track/") }
        for chunk in chunks { queue.insert(chunk, at: Int.random(in: 0...queue.count, using: &random)) }
        queues[role] = queue
    }

    /// Publishes old chunks and summaries of the route to the aggregator again.
    mutating func repeatTracks(using random: inout SeededRandom) {
        guard aggregator != nil else { return }
        let old = log.filter { $0.topic.contains("/track/") || $0.topic.hasSuffix("/summary/route") }
        for message in old where Int.random(in: 0..<4, using: &random) == 0 {
            queues[.aggregator, default: []].append(message)
        }
    }

    /// The engine's retained topics.
    var engineTopics: [MQTTMessage] {
        let profile = Topic.session(script.key, .profile).name
        return [log.last { $0.topic == profile }, script.stateMessage].compactMap(\.self)
    }

    /// Connects both services to the broker again.
    mutating func reconnect() async throws {
        publish(try await aggregator?.connect() ?? [])
        publish(try await builder?.connect() ?? [])
    }

    /// The number of acknowledged items.
    func next(_ kind: StreamName.Kind) -> Int {
        let topic = Topic.session(script.key, kind.ack(Device("watch-1")!))
        return log.payloads(topic).compactMap { if case .next(let next)? = try? Ack($0) { next } else { nil } }.max()
            ?? 0
    }

    func queued(_ role: Role) -> [MQTTMessage] { queues[role] ?? [] }

    // MARK: The services

    func isOnline(_ role: Role) -> Bool { role == .aggregator ? aggregator != nil : builder != nil }

    /// Starts a service on its store. The broker delivers the retained messages, states first.
    mutating func run(_ role: Role) async throws {
        switch role {
        case .aggregator: aggregator = try await Aggregator(folder, clock: clock, bounds: bounds)
        case .builder: builder = try await StreamOwner<RouteWork>(folder, clock: clock, bounds: bounds)
        }
        queues[role] = broker.retained.filter { message in
            guard case .session(_, let topic)? = Topic(message.topic) else { return false }
            return role.reads(topic)
        }.sorted { ($0.topic.hasSuffix("state") ? 0 : 1, $0.topic) < ($1.topic.hasSuffix("state") ? 0 : 1, $1.topic) }
    }

    /// Kills a service.
    mutating func kill(_ role: Role) {
        switch role {
        case .aggregator: aggregator = nil
        case .builder: builder = nil
        }
        queues[role] = nil
    }

    /// Makes a service's commits fail.
    func refuse(_ role: Role, _ refuses: Bool) {
        switch role {
        case .aggregator: aggregator?.store.refuse(refuses)
        case .builder: builder?.store.refuse(refuses)
        }
    }

    /// Drops what a service sends after a number of messages.
    func limit(_ role: Role, to count: Int) {
        switch role {
        case .aggregator: aggregator?.bus.limit(to: count)
        case .builder: builder?.bus.limit(to: count)
        }
    }

    /// Delivers the first queued messages to a service.
    mutating func deliver(_ role: Role, _ count: Int = .max) async throws {
        let messages = Array((queues[role] ?? []).prefix(count))
        guard isOnline(role), !messages.isEmpty else { return }
        queues[role]?.removeFirst(messages.count)
        switch role {
        case .aggregator: publish(try await aggregator?.deliver(messages) ?? [])
        case .builder: publish(try await builder?.deliver(messages) ?? [])
        }
    }

    /// Delivers messages to a service alone, as a broker does that restores them.
    mutating func deliverDirectly(_ messages: [MQTTMessage], to role: Role) async throws {
        switch role {
        case .aggregator: publish(try await aggregator?.deliver(messages) ?? [])
        case .builder: publish(try await builder?.deliver(messages) ?? [])
        }
    }

    /// Runs the held jobs of a service.
    mutating func runJobs(_ role: Role) async throws {
        while role == .aggregator ? aggregator?.jobs.isEmpty == false : builder?.jobs.isEmpty == false {
            switch role {
            case .aggregator: publish(try await aggregator?.endJob() ?? [])
            case .builder: publish(try await builder?.endJob() ?? [])
            }
        }
    }

    mutating func tick(_ role: Role) async throws {
        switch role {
        case .aggregator: publish(try await aggregator?.tick() ?? [])
        case .builder: publish(try await builder?.tick() ?? [])
        }
    }

    /// Delivers everything and ticks every second.
    mutating func pass(_ seconds: Int) async throws {
        for _ in 0..<seconds {
            for role in Role.allCases {
                try await deliver(role)
                try await tick(role)
            }
            clock.advance(by: .seconds(1))
        }
    }

    // MARK: Results

    func report() throws -> MetricsReport? {
        try broker[.session(script.key, .summaryMetrics)].map {
            try JSONCoding.decode(MetricsReport.self, from: $0.payload)
        }
    }

    func routeReport() throws -> RouteReport? {
        try broker[.session(script.key, .summaryRoute)].map {
            try JSONCoding.decode(RouteReport.self, from: $0.payload)
        }
    }

    /// The number of published messages of a topic.
    func count(_ topic: SessionTopic) -> Int { log.payloads(.session(script.key, topic)).count }

    /// The track in the aggregator's store, by key.
    func tracks() async throws -> [String] {
        try await aggregator?.store.records(in: StreamStore.tracks, shards: [script.key.session.shard]).map(\.key) ?? []
    }

    /// The final `summary/metrics`, its series and `workout` without revisions.
    func results() throws -> [String] {
        let metrics = try #require(try report())
        let route = try #require(try routeReport())
        #expect(metrics.route == route.revision)
        #expect(metrics.state == script.state.revision)
        var session = Session(
            key: script.key, start: SessionStart(activity: .running, countdown: 0),
            at: Timestamp(seconds: Self.start), now: Timestamp(seconds: Self.start + 1_000))
        try session.apply(.end(streams: [:]), at: Timestamp(seconds: Self.start + 600))
        var record = WorkoutRecord(session, metrics: metrics, route: route, isComplete: true, revision: 1)
        record.session = SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!
        record.summaries = [:]
        var same = metrics
        (same.revision, same.state, same.route) = (0, 0, nil)
        let chunks = (0..<metrics.chunks).map { number in
            let payload = log.payloads(.session(script.key, .series(number))).last ?? []
            return String(decoding: payload, as: UTF8.self).replacing("\"revision\":\(metrics.revision)", with: "")
        }
        return [JSONCoding.encode(same), JSONCoding.encode(record)].map { String(decoding: $0, as: UTF8.self) } + chunks
    }
}

/// The items of a session, as devices recorded them.
struct JoinItems {
    let samples: [Sample]
    let locations: [Location]

    /// Samples with a heart rate, and locations northwards at 3 m/s.
    init(samples: Range<Int> = 0..<601, locations: Range<Int> = 0..<601) {
        self.samples = samples.map { second in
            var sample = Sample(time: Timestamp(seconds: JoinWorld.start + Double(second)))
            sample[.heartRate] = Double(120 + second % 40)
            return sample
        }
        self.locations = locations.map { second in
            var location = Location(
                time: Timestamp(seconds: JoinWorld.start + Double(second)),
                latitude: 47 + 3 * Double(second) / 111_194.93, longitude: 8)
            location[.horizontalAccuracy] = 5
            location[.altitude] = 400 + Double(second % 100)
            return location
        }
    }

    func batch(_ script: Script, samples range: Range<Int>) -> MQTTMessage {
        script.batch("watch-1", range.lowerBound, Array(samples[range.clamped(to: samples.indices)]))
    }

    func batch(_ script: Script, locations range: Range<Int>) -> MQTTMessage {
        script.batch("watch-1", range.lowerBound, Array(locations[range.clamped(to: locations.indices)]))
    }
}
