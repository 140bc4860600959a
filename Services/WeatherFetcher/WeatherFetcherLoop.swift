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
    private(set) var outbox: Outbox<WeatherFetcherMachine>
    private var random: any RandomNumberGenerator

    /// - Parameter random: spreads retries.
    init(
        context: ServiceContext, machine: WeatherFetcherMachine, store: any Store,
        random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    ) {
        self.context = context
        self.machine = machine
        self.store = store
        outbox = Outbox(context: context, store: store)
        self.random = random
        metrics = WeatherFetcherMetrics(context.metrics)
        context.limits.begin(["weather_cells"])
    }

    /// - Parameter answers: the outcomes of requests since the last event.
    mutating func handle(_ event: ServiceEvent, answers: [WeatherAnswer] = []) async throws {
        let now = context.clock.moment
        for answer in answers {
            metrics.answered(answer)
            outbox.add(machine.recordAnswer(answer, now: now, using: &random))
        }
        outbox.begin(event, with: &machine, at: now)
        switch event {
        case .ownership(.gained(let gained)): try await load(Set(gained.keys), now)
        case .ownership, .announce, .connected, .disconnected: break
        case .batch(let batch):
            metrics.received(batch.messages.count)
            for message in batch.messages { receive(message, now) }
        case .tick:
            if machine.sweptAt == now { metrics.show(machine) }
        }
        let flushed = await outbox.flush(&machine, at: now)
        report(flushed)
        for case .limit(let user) in flushed.performed { context.limits.reached("weather_cells", by: user, at: now) }
    }

    /// The last flush, at shutdown.
    mutating func finish() async {
        report(await outbox.finish(&machine, at: context.clock.moment))
    }

    /// The requests to send to the provider now.
    mutating func requests() -> [WeatherRequest] { machine.requests(now: context.clock.moment) }

    private mutating func load(_ shards: Set<Shard>, _ now: Moment) async throws {
        for record in try await store.records(in: WeatherRecord.sessions, shards: shards) {
            do throws(PayloadError) {
                guard let key = SessionKey(record.key) else { throw .malformed("not a session's key") }
                let stored = try JSONCoding.decode(WeatherRecord.self, from: record.value, now: now)
                machine.load(stored, of: key, now: now)
            } catch {
                // The engine publishes a live session's state again, and its weather follows.
                context.logger.error("corrupt record ignored", metadata: LogKey.record("sessions", record.key))
            }
        }
    }

    private mutating func receive(_ message: MQTTMessage, _ now: Moment) {
        guard case .session(let key, let topic)? = Topic(message.topic) else {
            let rejection = Rejection(badTopic: message.topic, owns: outbox.owns)
            if let rejection { reject(message, rejection, now) }
            return
        }
        guard outbox.owns(key.session.shard) else { return }
        do throws(PayloadError) {
            switch topic {
            case .state where message.payload.isEmpty: outbox.add(machine.forgetState(of: key))
            case .state:
                let state = try SessionState(message.payload)
                guard state.key == key else { throw .malformed("user or session is not the topic's") }
                outbox.add(machine.receiveState(state, now: now))
            case .heard(.locations) where machine.wantsPosition(key) && !message.payload.isEmpty:
                let position = try JSONCoding.decode(HeardPosition.self, from: message.payload)
                guard let place = position.place else { break }
                outbox.add(machine.receivePosition(place, of: key, now: now))
            case .weather where !message.payload.isEmpty:
                let seen = try JSONCoding.decode(SeenRevision.self, from: message.payload)
                outbox.add(machine.see(seen.revision, of: key, now: now))
            default: break
            }
        } catch {
            reject(message, Rejection(topic: message.topic, error: error), now)
        }
    }

    private mutating func reject(_ message: MQTTMessage, _ rejection: Rejection, _ now: Moment) {
        metrics.rejected(rejection.reason)
        outbox.reject(message, rejection, at: now)
    }

    private func report(_ flushed: Flushed<WeatherAction>) {
        for case .report(let report) in flushed.performed {
            switch report {
            case .answering: context.logger.notice("weather requests succeed again")
            case .failing(let failure):
                context.logger.warning(
                    "weather request failed, retrying", metadata: [LogKey.reason: "\(failure)"])
            case .refusing(let failure, let until):
                context.logger.error(
                    "weather requests refused, pausing for an hour; check credentials and terms",
                    metadata: [LogKey.reason: "\(failure)", LogKey.until: "\(Int(until.seconds))"])
            }
        }
    }
}

/// The part of `heard/locations` that the service reads: the session's position.
private struct HeardPosition: Decodable {
    let la: Double?
    let lo: Double?

    var place: Place? {
        guard let la, let lo else { return nil }
        return Place(la: la, lo: lo)
    }
}
