import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Timing
import Workouts

/// The service's one flow of events and the only place where effects happen.
///
/// While commits fail, sessions continue in memory.
struct SessionEngineLoop {
    let context: ServiceContext
    let store: any Store
    let metrics: SessionEngineMetrics
    var machine: SessionEngineMachine
    var outbox: Outbox<SessionEngineMachine>
    /// Commands and requests of users in shards that this process does not own. It may be about to gain them.
    private(set) var pending = PendingBuffer<Shard>(byteLimit: 1 << 20, userLimit: 1 << 18, timeout: 10)
    /// Sessions loaded from history for one event, as they were loaded.
    var borrowed: [SessionKey: EngineSession] = [:]
    /// What is left to publish of the sessions in history.
    var announcing: [StoreRange] = []
    /// The removals under way.
    var erasures: [User: Erasure] = [:]
    /// Files of an operator that ask for removals, until the store has them.
    var purged: [String] = []
    /// Files of an operator that cannot be removed.
    var refusedPurges: Set<String> = []
    var purgedAt: Moment?
    var sweptAt: Moment?
    var newestRevision: Int64 = 0
    /// Commands until their replies leave.
    var noted: [CommandID: (key: SessionKey, name: String)] = [:]
    /// The rate of lines about refused commands.
    var refusals = RateTable<User, Moment>(burst: 20, perSecond: 0.1)
    /// The rates of requests for history by user, and of viewers.
    private var requests = RateTable<User, Moment>(burst: UserLimit.requestBurst, perSecond: UserLimit.requestRate)
    private var viewerRequests = RateTable<User, Moment>(burst: UserLimit.viewerBurst, perSecond: UserLimit.viewerRate)

    /// - Parameter asksCoach: whether an external coach decides swaps and changes of difficulty.
    init(context: ServiceContext, store: any Store, asksCoach: Bool = false) {
        self.context = context
        self.store = store
        machine = SessionEngineMachine(asksCoach: asksCoach)
        outbox = Outbox(context: context, store: store)
        metrics = SessionEngineMetrics(context.metrics)
        context.limits.begin(UserLimit.allCases.map(\.name) + Limits.ofBroker)
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        let now = context.clock.moment
        outbox.begin(event, with: &machine, at: now)
        switch event {
        case .ownership(.gained(let gained)):
            try await load(Set(gained.keys), now)
            try await replay(Set(gained.keys), now)
        case .ownership: break
        case .announce(let shards):
            announcing.removeAll { shards.contains($0.shard) }
            announcing += shards.sorted().map { StoreRange(shard: $0) }
        case .connected: announcing = outbox.epochs.keys.sorted().map { StoreRange(shard: $0) }
        case .disconnected: announcing = []
        case .batch(let batch):
            metrics.received(batch.messages.count)
            let incoming = batch.messages.map(EngineMessage.init)
            try await borrow(incoming, now)
            for message in incoming { receiveMessage(message, now) }
            try await erase(now)
        case .tick:
            erasePurged(now)
            try await erase(now)
            try await sweep(now)
            try await announceResting(now)
            pending.expire(now: now)
            metrics.show(machine.table.statusCounts, pending)
            metrics.showLead(RevisionCeiling.lead(of: newestRevision, at: now.wallClock))
        }
        keepChanged(now)
        try await follow(await outbox.flush(&machine, at: now), now)
        giveBack()
        confirmPurged()
    }

    /// The last flush, at shutdown.
    mutating func finish() async throws {
        let now = context.clock.moment
        try await follow(await outbox.finish(&machine, at: now), now)
    }

    /// Completes a flush: metrics, warnings and pages of the history.
    private mutating func follow(_ flushed: Flushed<SessionEngineAction>, _ now: Moment) async throws {
        switch flushed.commit {
        case .succeeded(let writes, let took, _): metrics.committed(writes, took: took)
        case .failed(isNew: true): await context.send(warnings(now))
        case .failed, .none: break
        }
        var pages: [(User, HistoryPage)] = []
        for action in flushed.performed {
            if case .reply(_, _, let reply) = action { metrics.answered(reply.error) }
            if case .listWorkouts(let user, let page) = action { pages.append((user, page)) }
            log(action, now)
        }
        try await reply(to: pages, now)
    }

    /// Warnings for the sessions whose changes wait for the disk.
    private func warnings(_ now: Moment) -> [MQTTMessage] {
        let warning = Announcement(
            .warning, at: now.wallClock,
            text: "The workout continues, but the server cannot save it now: its disk is full or failing.")
        let keys = outbox.actions.compactMap { if case .save(let key) = $0 { key } else { nil } }
        return keys.sorted().map { Topic.session($0, .announcements).message(JSONCoding.encode(warning)) }
    }

