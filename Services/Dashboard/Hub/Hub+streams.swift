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

    /// Begins a stream with the newest of everything that it shows. Returns its id.
    mutating func watch(_ watch: Watch, _ login: Login, _ now: Moment) throws(StreamLimit) -> Int {
        if isClosed || streams.count >= Self.streamLimit { throw refused(.ofService) }
        if logins[login.id]?.count ?? 0 >= Self.loginLimit { throw refused(.ofLogin) }
        lastID += 1
        let id = lastID
        var stream = LiveStream(watch, login, now: now)
        stream.put(linkFrame, in: .bus)
        stream.put(servicesFrame, in: .services)
        stream.beat(beatFrame(now), now)
        for audience in watch.audiences(of: login.user) {
            audiences[audience, default: []].insert(id)
            for topic in topics(audience) {
                guard let frame = frame(of: topic) else { continue }
                stream.put(watch.namesSource ? frame.naming(topic) : frame, in: .topic(topic))
            }
        }
        streams[id] = stream
        logins[login.id, default: []].insert(id)
        for need in watch.needs(of: login.user) {
            if needs[need] == nil { haveNeedsChanged = true }
            needs[need] = ((needs[need]?.count ?? 0) + 1, nil)
        }
        return id
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
            let open = known.filter { !$0.value.isOver }
            let past = known.filter { $0.value.isOver }.prefix(Self.recentLimit)
            return [.user(user, .current)]
                + open.flatMap { session in
                    [.state, .metrics].map { .session(SessionKey(user, session.key), $0 as SessionTopic) }
                }
                + past.flatMap { session in
                    [.state, .workout].map { .session(SessionKey(user, session.key), $0 as SessionTopic) }
                }
        case .own(let user):
            return [.user(user, .current), .user(user, .profile)]
                + (runs[user] ?? []).sorted().map { .user(user, .virtualRun($0)) }
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
            needs[need] = (count - 1, count == 1 ? now + Self.releaseDelay : nil)
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
        var actions: [HubAction] = []
        for id in ids {
            streams[id]?.end(frame)
            wake(id, now, &actions)
        }
        return actions
    }

    /// Sends a late reply to the streams of a user's logins.
    mutating func reply(_ frame: EventFrame, to user: User, _ now: Moment) -> [HubAction] {
        var actions: [HubAction] = []
        for id in streams.keys where streams[id]?.user == user { put(frame, in: .end, of: id, now, &actions) }
        return actions
    }

    // MARK: Time

    /// Ten times a second: delivers what is due, sends beats, ends streams that do not read, and releases topics.
    mutating func tick(_ now: Moment) -> [HubAction] {
        var actions: [HubAction] = []
        var beat: EventFrame?
        for (id, stream) in streams {
            if stream.isStuck(now) {
                countAborted()
                leave(id, now)
                actions.append(.abort(id))
            } else if now >= stream.beatDue {
                let frame = beat ?? beatFrame(now)
                beat = frame
                streams[id]?.beat(frame, now)
                wake(id, now, &actions)
            }
        }
        for id in pending { wake(id, now, &actions) }
        for (topics, need) in needs where need.releaseAt.map({ now >= $0 }) ?? false { release(topics) }
        return actions
    }

    // MARK: Delivery

    mutating func putAll(_ frame: EventFrame, in slot: LiveStream.Slot, _ now: Moment) -> [HubAction] {
        var actions: [HubAction] = []
        for id in streams.keys { put(frame, in: slot, of: id, now, &actions) }
        return actions
    }

    mutating func put(
        _ frame: EventFrame, in slot: LiveStream.Slot, of id: Int, _ now: Moment, _ actions: inout [HubAction]
    ) {
        streams[id]?.put(frame, in: slot)
        wake(id, now, &actions)
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

    private mutating func take(_ id: Int, _ now: Moment) -> [ByteBuffer] {
        pending.remove(id)
        let events = streams[id]?.take(now) ?? []
        countDelivered(events.count)
        return events
    }
}
