import Bus
import Client
import Formats
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

/// The service's one flow of events and the only place where its machine meets disk and bus.
struct ImporterLoop {
    /// Files that are read at a time.
    private static let readings = 2
    /// Items in memory above which no other file is loaded to be logged.
    private static let itemLimit = 500_000

    let context: ServiceContext
    let store: any Store
    let metrics: ImporterMetrics
    var machine = ImporterMachine()
    var outbox: Outbox<ImporterMachine>
    /// Imports that are being logged.
    private var players: [ImportKey: ImportPlayer] = [:]
    /// The players of the sessions that are being logged.
    private var sessions: [SessionKey: ImportKey] = [:]
    private var subscribed: Set<SessionKey> = []
    private var jobs: [ReadJob] = []
    private var readingCount = 0
    private var isConnected = false

    init(context: ServiceContext, store: any Store) {
        self.context = context
        self.store = store
        outbox = Outbox(context: context, store: store)
        // A commit has at most 16 MiB.
        outbox.pendingLimit = 8 << 20
        metrics = ImporterMetrics(context.metrics)
        context.limits.begin(["import_bytes_per_day", "imports_unfinished"])
    }

    /// - Parameter files: the outcomes of readings since the last event.
    mutating func handle(_ event: ServiceEvent, files: [ReadOutcome] = []) async throws {
        let now = context.clock.moment
        for file in files { take(file, now) }
        outbox.begin(event, with: &machine, at: now)
        switch event {
        case .ownership(let change):
            if case .gained(let gained) = change { try await load(Set(gained.keys), now) }
            dropPlayers()
        case .announce: break
        case .connected:
            isConnected = true
            for key in players.keys { players[key]?.connected() }
        case .disconnected:
            isConnected = false
            for key in players.keys { players[key]?.disconnected() }
        case .batch(let batch):
            metrics.received(batch.messages.count)
            for message in batch.messages {
                receiveMessage(message, now)
                try await receiveErasure(message, now)
            }
        case .tick:
            if machine.sweptAt == now { metrics.show(machine) }
            try await shareQuota(now)
        }
        try await flush(now)
        work(now)
        try await flush(now)
    }

    /// The last flush, at shutdown.
    mutating func finish() async {
        await outbox.finish(&machine, at: context.clock.moment)
    }

    private mutating func flush(_ now: Moment) async throws {
        let flushed = await outbox.flush(&machine, at: now)
        if !flushed.lost.isEmpty { dropPlayers() }
        for action in flushed.performed {
            switch action {
            case .answerList(let user, let request): try await answer(request, user, now)
            case .archive(let key, let record):
                context.logger.info(
                    "import ended",
                    metadata: [
                        LogKey.user: "\(key.user)", LogKey.importID: "\(key.id)", LogKey.status: "\(record.status)",
                    ])
                try await forget(key.user, now)
            case .refuse(let key, let refusal?) where refusal.retryAfter != nil:
                context.limits.reached(
                    refusal.code == "too_many_bytes" ? "import_bytes_per_day" : "imports_unfinished", by: key.user,
                    at: now)
            default: break
            }
        }
    }

    mutating func dropPlayers() {
        for key in players.keys where machine.entries[key] == nil { removePlayer(key) }
    }

    // MARK: Subscriptions

    /// State and record of the sessions that are being logged: those of all others are many.
    var subscriptions: [MQTTSubscription] {
        sessions.keys.sorted().flatMap { key in
            [SessionTopic.state, .workout].map { TopicFilter.topic(.session(key, $0)) }
        }
    }

    mutating func takeSubscriptionChange() -> Bool {
        let wanted = Set(sessions.keys)
        guard wanted != subscribed else { return false }
        subscribed = wanted
        return true
    }

    // MARK: Files

    /// Sends due messages and begins to read files.
    private mutating func work(_ now: Moment) {
        guard isConnected else { return }
        for (user, request) in machine.takeRequests(client: context.client, now: now) {
            outbox.send(Topic.user(user, .request).message(JSONCoding.encode(request)), of: user.shard)
        }
        for key in players.keys { sendOutgoing(key, now) }
        let items = players.values.reduce(0) { $0 + $1.itemCount }
        let room = (
            reading: Self.readings - readingCount,
            logging: items < Self.itemLimit ? ImporterMachine.players - players.count : 0
        )
        guard outbox.isWriting, room.reading > 0 else { return }
        for reading in machine.beginReadings(room, now: now) {
            guard let record = machine.entries[reading.key]?.record else { continue }
            readingCount += 1
            jobs.append(ReadJob(reading: reading, record: record))
        }
    }

    /// The files to read since the last call.
    mutating func takeJobs() -> [ReadJob] {
        defer { jobs = [] }
        return jobs
    }