    /// Handles the commands and requests that arrived for gained shards before the gain. Those that the former owner executed are
    /// repeats. It decided what came before these too: what it refused then is not judged again by what followed, and its client
    /// repeats what has no reply.
    private mutating func replay(_ shards: Set<Shard>, _ now: Moment) async throws {
        var others = pending
        let incoming = shards.sorted().flatMap { others.take($0, now: now) }.map(EngineMessage.init)
        try await borrow(incoming, now)
        // Not before: a failed read repeats the event.
        pending = others
        var executed: Set<SessionKey> = []
        var left: [EngineMessage] = []
        for message in incoming.reversed() {
            if case .session(let key, .command)? = message.topic {
                let id = envelope(message.message)?.id
                if id.map({ machine.entries[key]?.replies[$0] != nil }) ?? false {
                    executed.insert(key)
                } else if executed.contains(key) {
                    continue
                }
            }
            left.append(message)
        }
        for message in left.reversed() { receiveMessage(message, now) }
    }

    private mutating func receiveMessage(_ incoming: EngineMessage, _ now: Moment) {
        let message = incoming.message
        guard let topic = incoming.topic else { return reject(badTopic: message, now) }
        do throws(PayloadError) {
            switch topic {
            case .session(let key, let kind) where !outbox.owns(key.user.shard):
                if kind == .command { pending.add(message, for: key.user.shard, of: key.user, now: now) }
            case .user(let user, let kind) where !outbox.owns(user.shard):
                if kind == .request || kind == .signOut { pending.add(message, for: user.shard, of: user, now: now) }
            case .session(let key, .command): receiveCommand(message, key, now)
            case .user(let user, .request): receiveRequest(incoming.request, message, user, now)
            case .user(let user, .viewerRequest(let viewer)):
                receiveViewerRequest(incoming.viewerRequest, message, user, viewer, now)
            case .user(let user, .signOut): signOut(message, user, now)
            case .presence("route-builder", let instance):
                try machine.routeBuilders.receive(message, of: instance, now)
            case _ where message.payload.isEmpty: break
            case .session(let key, .summaryMetrics):
                let report = try JSONCoding.decode(MetricsReport.self, from: message.payload)
                outbox.add(machine.receiveMetricsReport(report, for: key, now: now))
            case .session(let key, .summaryRoute):
                let report = try JSONCoding.decode(RouteReport.self, from: message.payload)
                outbox.add(machine.receiveRouteReport(report, for: key, now: now))
            case .session(let key, .weather):
                let weather = try JSONCoding.decode(Weather.self, from: message.payload)
                outbox.add(machine.receiveWeather(weather, for: key, now: now))
            case .session(let key, .request):
                do throws(PayloadError) {
                    let request = try JSONCoding.decode(SessionRequest.self, from: message.payload)
                    outbox.add(machine.answerSessionRequest(request, for: key))
                } catch {
                    refuse(message, error, to: key.user, now)
                }
            case .session(let key, .heard(let kind)):
                let heard = try JSONCoding.decode(Heard.self, from: message.payload)
                outbox.add(machine.receiveHeard(heard, kind, of: key, now: now))
            case .session(let key, .state):
                outbox.add(machine.seeState(try revision(message), of: key, now: now))
            case .session(let key, .profile):
                outbox.add(machine.seeSessionProfile(try revision(message), of: key, now: now))
            case .session(let key, .workout):
                outbox.add(machine.seeWorkout(try revision(message), of: key, now: now))
            case .user(let user, .current):
                outbox.add(machine.seeCurrent(try revision(message), of: user, now: now))
            case .user(let user, .profile):
                outbox.add(machine.seeProfile(try revision(message), of: user, now: now))
            case .user(let user, .plans):
                outbox.add(machine.seePlans(try revision(message), of: user, now: now))
            case .user(let user, .signedOut):
                outbox.add(machine.seeSignedOut(try revision(message), of: user, now: now))
            case .user(let user, .coachReply):
                let reply = try JSONCoding.decode(CoachReply.self, from: message.payload)
                guard let error = reply.validationError else {
                    outbox.add(machine.receiveCoachReply(reply, of: user, now: now))
                    break
                }
                // The question ends without advice, so that its command need not wait for the timeout.
                outbox.add(machine.receiveCoachReply(CoachReply(id: reply.id, error: error), of: user, now: now))
                throw .malformed(error)
            default: break
            }
        } catch {
            reject(message, Rejection(topic: message.topic, error: error), now)
        }
    }

