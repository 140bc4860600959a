import Bus
import NIOCore
import ServiceKit
import Workouts

/// Streams: who watches what, and what they take.
extension Hub {
    /// What a stream's task gets when it asks for events.
    enum Next: Equatable {
        case events([ByteBuffer])
        case wait
        case end
    }

    /// The sessions of a card whose records a stream begins with.
    private static let recentLimit = 5
    /// The seconds between two pages of a view of operators.
    static let overviewInterval = 2.0
    /// The seconds for which the first one waits for all retained metrics.
    static let overviewDelay = 1.0

    /// The stream that a page of a login has opened before.
    func stream(of page: String, _ login: LoginID) -> Int? {
        logins[login]?.first { streams[$0]?.page == page }
    }

    /// The stream that gives way to a new one: without room, the first of the account that has the most, unless the new
    /// one's account would then have as many.
    func crowding(_ login: Login) -> Int? {
        guard !isClosed, streams.count >= Self.streamLimit, logins[login.id]?.count ?? 0 < Self.loginLimit else {
            return nil
        }
        var counts: [User?: Int] = [:]
        for stream in streams.values { counts[stream.user, default: 0] += 1 }
        guard let most = counts.max(by: { $0.value < $1.value }), most.value > (counts[login.user] ?? 0) + 1 else {
            return nil
        }
        return streams.filter { $0.value.user == most.key }.keys.min()
    }

    /// Begins a stream with the newest of everything that it shows. Returns its id.
    mutating func watch(
        _ watch: Watch, _ login: Login, page: String? = nil, _ now: Moment
    ) throws(StreamLimit) -> Int {
        if isClosed || streams.count >= Self.streamLimit { throw refused(.ofService) }
        if logins[login.id]?.count ?? 0 >= Self.loginLimit { throw refused(.ofLogin) }
        lastID += 1
        let id = lastID
        var stream = LiveStream(watch, login, page: page, now: now)
        // First: a page that follows a change of rights drops what it may no longer show.
        if case .home(let users) = watch { stream.put(Self.seenFrame(users, login), in: .seen) }
        stream.put(linkFrame, in: .bus)
        stream.put(servicesFrame, in: .services)
        stream.beat(beatFrame(now), now)
        for audience in watch.audiences(of: login.user) {
            audiences[audience, default: []].insert(id)
            for topic in topics(audience) {
                guard let frame = frame(of: topic), let event = watch.namesSource ? frame.naming(topic) : frame else {
                    continue
                }
                stream.put(event, in: .topic(topic))
            }
        }
        streams[id] = stream
        logins[login.id, default: []].insert(id)
        let isFirst = needs[.allMetrics] == nil
        for need in watch.needs(of: login.user) {
            if needs[need] == nil { haveNeedsChanged = true }
            needs[need, default: Need()].count += 1
            needs[need]?.releaseAt = nil
        }
        if case .operators(let view) = watch {
            if isFirst { allMetricsSince = now }
            overviewsDue[view] = allMetricsSince.map { max(now, $0 + Self.overviewDelay) }
        }
        if isComplete(stream, now) { streams[id]?.putReady() }
        return id
    }

    private static func seenFrame(_ users: Set<User>, _ login: Login) -> EventFrame {
        struct Seen: Encodable { let users: [User], week: String }
        return .json(.seen, Seen(users: users.sorted(), week: HomePage.weekTitle(of: login)))
    }

    private mutating func refused(_ limit: StreamLimit) -> StreamLimit {
        countRefused()
        return limit
    }

    /// The topics that a stream of an audience begins with.
    private func topics(_ audience: Audience) -> [Topic] {
        switch audience {
        case .session(let key): return [.state, .metrics, .route, .weather, .workout].map { .session(key, $0) }
        case .cards(let user):
            let known = (sessions[user] ?? [:]).sorted { $0.value.revision > $1.value.revision }
            let open = known.filter { !$0.value.isSettled }
            let past = known.filter { $0.value.isSettled }.prefix(Self.recentLimit)
            return [.user(user, .current)]
                + open.flatMap { session in
                    [.state, .metrics].map { .session(SessionKey(user, session.key), $0 as SessionTopic) }
                }
                + past.flatMap { session in
                    [.state, .workout].map { .session(SessionKey(user, session.key), $0 as SessionTopic) }
                }
        case .places(let user):
            return (sessions[user] ?? [:]).filter { !$0.value.isSettled }.keys.sorted()
                .map { .session(SessionKey(user, $0), .route) }
        case .own(let user):
            return [.user(user, .current), .user(user, .profile), .user(user, .virtualRunPeople)]
                + (runs[user] ?? []).sorted().map { .user(user, .virtualRun($0)) }
        case .operators: return []
        case .run(let user, let run): return [.partners(run), .partnerPositions(run)].map { .user(user, $0) }
        }
    }

    /// A stream's task has written its events and asks for the next.
    mutating func next(_ id: Int, _ now: Moment) -> Next {
        guard let stream = streams[id] else { return .end }
        if stream.isEnding, stream.isEmpty { return .end }
        if stream.isDue(now) { return .events(take(id, now)) }
        streams[id]?.phase = .waiting
        if !stream.isEmpty { pending.insert(id) }
        return .wait
    }

