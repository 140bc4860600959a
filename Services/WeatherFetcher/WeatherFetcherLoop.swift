import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

/// The service's one flow of events and the only place where effects happen.
struct WeatherFetcherLoop {
    let context: ServiceContext
    let store: any Store
    let metrics: WeatherFetcherMetrics
    var machine: WeatherFetcherMachine
    var epochs: [Shard: Epoch] = [:]
    /// What is still to be done; more than one event's worth only while the disk refuses.
    var actions: [WeatherAction] = []
    /// Refused payloads that operators are to be told of.
    var rejected: [MQTTMessage] = []
    /// The commits to it, with a disk left alone that refuses.
    var commits: StoreCommits
    private var rejections = Rejections(service: "weather-fetcher")
    private var random: any RandomNumberGenerator

    /// - Parameter random: spreads what is tried again.
    init(
        context: ServiceContext, machine: WeatherFetcherMachine, store: any Store, health: StoreHealth = StoreHealth(),
        random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    ) {
        self.context = context
        self.machine = machine
        self.store = store
        commits = StoreCommits(store, health, context.logger, complaint: "weather not saved, trying again")
        self.random = random
        metrics = WeatherFetcherMetrics(context.metrics)
    }

    /// - Parameter answers: what came of requests since the last event.
    mutating func handle(_ event: ServiceEvent, answers: [WeatherAnswer] = []) async throws {
        let now = context.clock.now
        for answer in answers {
            metrics.answered(answer)
            actions += machine.receive(answer, now: now, using: &random)
        }
        switch event {
        case .ownership(.gained(let gained)):
            epochs.merge(gained) { $1 }
            try await load(Set(gained.keys))
        case .ownership(.releasing(let shards)), .ownership(.lost(let shards)): drop(shards)
        case .announce(let shards): actions += machine.announce(shards)
        case .connected: actions += machine.connected()
        case .disconnected: break
        case .batch(let batch):
            metrics.received(batch.messages.count)
            for message in batch.messages { receive(message, now) }
            return await perform(now) { batch.acknowledge() }
        case .tick:
            actions += machine.advance(to: now)
            if machine.sweptAt == now { metrics.show(machine) }
        }
        await perform(now) {}
    }

    /// What is to be asked of the provider now.
    mutating func requests() -> [WeatherRequest] { machine.requests(now: context.clock.now) }

    private mutating func load(_ shards: Set<Shard>) async throws {
        for record in try await store.records(in: WeatherRecord.sessions, shards: shards) {
            do throws(PayloadError) {
                guard let key = SessionKey(record.key) else { throw .malformed("not a session's key") }
                machine.load(try JSONCoding.decode(WeatherRecord.self, from: record.value), of: key)
            } catch {
                // A live session's state comes again, and its weather with it.
                context.logger.error("corrupt record ignored", metadata: [LogKey.record: "\(record.key)"])
            }
        }
    }

    private mutating func receive(_ message: MQTTMessage, _ now: Timestamp) {
        guard case .session(let key, let topic)? = Topic(message.topic) else {
            return reject(message, "bad_topic", now)
        }
        guard epochs[key.session.shard] != nil else { return }
        do throws(PayloadError) {
            switch topic {
            case .state where message.payload.isEmpty: actions += machine.forgetState(of: key)
            case .state:
                let state = try SessionState(message.payload)
                guard state.key == key else { throw .malformed("user or session is not the topic's") }
                actions += machine.receive(state, now: now)
            case .route where machine.wantsPosition(key) && !message.payload.isEmpty:
                let position = try JSONCoding.decode(RoutePosition.self, from: message.payload)
                guard let place = position.place else { break }
                actions += machine.receive(place, of: key, now: now)
            case .weather where !message.payload.isEmpty:
                let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
                actions += machine.see(seen.revision, of: key, now: now)
            default: break
            }
        } catch {
            reject(message, error.reason, now)
        }
    }

    private mutating func reject(_ message: MQTTMessage, _ reason: String, _ now: Timestamp) {
        metrics.rejected(reason)
        let told = rejections.reject(topic: message.topic, payload: message.payload, reason: reason, at: now)
        if let told { rejected.append(told) }
    }
}

/// What is read of `route`: where the session is.
private struct RoutePosition: Decodable {
    let la: Double?
    let lo: Double?

    var place: Place? {
        guard let la, let lo else { return nil }
        return Place(la: la, lo: lo)
    }
}