    private func revision(_ message: MQTTMessage) throws(PayloadError) -> Int64 {
        try JSONCoding.decode(SeenRevision.self, from: message.payload).revision
    }

    private mutating func receiveRequest(
        _ request: Result<UserRequest, PayloadError>?, _ message: MQTTMessage, _ user: User, _ now: Moment
    ) {
        switch request {
        case .success(let request):
            if request.action.isOfHistory, !requests.take(user, now) {
                context.limits.reached(UserLimit.requests.name, by: user, at: now)
                return outbox.add([machine.refuse(request, user, UserLimit.requests.refusal(after: 5), now)])
            }
            let isNew = !machine.hasAccepted(request, of: user)
            let actions = machine.answerRequest(request, of: user, now: now)
            for case .limited(let user, let limit) in actions { context.limits.reached(limit.name, by: user, at: now) }
            outbox.add(actions)
            if request.action == .deleteEverything, isNew { erasures[user] = Erasure(user) }
        case .failure(let error): refuse(message, error, to: user, now)
        case nil: break
        }
    }

    private mutating func signOut(_ message: MQTTMessage, _ user: User, _ now: Moment) {
        do throws(PayloadError) {
            let request = try JSONCoding.decode(SignOut.self, from: message.payload)
            guard requests.take(user, now) else {
                context.limits.reached(UserLimit.requests.name, by: user, at: now)
                let refusal = UserLimit.requests.refusal(after: 5)
                let reply = Reply(id: request.id, revision: nil, now: now.wallClock, error: refusal)
                return outbox.add([.reply(user, request.client, reply)])
            }
            outbox.add(machine.signOut(request, of: user, now: now))
        } catch {
            refuse(message, error, to: user, now)
        }
    }

    /// Rejects a request that cannot be read, and replies to its sender if possible.
    private mutating func refuse(_ message: MQTTMessage, _ error: PayloadError, to sender: User, _ now: Moment) {
        reject(message, Rejection(topic: message.topic, error: error), now)
        guard let (client, reply) = Reply.refusing(message.payload, error, now: now.wallClock) else { return }
        outbox.add([.reply(sender, client, reply)])
    }

    private mutating func receiveViewerRequest(
        _ request: Result<ViewerRequest, PayloadError>?, _ message: MQTTMessage, _ user: User, _ viewer: User,
        _ now: Moment
    ) {
        switch request {
        case .success(let request):
            guard viewerRequests.take(viewer, now) else {
                context.limits.reached(UserLimit.viewerRequests.name, by: viewer, at: now)
                let refusal = UserLimit.viewerRequests.refusal(after: 5)
                let reply = Reply(id: request.id, revision: nil, now: now.wallClock, error: refusal)
                return outbox.add([.reply(viewer, request.client, reply)])
            }
            outbox.add(machine.answerViewerRequest(request, of: user, from: viewer))
        case .failure(let error): refuse(message, error, to: viewer, now)
        case nil: break
        }
    }

    /// The sender to reply to, if at least that part can be decoded.
    private func envelope(_ message: MQTTMessage) -> Command.Envelope? {
        try? JSONCoding.decode(Command.Envelope.self, from: message.payload)
    }

    private mutating func receiveCommand(_ message: MQTTMessage, _ key: SessionKey, _ now: Moment) {
        do throws(PayloadError) {
            let command = try JSONCoding.decode(Command.self, from: message.payload)
            let actions = machine.applyCommand(command, for: key, now: now)
            for case .limited(let user, let limit) in actions { context.limits.reached(limit.name, by: user, at: now) }
            note(command, of: key)
            outbox.add(actions)
        } catch {
            reject(message, Rejection(topic: message.topic, error: error), now)
            guard error.kind == .malformed, let envelope = envelope(message) else { return }
            outbox.add([machine.refuse(envelope, for: key, .invalidCommand(error.text), now: now)])
        }
    }

    private mutating func reject(badTopic message: MQTTMessage, _ now: Moment) {
        let rejection = Rejection(badTopic: message.topic, requests: true, owns: outbox.owns)
        if let rejection { reject(message, rejection, now) }
    }

    private mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, _ now: Moment) {
        metrics.rejected(rejection.reason)
        outbox.reject(message, rejection, at: now)
    }
}

extension UserRequest.Action {
    /// Whether it reads the history.
    fileprivate var isOfHistory: Bool {
        switch self {
        case .workouts, .workoutChanges: true
        case .setProfile, .savePlan, .deletePlan, .edit, .deleteWorkout, .deleteEverything: false
        }
    }
}
