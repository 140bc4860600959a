import AsyncAlgorithms
import Bus
import MQTT
import ServiceKit
import Synchronization
import Workouts

/// One person's connection to the broker.
final class PersonConnection: Sendable {
    enum End {
        case closed
        /// The connection was lost. A new client learns whether the password still counts.
        case lost
        /// The broker refused the password.
        case refused
    }

    private static let tick = Duration.seconds(1)

    let credential: RightsProbes.Credential
    let user: User
    /// The reader of this connection's replies.
    let client: Client
    private let state: Mutex<State>

    private struct State {
        var used: Moment
        var reading: PlanReading
        var isStopped = false
        var waking: AsyncStream<Void>.Continuation?
    }

    init(_ credential: RightsProbes.Credential, _ user: User, _ now: Moment) {
        self.credential = credential
        self.user = user
        guard let client = Client(ProcessName.unique(prefix: "dashboard").description) else {
            preconditionFailure("a process' name matches the pattern of a client's name")
        }
        self.client = client
        state = Mutex(State(used: now, reading: PlanReading(client: client)))
    }

    var used: Moment { state.withLock(\.used) }

    func use(_ now: Moment) { state.withLock { $0.used = now } }

    /// The person's saved plans; `nil` until they are known. The first call asks for them.
    func plans() -> [SavedPlans.Plan]? {
        state.withLock { state in
            state.reading.want()
            return state.reading.plans
        }
    }

    /// Something may be due.
    func wake() { state.withLock(\.waking)?.yield() }

    func stop() {
        state.withLock { $0.isStopped = true }
        wake()
    }

    private enum Incoming: Sendable {
        case bus(MQTTEvent)
        case wake
    }

    /// Connects, and stays connected until `due` returns `nil`, ``stop()``, cancellation or a loss.
    func run(
        configuration: MQTTConfiguration, clock: any WallClock, onConnected: @escaping @Sendable () -> Void,
        due: @escaping @Sendable () -> [MQTTMessage]?, received: @escaping @Sendable (Reply) -> Void,
        onPlans: @escaping @Sendable () -> Void, onUnreadable: @escaping @Sendable (MQTTMessage, PayloadError) -> Void
    ) async -> End {
        let bus = MQTTClient(configuration: configuration, logger: BrokerAccounts.silent)
        return await withTaskGroup(of: End?.self) { tasks in
            tasks.addTask {
                do {
                    try await bus.run()
                    return .closed
                } catch MQTTError.refused(let reason, _) where BrokerAccounts.refusals.contains(reason) {
                    return .refused
                } catch {
                    return .closed
                }
            }
            tasks.addTask {
                await self.exchange(bus, clock, onConnected, due, received, onPlans, onUnreadable)
            }
            tasks.addTask {
                while (try? await clock.wait(for: Self.tick)) != nil { self.wake() }
                return nil
            }
            defer { tasks.cancelAll() }
            for await end in tasks { if let end { return end } }
            return .closed
        }
    }

    private func exchange(
        _ bus: MQTTClient, _ clock: any WallClock, _ onConnected: @Sendable () -> Void,
        _ due: @Sendable () -> [MQTTMessage]?, _ received: @Sendable (Reply) -> Void, _ onPlans: @Sendable () -> Void,
        _ onUnreadable: @Sendable (MQTTMessage, PayloadError) -> Void
    ) async -> End {
        let (replies, plans) = (Topic.user(user, .replies(client)), Topic.user(user, .plans))
        let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.waking = waking }
        let end = try? await bus.withSubscriptions([TopicFilter.topic(replies)]) { events in
            var isConnected = false
            for await incoming in merge(events.map { Incoming.bus($0) }, wakes.map { Incoming.wake }) {
                switch incoming {
                case .bus(.connected):
                    isConnected = true
                    onConnected()
                case .bus(.disconnected): return End.lost
                case .bus(.batch(let batch)):
                    for message in batch.messages {
                        do throws(PayloadError) {
                            try read(message, plans, received, onPlans)
                        } catch {
                            onUnreadable(message, error)
                        }
                    }
                    batch.acknowledge()
                case .bus(.subscribed): state.withLock { $0.reading.subscribed() }
                case .wake: break
                }
                guard !state.withLock(\.isStopped) else { return End.closed }
                guard isConnected else { continue }
                guard let messages = due() else { return End.closed }
                try? await bus.send(messages)
                switch state.withLock({ $0.reading.take(isConnected: isConnected, clock.moment) }) {
                case .subscribe:
                    bus.setSubscriptions([TopicFilter.topic(replies), TopicFilter.topic(plans)], renewing: [])
                case .ask(let request):
                    try? await bus.send([Topic.user(user, .request).message(JSONCoding.encode(request))])
                case nil: break
                }
            }
            return End.closed
        }
        // A change can be missed from now on.
        state.withLock { $0.reading.restart() }
        return end ?? .closed
    }

    private func read(
        _ message: MQTTMessage, _ plans: Topic, _ received: @Sendable (Reply) -> Void, _ onPlans: @Sendable () -> Void
    ) throws(PayloadError) {
        if Topic(message.topic) == plans {
            do throws(PayloadError) {
                let saved =
                    message.payload.isEmpty ? nil : try JSONCoding.decode(SavedPlans.self, from: message.payload)
                state.withLock { $0.reading.received(saved) }
                onPlans()
            } catch {
                state.withLock { $0.reading.receivedUnreadable() }
                throw error
            }
        } else {
            let reply = try JSONCoding.decode(Reply.self, from: message.payload)
            state.withLock { $0.reading.received(reply) }
            onPlans()
            received(reply)
        }
    }
}
