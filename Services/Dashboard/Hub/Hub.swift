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
        /// The newest revision of its state or record, in Unix milliseconds.
        var revision = Int64(-1)
        /// `nil` for one that this version does not know.
        var status: SessionStatus?
        /// When items of its devices last arrived, and how many there are, while its metrics are subscribed to.
        var heardAt: Timestamp?
        var items = Int64(0)

        var isSettled: Bool { status?.isSettled ?? false }
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
    /// Seconds after connecting within which the broker sends the presences.
    static let presenceTime = 5.0
    /// Topics of more watches are released as soon as their last stream ends.
    static let needLimit = 2 * streamLimit
    /// The seconds from the end of the last stream that needs topics until they are released.
    static let releaseDelay = 30.0

    var link: BrokerLink
    /// Refuses new streams, before the process ends or while another replica serves.
    var isClosed = false
    private(set) var counts = Counts()
    var streams: [Int: LiveStream] = [:]
    var audiences: [Audience: Set<Int>] = [:]
    /// Streams of each login.
    var logins: [LoginID: Set<Int>] = [:]
    /// Streams whose task waits and whose events are not due yet.
    var pending: Set<Int> = []
    var needs: [WatchedTopics: Need] = [:]
    var haveNeedsChanged = false
    /// The changes of the needs that the broker was asked for, and those that it has granted.
    var changes = (asked: 0, granted: 0)
    var lastID = 0
    private var newest: [Topic: EventFrame] = [:]
    /// The revisions of topics that were cleared while streams showed them: what comes back must be newer.
    private var cleared: [Topic: Int64] = [:]
    private(set) var sessions: [User: [SessionID: Facts]] = [:]
    private(set) var runs: [User: Set<RunID>] = [:]
    /// Services that were known before the last loss of the connection, until the broker had the time to send presences.
    var doubted: (services: Set<String>, until: Moment)?
    /// Since when all metrics are subscribed to, if they are.
    var allMetricsSince: Moment?
    /// When the page of each view of operators is due.
    var overviewsDue: [OperatorView: Moment] = [:]
    var services: [String: [ProcessName: Process]] = [:]
    var newestBeat: (at: Moment, frame: EventFrame)?

    /// The version of the assets; `nil` if there are none.
    let version: String?

    init(now: Moment, version: String? = nil) {
        self.version = version
        link = .away(since: now.wallClock)
    }

    func frame(of topic: Topic) -> EventFrame? { newest[topic] }

    func isWatched(_ audience: Audience) -> Bool { audiences[audience]?.isEmpty == false }

    // MARK: Messages

    /// Takes a message. Returns the streams that have something new, for ``deliver(_:_:)`` after all messages of a batch.
    /// - Throws: `PayloadError` for a payload that no event can have.
    mutating func receive(_ message: MQTTMessage, _ now: Moment) throws(PayloadError) -> Set<Int> {
        counts.received += 1
        guard let topic = Topic(message.topic) else { return [] }
        if case .presence(let service, let instance) = topic {
            return try receive(presence: message, service, instance, now)
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
            let known = newest[topic]?.revision ?? cleared[topic] ?? -1
            guard revision > known, note(topic, head, revision, now) else {
                counts.ignored += 1
                return []
            }
            newest[topic] = frame
            cleared[topic] = nil
            if case .session(let key, .metrics) = topic { note(key, head, revision) }
        }
        return fanOut(frame, of: topic, to: audiences)
    }

    private mutating func fanOut(_ frame: EventFrame, of topic: Topic, to audiences: [Audience]) -> Set<Int> {
        var named: EventFrame?
        // A stream may be in two audiences of a topic.
        let ids = Set(audiences.flatMap { self.audiences[$0] ?? [] })
        for id in ids {
            guard let namesSource = streams[id]?.watch.namesSource else { continue }
            if namesSource, named == nil { named = frame.naming(topic) }
            guard let event = namesSource ? named : frame else { continue }
            streams[id]?.put(event, in: .topic(topic))
        }
        return ids
    }

    /// Remembers sessions and runs. Returns `false` for a session that is over for too long.
    private mutating func note(_ topic: Topic, _ head: PayloadHead, _ revision: Int64, _ now: Moment) -> Bool {
        switch topic {
        case .session(let key, .state):
            var facts = sessions[key.user]?[key.session] ?? Facts()
            facts.revision = revision
            facts.status = head.status.flatMap { SessionStatus(rawValue: $0) }
            return note(key, facts, now)
        case .session(let key, .workout):
            var facts = sessions[key.user]?[key.session] ?? Facts(status: .completed)
            facts.revision = max(facts.revision, revision)
            return note(key, facts, now)
        case .session(let key, .metrics):
            // A session's own viewers come before its state; for operators unknown sessions would add up.
            return sessions[key.user]?[key.session] != nil || needs[.session(key)] != nil
                || needs[.metrics(key.user)] != nil
        case .user(let user, .virtualRun(let run)):
            runs[user, default: []].insert(run)
            return true
        default: return true
        }
    }

    private mutating func note(_ key: SessionKey, _ facts: Facts, _ now: Moment) -> Bool {
        let isWatched = isWatched(.session(key))
        let isPast = facts.isSettled && now.wallClock.milliseconds - facts.revision > Self.pastLifetime
        guard isWatched || !isPast else { return false }
        sessions[key.user, default: [:]][key.session] = facts
        guard facts.isSettled else { return true }
        let past = sessions[key.user, default: [:]].filter { $0.value.isSettled }
        guard past.count > Self.pastLimit else { return true }
        let oldest = past.keys.filter { !self.isWatched(.session(SessionKey(key.user, $0))) }
            .min { past[$0]!.revision < past[$1]!.revision }
        if let oldest { forget(SessionKey(key.user, oldest)) }
        return oldest != key.session
    }

    /// Notes when items arrived. New ones came with this message; the first one may be hours old, and only its newest item says
    /// so.
    private mutating func note(_ key: SessionKey, _ head: PayloadHead, _ revision: Int64) {
        guard needs[.allMetrics] != nil, var facts = sessions[key.user]?[key.session] else { return }
        let published = Timestamp(microseconds: revision * 1_000)
        let count = head.count ?? 0
        if facts.heardAt == nil {
            facts.heardAt = head.newest.map { min($0, published) }
        } else if count > facts.items {
            facts.heardAt = published
        }
        facts.items = count
        sessions[key.user]?[key.session] = facts
    }

    /// Removes the sessions that are over for too long.
    mutating func forgetPast(_ now: Moment) {
        for (user, facts) in sessions {
            for (session, facts) in facts
            where facts.isSettled && now.wallClock.milliseconds - facts.revision > Self.pastLifetime {
                let key = SessionKey(user, session)
                if !isWatched(.session(key)) { forget(key) }
            }
        }
    }

    private mutating func forget(_ key: SessionKey) {
        sessions[key.user]?[key.session] = nil
        if sessions[key.user]?.isEmpty == true { sessions[key.user] = nil }
        for topic: SessionTopic in [.state, .workout, .metrics, .route, .weather] { drop(.session(key, topic)) }
    }

    private mutating func drop(_ topic: Topic) {
        newest[topic] = nil
        cleared[topic] = nil
    }

    /// Removes a topic that was cleared. While streams show it, its revision stays.
    private mutating func remove(_ topic: Topic) {
        if let frame = newest.removeValue(forKey: topic) { cleared[topic] = frame.revision }
        guard Audience.of(topic)?.audiences.contains(where: isWatched) != true else { return }
        cleared[topic] = nil
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
            case .allMetrics: forgetArrivals()
            case .metrics(let user): (sessions[user] ?? [:]).keys.map { .session(SessionKey(user, $0), .metrics) }
            case .routes(let user): (sessions[user] ?? [:]).keys.map { .session(SessionKey(user, $0), .route) }
            case .views(let user):
                [.user(user, .virtualRunPeople)]
                    + (runs.removeValue(forKey: user) ?? []).map { .user(user, .virtualRun($0)) }
            case .run(let user, let run): [.partners(run), .partnerPositions(run)].map { .user(user, $0) }
            }
        for topic in released where !isSubscribed(topic) { drop(topic) }
    }

    /// Forgets when items arrived. Returns the topics of all sessions' metrics.
    private mutating func forgetArrivals() -> [Topic] {
        var topics: [Topic] = []
        for (user, known) in sessions {
            for session in known.keys {
                sessions[user]?[session]?.heardAt = nil
                sessions[user]?[session]?.items = 0
                topics.append(.session(SessionKey(user, session), .metrics))
            }
        }
        return topics
    }

    /// Subscribes to all metrics for a page that is about to be rendered. Returns whether they were subscribed to before.
    mutating func needAllMetrics(_ now: Moment) -> Bool {
        let need = needs[.allMetrics]
        if need == nil {
            haveNeedsChanged = true
            allMetricsSince = now
        }
        if need?.count ?? 0 == 0 { needs[.allMetrics, default: Need()].releaseAt = now + Self.releaseDelay }
        return need != nil
    }

    // MARK: Counts

    mutating func countDelivered(_ events: Int) { counts.delivered += events }
    mutating func countAborted() { counts.aborted += 1 }
    mutating func countRefused() { counts.refused += 1 }
}
