import Bus
import ServiceKit
import Workouts

/// What differs between the replies to a session's accepted commands. A whole reply also has room for pages and files.
struct AcceptedReply {
    let revision: Int64?
    let at: Timestamp?

    init(_ reply: Reply) {
        (revision, at) = (reply.revision, reply.at)
    }

    func reply(to id: CommandID, now: Timestamp) -> Reply {
        var reply = Reply(id: id, revision: revision, now: now)
        reply.at = at
        return reply
    }
}

/// A session in memory: its stored record, and what the machine knows besides.
struct EngineSession {
    /// The timeout of a session in `saving` for its summaries, in seconds.
    static let savingTimeout = 10.0
    /// Seconds from the last late item until the finished record is revised.
    private static let lateQuiet = 30.0
    /// Seconds for which a deleted session is published as deleted.
    static let deletedRetention = 90 * 86_400.0
    /// Seconds after a connect before sessions expire, so that retained `heard` arrive first.
    private static let retainedTimeout = 60.0
    /// The minimum seconds between changes of `lastActiveAt` alone.
    private static let activityInterval = 600.0

    var record: SessionRecord
    var replies: [CommandID: AcceptedReply] = [:]
    /// The status in the last line of the log; `nil` before the first.
    private var loggedStatus: SessionStatus?
    /// The time to finish with the available summaries.
    var finishBy: Moment?
    /// The time to revise the finished record with late items.
    var reviseBy: Moment?
    /// The time of the last event: a command or new items.
    var receivedAt: Moment {
        didSet { wasOverdue = false }
    }
    /// Whether the session was due to expire when it was loaded or the connection began, and no event came since.
    private var wasOverdue = false
    /// The services that have reported their items since the connect.
    private var reporters: Set<StreamName.Kind> = []
    /// The pending question to a coach. Later commands wait.
    var question: CoachQuestion?
    /// `state`.
    var stateTopic: RetainedTopic
    /// `{session}/profile`.
    var profileTopic: RetainedTopic
    /// `workout`.
    var workoutTopic: RetainedTopic

    init(record: SessionRecord, replies: [CommandID: AcceptedReply] = [:], receivedAt: Moment) {
        self.record = record
        self.replies = replies
        self.receivedAt = receivedAt
        stateTopic = RetainedTopic(revision: record.revision)
        profileTopic = RetainedTopic(revision: record.profileRevision ?? 0)
        workoutTopic = RetainedTopic(revision: record.workout?.revision ?? 0)
    }

    /// Takes over a session from the store. Its timeouts start again.
    init(loaded record: SessionRecord, replies: [CommandID: AcceptedReply], now: Moment) {
        var record = record
        record.limit(to: now)
        self.init(record: record, replies: replies, receivedAt: record.lastActiveAt)
        loggedStatus = record.session.statusName
        if record.session.statusName == .saving { finishBy = now + Self.savingTimeout }
        planRevision(now)
        findOverdue(now)
    }

    var key: SessionKey { record.session.key }

    /// The status, if it changed since the last call.
    mutating func takeNewStatus() -> SessionStatus? {
        let status = record.session.statusName
        guard status != loggedStatus else { return nil }
        loggedStatus = status
        return status
    }

    // MARK: Time

    /// Notes whether the session is due to expire. Until the services have reported later events, it is not offered.
    mutating func findOverdue(_ now: Moment) {
        wasOverdue = now.seconds(since: receivedAt) >= Session.expiry
    }

    /// Whether readers must not see the session yet: it expires unless a service reports an event.
    var isWithheld: Bool { wasOverdue && record.session.isUnfinished }

    /// Whether the time of the last event is to be published although nothing else has changed.
    func isActivityOverdue(_ now: Moment) -> Bool {
        record.session.isUnfinished && now.seconds(since: record.lastActiveAt) >= Self.activityInterval
    }

    /// Whether only the store needs the session until its topics are cleared, unless a message changes it.
    var canRest: Bool {
        switch record.session.status {
        case .completed: reviseBy == nil && question == nil
        case .deleted: true
        case .unfinished, .saving, .canceled: false
        }
    }

    /// The next time at which time alone may change the session.
    func due(connectedAt: Moment?, _ now: Moment) -> Moment? {
        let waiting = [
            record.session.deadline.map(now.when), record.cueDue.map(now.when), question?.answerBy, finishBy, reviseBy,
            goneAt(connectedAt: connectedAt),
        ]
        return waiting.compactMap(\.self).min()
    }

