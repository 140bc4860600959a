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
        /// The broker refused the password.
        case refused
    }

    private static let tick = Duration.seconds(1)

    let credential: RightsProbes.Credential
    let user: User
    /// The reader of this connection's replies.
    let client: Client
    private let latestUse: Mutex<Moment>
    private let wakes: AsyncStream<Void>
    private let waking: AsyncStream<Void>.Continuation
    private let isStopped = Mutex(false)

    init(_ credential: RightsProbes.Credential, _ user: User, _ now: Moment) {
        self.credential = credential
        self.user = user
        guard let client = Client(ProcessName.unique(prefix: "dashboard").description) else {
            preconditionFailure("a process' name matches the pattern of a client's name")
        }
        self.client = client
        latestUse = Mutex(now)
        (wakes, waking) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var used: Moment { latestUse.withLock(\.self) }

    func use(_ now: Moment) { latestUse.withLock { $0 = now } }

    /// Something may be due.
    func wake() { waking.yield() }

    func stop() {
        isStopped.withLock { $0 = true }
        waking.yield()
    }

    private enum Incoming: Sendable {
        case bus(MQTTEvent)
        case wake
    }

    /// Stays connected until `due` returns `nil`, ``stop()``, cancellation or a refused password.
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
                return .closed
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
    ) async {
        let replies = Topic.user(user, .replies(client))
        try? await bus.withSubscriptions([TopicFilter.topic(replies)]) { events in
            var isConnected = false
            for await incoming in merge(events.map { Incoming.bus($0) }, wakes.map { Incoming.wake }) {
                switch incoming {
                case .bus(.connected):
                    isConnected = true
                    onConnected()
                case .bus(.disconnected): isConnected = false
                case .bus(.batch(let batch)):
                    for message in batch.messages {
                        guard let reply = try? JSONCoding.decode(Reply.self, from: message.payload) else { continue }
                        received(reply)
                    }
                    batch.acknowledge()
                case .bus(.subscribed), .wake: break
                }
                guard !isStopped.withLock(\.self) else { return }
                guard isConnected else { continue }
                guard let messages = due() else { return }
                try? await bus.send(messages)
            }
        }
    }
}