    /// A stream is over, for whichever reason. Repeated calls do nothing.
    mutating func leave(_ id: Int, _ now: Moment) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        pending.remove(id)
        remove(id, from: \.logins, at: stream.login)
        for audience in stream.watch.audiences(of: stream.user) { remove(id, from: \.audiences, at: audience) }
        for need in stream.watch.needs(of: stream.user) {
            guard let count = needs[need]?.count else { continue }
            needs[need]?.count = count - 1
            needs[need]?.releaseAt = count == 1 ? now + Self.releaseDelay : nil
            if count == 1, needs.count > Self.needLimit || !isKnown(need) { release(need) }
        }
    }

    /// Whether a session or run exists: nothing of others is kept for the next stream.
    private func isKnown(_ topics: WatchedTopics) -> Bool {
        switch topics {
        case .session(let key): sessions[key.user]?[key.session] != nil
        case .run(let user, let run): runs[user]?.contains(run) ?? false
        case .metrics, .routes, .allMetrics, .views: true
        }
    }

    private mutating func remove<Key>(_ id: Int, from sets: WritableKeyPath<Hub, [Key: Set<Int>]>, at key: Key) {
        self[keyPath: sets][key]?.remove(id)
        if self[keyPath: sets][key]?.isEmpty == true { self[keyPath: sets][key] = nil }
    }

    /// Ends the streams of a login.
    mutating func end(_ login: LoginID, _ now: Moment) -> [HubAction] {
        end(Array(logins[login] ?? []), .json(.end, ["reason": "login"]), now)
    }

    /// Ends all streams and refuses new ones.
    mutating func close(_ now: Moment) -> [HubAction] {
        isClosed = true
        return end(Array(streams.keys), .json(.end, ["reason": "restart"]), now)
    }

    private mutating func end(_ ids: [Int], _ frame: EventFrame, _ now: Moment) -> [HubAction] {
        for id in ids { streams[id]?.end(frame) }
        return deliver(Set(ids), now)
    }

    /// Sends a late reply to the streams of a user's logins.
    mutating func reply(_ frame: EventFrame, to user: User, _ now: Moment) -> [HubAction] {
        deliver(put(frame, in: .end, of: Set(streams.filter { $0.value.user == user }.keys)), now)
    }

    // MARK: Time

    /// Ten times a second: delivers due events, sends beats, ends streams that do not read, and releases topics. A stream
    /// that has begun with everything retained says so.
    mutating func tick(_ now: Moment) -> [HubAction] {
        var actions = endDoubt(now) + expireProcesses(now)
        for (id, stream) in streams {
            if stream.isStuck(now) {
                countAborted()
                leave(id, now)
                actions.append(.abort(id))
                continue
            }
            if now >= stream.beatDue {
                beat(id, now)
                wake(id, now, &actions)
            }
            if !stream.isReady, isComplete(stream, now) {
                streams[id]?.putReady()
                wake(id, now, &actions)
            }
        }
        actions += deliver(pending, now)
        for (topics, need) in needs where need.releaseAt.map({ now >= $0 }) ?? false { release(topics) }
        return actions
    }

    // MARK: Operators

    /// The views whose pages are to be rendered and passed to ``show(_:to:_:)`` now.
    mutating func takeOverviews(_ now: Moment) -> [OperatorView] {
        overviewsDue = overviewsDue.filter { isWatched(.operators($0.key)) }
        let due = overviewsDue.filter { now >= $0.value }.map(\.key)
        for view in due { overviewsDue[view] = now + Self.overviewInterval }
        return due
    }

    mutating func show(_ overview: EventFrame, to view: OperatorView, _ now: Moment) -> [HubAction] {
        deliver(put(overview, in: .overview, of: audiences[.operators(view)] ?? []), now)
    }

    // MARK: Delivery

    mutating func putAll(_ frame: EventFrame, in slot: LiveStream.Slot) -> Set<Int> {
        put(frame, in: slot, of: Set(streams.keys))
    }

    /// Returns the streams, for ``deliver(_:_:)``.
    private mutating func put(_ frame: EventFrame, in slot: LiveStream.Slot, of ids: Set<Int>) -> Set<Int> {
        for id in ids { streams[id]?.put(frame, in: slot) }
        return ids
    }

    /// Delivers due events to the waiting ones of these streams.
    mutating func deliver(_ ids: Set<Int>, _ now: Moment) -> [HubAction] {
        var actions: [HubAction] = []
        for id in ids { wake(id, now, &actions) }
        return actions
    }

    /// Delivers a waiting stream's events if they are due.
    private mutating func wake(_ id: Int, _ now: Moment, _ actions: inout [HubAction]) {
        guard let stream = streams[id], stream.phase == .waiting else { return }
        if stream.isDue(now) {
            actions.append(.deliver(id, take(id, now)))
        } else if !stream.isEmpty {
            pending.insert(id)
        }
    }

    private mutating func beat(_ id: Int, _ now: Moment) {
        let frame = beatFrame(now)
        streams[id]?.beat(frame, now)
    }

    private mutating func take(_ id: Int, _ now: Moment) -> [ByteBuffer] {
        pending.remove(id)
        if streams[id]?.isBeatNear(now) == true { beat(id, now) }
        let events = streams[id]?.take(now) ?? []
        countDelivered(events.count)
        return events
    }
}