    private mutating func take(_ outcome: ReadOutcome, _ now: Moment) {
        readingCount -= 1
        let key = outcome.reading.key
        guard machine.awaits(outcome.reading), let record = machine.entries[key]?.record else { return }
        switch outcome.result {
        case .failure(.invalid(let reason)): refuse(key, reason, now)
        case .failure(.unreadableStore(let text)):
            context.logger.error("parts unreadable, retrying", metadata: [LogKey.error: "\(text)"])
            machine.postpone(key, seconds: 5, now: now)
        case .success(let read) where record.status == .reading:
            outbox.add(machine.receiveFile(read.file, of: key, now: now))
        case .success(let read):
            guard var player = ImportPlayer(key, record, read.recordings, client: context.client, now: now) else {
                return refuse(key, "'\(record.name)' changed; upload it again under a new id", now)
            }
            if isConnected { player.connected() }
            machine.set(.playing, of: key)
            players[key] = player
            sessions[player.session] = key
        }
    }

    private mutating func refuse(_ key: ImportKey, _ reason: String, _ now: Moment) {
        context.logger.info(
            "import refused",
            metadata: [LogKey.user: "\(key.user)", LogKey.importID: "\(key.id)", LogKey.reason: "\(reason)"])
        outbox.add(machine.refuse(key, reason, now: now))
    }

    // MARK: Players

    /// Every session that is written to is one of a player, whose ids are derived.
    private mutating func sendOutgoing(_ key: ImportKey, _ now: Moment) {
        for message in players[key]?.takeOutgoing(now) ?? [] { outbox.send(message, of: key.user.shard) }
    }

    private mutating func removePlayer(_ key: ImportKey) {
        guard let player = players.removeValue(forKey: key) else { return }
        sessions[player.session] = nil
    }

    private mutating func play(_ key: ImportKey, _ message: MQTTMessage, _ reply: Reply?, _ now: Moment) {
        guard var player = players.removeValue(forKey: key) else { return }
        let event = player.receiveMessage(message, reply, now)
        players[key] = player
        switch event {
        case .nothing: break
        case .progress(let progress): outbox.add(machine.showLogging(progress, of: key, now: now))
        case .finished(let index):
            removePlayer(key)
            metrics.logged()
            context.logger.info(
                "workout imported", metadata: LogKey.session(player.session, [LogKey.importID: "\(key.id)"]))
            outbox.add(machine.finish(index, of: key, now: now))
            if player.advance(now) {
                players[key] = player
                sessions[player.session] = key
            }
        case .waits(let reason, let seconds):
            removePlayer(key)
            outbox.add(machine.wait(key, reason, seconds: seconds, now: now))
        case .lost(let index, let wasThere):
            removePlayer(key)
            outbox.add(machine.lose(index, of: key, wasThere: wasThere, now: now))
        case .refused(let reason):
            removePlayer(key)
            refuse(key, reason, now)
        }
        sendOutgoing(key, now)
    }

    // MARK: Messages

    private mutating func receiveMessage(_ message: MQTTMessage, _ now: Moment) {
        let topic = Topic(message.topic)
        switch topic {
        case .session(let session, _)?:
            if let key = sessions[session] { play(key, message, nil, now) }
            return
        case .user(let user, .replies(context.client))?:
            receiveReply(message, user, now)
            return
        case .user(let user, _)? where outbox.owns(user.shard): break
        case .some: return
        case nil:
            let rejection = Rejection(badTopic: message.topic, owns: outbox.owns)
            if let rejection { reject(message, rejection, now) }
            return
        }
        guard case .user(let user, let kind)? = topic else { return }
        do throws(PayloadError) {
            switch kind {
            case .importParts(let id):
                let part = try JSONCoding.decode(ImportPart.self, from: message.payload)
                outbox.add(try machine.receivePart(part, of: ImportKey(user, id), now: now))
            case .importStatus(let id) where !message.payload.isEmpty:
                let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
                outbox.add(machine.see(seen.revision, of: ImportKey(user, id), now: now))
            case .importRequest:
                let request = try JSONCoding.decode(ImportRequest.self, from: message.payload)
                outbox.add(machine.answerRequest(request, of: user, now: now))
            default: break
            }
        } catch {
            reject(message, Rejection(topic: message.topic, error: error), now)
            guard case .importRequest = kind,
                let (client, reply) = Reply.refusing(message.payload, error, now: now.wallClock)
            else { return }
            outbox.add([.reply(user, client, reply)])
        }
    }

    private mutating func receiveReply(_ message: MQTTMessage, _ user: User, _ now: Moment) {
        guard let reply = try? JSONCoding.decode(Reply.self, from: message.payload) else { return }
        outbox.add(machine.receiveReply(reply, of: user, now: now))
        for key in players.keys where key.user == user { play(key, message, reply, now) }
    }

    private mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, _ now: Moment) {
        metrics.rejected(rejection.reason)
        outbox.reject(message, rejection, at: now)
    }
}
