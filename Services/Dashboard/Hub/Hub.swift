import Bus
import MQTT
import NIOCore
import ServiceKit
import Workouts

/// The connection to the broker.
enum BrokerLink: Equatable, Sendable {
    case connected
    case away(since: Timestamp)
}

/// What the hub asks for: performed by ``LiveHub``.
enum HubAction: Equatable {
    /// Resumes a stream's task, which waits.
    case deliver(Int, [ByteBuffer])
    /// Closes the connection of a stream that does not read.
    case abort(Int)
}

/// The newest of everything and who watches it: a value that takes messages, viewers and time, and performs nothing.
///
/// It keeps payloads as they came and reads of them the revision and the status. A lower revision than the newest is ignored.
struct Hub {
    /// What the hub knows of a session without decoding its state.
    struct Facts {
        /// The newest revision of its state or record.
        var revision: Int64
        var isOver: Bool
    }

    struct Counts: Equatable {
        var received = 0
        var ignored = 0
        var delivered = 0
        var aborted = 0
        var refused = 0
    }

    static let streamLimit = 2_000
    static let loginLimit = 8
    /// Sessions of one user that are over and remembered. The oldest go first.
    static let pastLimit = 20
    /// How long a session that is over is remembered after its last revision, in milliseconds.
    static let pastLifetime: Int64 = 48 * 3_600_000
    /// The seconds from the end of the last stream that needs topics until they are released.
    static let releaseDelay = 30.0

    private(set) var link: BrokerLink
    /// Refuses new streams, before the process ends.
    var isClosed = false
    private(set) var counts = Counts()
    var streams: [Int: LiveStream] = [:]
    var audiences: [Audience: Set<Int>] = [:]
    /// Streams of each login.
    var logins: [LoginID: Set<Int>] = [:]
    /// Streams whose task waits and whose events are not due yet.
    var pending: Set<Int> = []
    /// The number of streams that need topics; with none, when they are released.
    var needs: [WatchedTopics: (count: Int, releaseAt: Moment?)] = [:]
    var haveNeedsChanged = false
    var lastID = 0
    private var newest: [Topic: EventFrame] = [:]
    private(set) var sessions: [User: [SessionID: Facts]] = [:]
    private(set) var runs: [User: Set<RunID>] = [:]
    /// The processes that are online, by service.
    private var services: [String: Set<ProcessName>] = [:]

    /// The version of the assets; `nil` if there are none.
    private let version: String?

    init(now: Moment, version: String? = nil) {
        self.version = version
        link = .away(since: now.wallClock)
    }

    func frame(of topic: Topic) -> EventFrame? { newest[topic] }

    func isWatched(_ audience: Audience) -> Bool { audiences[audience]?.isEmpty == false }

    // MARK: Messages

    /// Takes a message.
    /// - Throws: `PayloadError` for a payload that no event can have.
    mutating func receive(_ message: MQTTMessage, _ now: Moment) throws(PayloadError) -> [HubAction] {
        counts.received += 1
        guard let topic = Topic(message.topic) else { return [] }
        if case .presence(let service, let instance) = topic {
            return try receive(presence: message.payload, service, instance, now)
        }
        // A message of released topics may be under way.
        guard let (name, audiences) = Audience.of(topic), isSubscribed(topic) else { return [] }
        guard !message.payload.isEmpty else {
            remove(topic)
            return []
        }
        let head = try PayloadHead(message.payload)
        guard let frame = EventFrame(name, message.payload, revision: head.revision ?? 0) else {
            throw .malformed("line break")
        }
        if name != .announcements {
            guard let revision = head.revision else { throw .malformed("revision: missing", field: "revision") }
            guard revision > newest[topic]?.revision ?? -1, note(topic, head, revision, now) else {
                counts.ignored += 1
                return []
            }
            newest[topic] = frame
        }
        return fanOut(frame, of: topic, to: audiences, now)
    }

    private mutating func fanOut(
        _ frame: EventFrame, of topic: Topic, to audiences: [Audience], _ now: Moment
    ) -> [HubAction] {
        var actions: [HubAction] = []
        var named: EventFrame?
        // A stream may be in two audiences of a topic.
        for id in Set(audiences.flatMap({ self.audiences[$0] ?? [] })) {
            guard let namesSource = streams[id]?.watch.namesSource else { continue }
            if namesSource, named == nil { named = frame.naming(topic) }
            put(namesSource ? named ?? frame : frame, in: .topic(topic), of: id, now, &actions)
        }
        return actions
    }

    /// Remembers sessions and runs. Returns `false` for a session that is over for too long.
    private mutating func note(_ topic: Topic, _ head: PayloadHead, _ revision: Int64, _ now: Moment) -> Bool {
        switch topic {
        case .session(let key, .state):
            let isOver = head.status.flatMap { SessionStatus(rawValue: $0) }?.isOver ?? false
            return note(key, Facts(revision: revision, isOver: isOver), now)
        case .session(let key, .workout):
            let known = sessions[key.user]?[key.session]
            let isNewer = revision > known?.revision ?? -1
            return note(
                key, Facts(revision: isNewer ? revision : known?.revision ?? revision, isOver: known?.isOver ?? true),
                now)
        case .user(let user, .virtualRun(let run)):
            runs[user, default: []].insert(run)
            return true
        default: return true
        }
    }