    /// The time at which the session expires or leaves the bus.
    func goneAt(connectedAt: Moment?) -> Moment? {
        switch record.session.status {
        // Reports arrive after the connect and may contain later events.
        case .unfinished:
            connectedAt.map { connectedAt in
                let expiresAt = receivedAt + Session.expiry
                let isReported = reporters.isSuperset(of: [.samples, .locations])
                return isReported ? expiresAt : max(expiresAt, connectedAt + Self.retainedTimeout)
            }
        case .canceled: record.publishedAt + RetainedTopic.lifetime
        case .completed: reviseBy == nil ? record.publishedAt + RetainedTopic.lifetime : nil
        case .deleted: record.publishedAt + Self.deletedRetention
        case .saving: nil
        }
    }

    // MARK: Changes

    /// Counts the items that a service has heard of. Returns whether there are new ones.
    mutating func receive(_ heard: Heard, _ kind: StreamName.Kind, now: Moment) -> Bool {
        reporters.insert(kind)
        record.session.receive(heard.silences)
        if heard.hasLiveMetrics { record.session.receiveLiveMetrics() }
        guard heard.count > (kind == .samples ? record.itemCount : record.locationCount ?? 0) else { return false }
        if kind == .samples {
            record.itemCount = heard.count
        } else {
            record.locationCount = heard.count
        }
        receivedAt = now
        record.newest = [record.newest, heard.newest].compactMap(\.self).max()
        record.session.receiveFirstItem()
        return true
    }

    /// Takes the clocks that are off, and announces each once. Played at its own speed, a recording would look like one; a
    /// virtual run has none, so there the `at` of a start with a wrong clock does not matter.
    mutating func receiveClockSkew(_ heard: Heard, _ kind: StreamName.Kind, now: Moment) -> [SessionEngineAction] {
        let part: WritableKeyPath<SessionRecord, HeardRevision?> =
            kind == .samples ? \.heardSamples : \.heardLocations
        guard heard.revision > record[keyPath: part]?.revision ?? -1 else { return [] }
        record[keyPath: part] = HeardRevision(
            revision: heard.revision,
            clockSkew: record.session.isLive || record.session.run != nil ? heard.clockSkew : [:])
        let new = record.clockSkew.filter { record.skewedDevices?.contains($0.key) != true }
        guard !new.isEmpty else { return [] }
        record.skewedDevices = (record.skewedDevices ?? []).union(new.keys)
        return new.sorted { $0.key < $1.key }.map { device, seconds in
            var announcement = Announcement(.clockSkew, at: now.wallClock)
            announcement.device = device
            announcement.seconds = seconds
            return .announce(key, announcement)
        }
    }

    /// Announces a new phase of the plan's clock once. Phases that passed meanwhile are not announced.
    mutating func takeCue(_ now: Moment) -> [SessionEngineAction] {
        guard let cue = record.session.planCue(now.wallClock), cue.phase != record.announced else { return [] }
        record.announced = cue.phase
        return [.announce(key, Announcement(.interval, at: cue.at, number: cue.phase.round, text: cue.text))]
    }

    /// Summaries of an ended session must be of its newest state, and its record follows them.
    mutating func reviseEnd(_ now: Moment) {
        guard record.session.statusName.isEnded else { return }
        record.endRevision = record.revision
        planRevision(now)
    }

    /// Schedules the revision of a finished record: after late items, or when the totals of an edit are overdue.
    mutating func planRevision(_ now: Moment) {
        guard record.isRevised else { return }
        guard record.lacksEdit else {
            reviseBy = now + Self.lateQuiet
            return
        }
        reviseBy = min(reviseBy ?? now + Self.savingTimeout, now + Self.savingTimeout)
    }

    /// Composes the finished record from the available totals.
    mutating func compose(_ now: Moment) {
        record.workout = WorkoutRecord(
            record.session, metrics: record.report, route: record.route, weather: record.weather,
            isComplete: record.isComplete, revision: workoutTopic.revise(now.wallClock))
        record.finishedEdit = record.session.edit
        record.publishedAt = now
    }

    /// Removes all data. What is left says that the session was deleted.
    mutating func delete(givenUp reason: Session.CancelReason?) {
        record.session.delete(givenUp: reason)
        record.profileRevision = nil
        record.report = nil
        record.route = nil
        record.weather = nil
        record.newest = nil
        record.heardSamples = nil
        record.heardLocations = nil
        record.skewedDevices = nil
        record.workout = nil
        record.finishedEdit = nil
        (question, replies, finishBy, reviseBy) = (nil, [:], nil, nil)
    }

    /// A new connection brings no echoes of the old one.
    mutating func reconnected() {
        stateTopic.reconnected()
        profileTopic.reconnected()
        workoutTopic.reconnected()
        reporters = []
    }
}
