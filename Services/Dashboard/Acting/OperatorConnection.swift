import AsyncAlgorithms
import Bus
import MQTT
import ServiceKit
import ServiceLifecycle
import Synchronization
import Workouts

/// The operator's own connection to the broker while the operator page is watched, and for 30 s after. It only reads.
final class OperatorConnection: Sendable {
    private struct State {
        var news = BrokerNews()
        var credential: RightsProbes.Credential?
        var used: Moment
        var isOpen = false

        func isIdle(_ now: Moment) -> Bool { now.seconds(since: used) >= OperatorConnection.idleTime }
    }

    /// Seconds without use after which the connection closes.
    static let idleTime = 30.0
    private static let tick = Duration.seconds(1)

    private let clock: any WallClock
    private let accounts: BrokerAccounts
    private let state: Mutex<State>
    private let opened: AsyncStream<RightsProbes.Credential>
    private let open: AsyncStream<RightsProbes.Credential>.Continuation

    init(clock: any WallClock, accounts: BrokerAccounts) {
        self.clock = clock
        self.accounts = accounts
        state = Mutex(State(used: clock.moment))
        (opened, open) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var news: BrokerNews { state.withLock(\.news) }

    var isOpen: Bool { state.withLock(\.isOpen) }

    /// Opens the connection with the password of an operator's login.
    func use(_ login: Login) {
        guard login.isOperator else { return }
        state.withLock {
            $0.credential = RightsProbes.Credential(account: login.account, password: login.password)
        }
        keep()
    }

    /// The page is watched.
    func keep() {
        let credential = state.withLock { state -> RightsProbes.Credential? in
            state.used = clock.moment
            guard !state.isOpen, let credential = state.credential else { return nil }
            state.isOpen = true
            return credential
        }
        if let credential { open.yield(credential) }
    }

    /// - Parameter onRefused: receives a password that the broker refuses.
    func run(onRefused: @escaping @Sendable (RightsProbes.Credential) -> Void) async throws {
        await cancelWhenGracefulShutdown {
            for await credential in self.opened where await self.read(as: credential) == .refused {
                self.state.withLock { $0.credential = nil }
                onRefused(credential)
            }
        }
    }

    private func read(as credential: RightsProbes.Credential) async -> PersonConnection.End {
        let client = MQTTClient(
            configuration: accounts.settings(for: credential, client: "operator"), logger: BrokerAccounts.silent)
        defer {
            state.withLock { state in
                state.news = BrokerNews()
                state.isOpen = false
                // The next request brings the password again.
                if state.isIdle(clock.moment) { state.credential = nil }
            }
        }
        return await withTaskGroup(of: PersonConnection.End?.self) { tasks in
            tasks.addTask {
                do {
                    try await client.run()
                } catch MQTTError.refused(let reason, _) where BrokerAccounts.refusals.contains(reason) {
                    return .refused
                } catch {}
                return .closed
            }
            tasks.addTask {
                try? await client.withSubscriptions(BrokerNews.subscriptions) { events in
                    for await event in events { self.receive(event) }
                }
                // The client says why.
                return nil
            }
            tasks.addTask {
                while (try? await self.clock.wait(for: Self.tick)) != nil, !self.isIdle {}
                return .closed
            }
            defer { tasks.cancelAll() }
            for await end in tasks { if let end { return end } }
            return .closed
        }
    }

    private var isIdle: Bool { state.withLock { $0.isIdle(clock.moment) } }

    private func receive(_ event: MQTTEvent) {
        let now = clock.now
        switch event {
        case .connected: state.withLock { $0.news.connected(now) }
        case .disconnected: state.withLock { $0.news.disconnected() }
        case .batch(let batch):
            receive(batch.messages)
            batch.acknowledge()
        case .subscribed: break
        }
    }

    func receive(_ messages: [MQTTMessage]) {
        state.withLock { for message in messages { $0.news.receive(message) } }
    }
}