    private mutating func note(_ key: SessionKey, _ facts: Facts, _ now: Moment) -> Bool {
        let isWatched = isWatched(.session(key))
        let isPast = facts.isOver && now.wallClock.milliseconds - facts.revision > Self.pastLifetime
        guard isWatched || !isPast else { return false }
        sessions[key.user, default: [:]][key.session] = facts
        guard facts.isOver else { return true }
        let past = sessions[key.user, default: [:]].filter { $0.value.isOver }
        guard past.count > Self.pastLimit else { return true }
        let oldest = past.keys.filter { !self.isWatched(.session(SessionKey(key.user, $0))) }
            .min { past[$0]!.revision < past[$1]!.revision }
        if let oldest { forget(SessionKey(key.user, oldest)) }
        return oldest != key.session
    }

    /// Removes the sessions that are over for too long.
    mutating func forgetPast(_ now: Moment) {
        for (user, facts) in sessions {
            for (session, facts) in facts
            where facts.isOver && now.wallClock.milliseconds - facts.revision > Self.pastLifetime {
                let key = SessionKey(user, session)
                if !isWatched(.session(key)) { forget(key) }
            }
        }
    }

    private mutating func forget(_ key: SessionKey) {
        sessions[key.user]?[key.session] = nil
        if sessions[key.user]?.isEmpty == true { sessions[key.user] = nil }
        for topic: SessionTopic in [.state, .workout, .metrics, .route, .weather] { newest[.session(key, topic)] = nil }
    }

    /// Removes a topic that was cleared. While streams show it, its revision stays: what comes back must be newer.
    private mutating func remove(_ topic: Topic) {
        guard Audience.of(topic)?.audiences.contains(where: isWatched) != true else { return }
        newest[topic] = nil
        switch topic {
        case .session(let key, .state): forget(key)
        case .user(let user, .virtualRun(let run)):
            runs[user]?.remove(run)
            if runs[user]?.isEmpty == true { runs[user] = nil }
        default: break
        }
    }

    // MARK: Subscriptions

    private func isSubscribed(_ topic: Topic) -> Bool {
        WatchedTopics.bringing(topic).map { $0.contains { needs[$0] != nil } } ?? true
    }

    /// Removes what is no longer kept up to date.
    mutating func release(_ topics: WatchedTopics) {
        needs[topics] = nil
        haveNeedsChanged = true
        let released: [Topic] =
            switch topics {
            case .session(let key): [.metrics, .route, .weather].map { .session(key, $0) }
            case .metrics(let user): (sessions[user] ?? [:]).keys.map { .session(SessionKey(user, $0), .metrics) }
            case .views(let user): (runs.removeValue(forKey: user) ?? []).map { .user(user, .virtualRun($0)) }
            case .run(let user, let run): [.partners(run), .partnerPositions(run)].map { .user(user, $0) }
            }
        for topic in released where !isSubscribed(topic) { newest[topic] = nil }
    }

    // MARK: Services and the broker

    private mutating func receive(
        presence payload: ArraySlice<UInt8>, _ service: String, _ instance: ProcessName, _ now: Moment
    ) throws(PayloadError) -> [HubAction] {
        let isOnline = payload.isEmpty ? false : try PayloadHead(payload).status == "online"
        let before = services
        if isOnline {
            services[service, default: []].insert(instance)
        } else if services[service] != nil {
            services[service]?.remove(instance)
        } else if !payload.isEmpty {
            services[service] = []
        }
        guard services != before else { return [] }
        return putAll(servicesFrame, in: .services, now)
    }

    mutating func connected(_ now: Moment) -> [HubAction] {
        link = .connected
        // The broker sends the presences again. Those of processes that ended meanwhile it may have lost.
        services = [:]
        return putAll(linkFrame, in: .bus, now)
    }

    mutating func disconnected(_ now: Moment) -> [HubAction] {
        if link == .connected { link = .away(since: now.wallClock) }
        return putAll(linkFrame, in: .bus, now)
    }

    func isOnline(_ service: String) -> Bool { services[service]?.isEmpty == false }

    /// Which services are online.
    var servicesFrame: EventFrame { .json(.services, services.mapValues { !$0.isEmpty }) }

    var linkFrame: EventFrame {
        switch link {
        case .connected: .json(.bus, Link(connected: true, since: nil))
        case .away(let since): .json(.bus, Link(connected: false, since: since))
        }
    }

    /// The server's clock, for a browser's, and the version, by which a page finds that it is of an earlier one.
    func beatFrame(_ now: Moment) -> EventFrame { .json(.beat, Beat(now: now.wallClock, version: version)) }

    private struct Beat: Encodable {
        let now: Timestamp
        let version: String?
    }

    private struct Link: Encodable {
        let connected: Bool
        let since: Timestamp?
    }

    // MARK: Counts

    mutating func countDelivered(_ events: Int) { counts.delivered += events }
    mutating func countAborted() { counts.aborted += 1 }
    mutating func countRefused() { counts.refused += 1 }
}

extension SessionStatus {
    fileprivate var isOver: Bool {
        switch self {
        case .completed, .canceled, .deleted: true
        case .preparing, .active, .paused, .suspended, .saving: false
        }
    }
}
