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
        state = Mutex(State(used: now))
    }

    var used: Moment { state.withLock(\.used) }

    func use(_ now: Moment) { state.withLock { $0.used = now } }

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
        due: @escaping @Sendable () -> [MQTTMessage]?, received: @escaping @Sendable (Reply) -> Void
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
                await self.exchange(bus, onConnected, due, received)
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
        _ bus: MQTTClient, _ onConnected: @Sendable () -> Void, _ due: @Sendable () -> [MQTTMessage]?,
        _ received: @Sendable (Reply) -> Void
    ) async -> End {
        let replies = Topic.user(user, .replies(client))
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
                        guard let reply = try? JSONCoding.decode(Reply.self, from: message.payload) else { continue }
                        received(reply)
                    }
                    batch.acknowledge()
                case .bus(.subscribed), .wake: break
                }
                guard !state.withLock(\.isStopped) else { return End.closed }
                guard isConnected else { continue }
                guard let messages = due() else { return End.closed }
                try? await bus.send(messages)
            }
            return End.closed
        }
        return end ?? .closed
    }
}
