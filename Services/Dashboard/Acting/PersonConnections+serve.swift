import Bus
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Synchronization
import Workouts

/// Runs the connections: sends due messages and delivers received ones.
extension PersonConnections {
    private static let expiryInterval = Duration.seconds(60)
    /// The time between the loss of a connection and the next attempt.
    private static let reconnectTime = Duration.milliseconds(200)

    /// - Parameter onRefused: receives an account and its password when the broker refused it.
    func run(onRefused: @escaping @Sendable (RightsProbes.Credential) -> Void) async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { tasks in
                tasks.addTask { await self.expire() }
                for await connection in self.opened { tasks.addTask { await self.serve(connection, onRefused) } }
                tasks.cancelAll()
            }
        }
    }

    /// Drops the presses and closes all connections: another replica sends the presses now. POSTs that wait for a reply are
    /// answered as pending, and repeated there.
    func unload() {
        let connections = state.withLock { state in
            defer { (state.presses, state.connections, state.isLoaded) = (PendingCommands(), [:], false) }
            return state.connections.values
        }
        for connection in connections { connection.stop() }
    }

    private func expire() async {
        while (try? await clock.wait(for: Self.expiryInterval)) != nil {
            let outcomes = state.withLock { state in
                let (outcomes, changes) = state.presses.expire(clock.moment)
                records.enqueue(changes)
                return outcomes
            }
            for outcome in outcomes { report(outcome) }
        }
    }

    private func serve(_ connection: PersonConnection, _ onRefused: @Sendable (RightsProbes.Credential) -> Void) async {
        var end = PersonConnection.End.lost
        while end != .refused, isOpen(connection) {
            end = await run(connection)
            guard end != .refused, isOpen(connection) else { break }
            if (try? await clock.wait(for: Self.reconnectTime)) == nil { break }
        }
        state.withLock { state in
            if state.connections[connection.user] === connection { state.connections[connection.user] = nil }
        }
        if end == .refused { onRefused(connection.credential) }
    }

    private func isOpen(_ connection: PersonConnection) -> Bool {
        state.withLock { state in
            guard state.connections[connection.user] === connection else { return false }
            return state.presses.hasUnfinished(connection.user)
                || clock.moment.seconds(since: connection.used) < Self.idleTime
        }
    }

    private func run(_ connection: PersonConnection) async -> PersonConnection.End {
        await connection.run(
            configuration: accounts.settings(for: connection.credential, client: "person"), clock: clock,
            onConnected: { self.state.withLock { $0.connected(connection.user) } },
            due: { self.due(connection) }, received: { self.received($0, on: connection) },
            onPlans: { self.plansChanged(connection) },
            onUnreadable: { self.ignore($0, $1, of: connection.user) })
    }

    /// The messages to send now; `nil` if the connection is idle and closes.
    private func due(_ connection: PersonConnection) -> [MQTTMessage]? {
        state.withLock { state in
            guard state.connections[connection.user] === connection else { return nil }
            let now = clock.moment
            let messages =
                state.presses.take(connection.user, client: connection.client, now)
                + state.takeReads(of: connection.user, client: connection.client)
            guard messages.isEmpty, !state.presses.hasUnfinished(connection.user),
                now.seconds(since: connection.used) >= Self.idleTime
            else { return messages }
            state.connections[connection.user] = nil
            return nil
        }
    }

    private func received(_ reply: Reply, on connection: PersonConnection) {
        let waiters = state.withLock { state in
            state.reads[connection.user]?.removeValue(forKey: reply.id).flatMap { _ in
                state.waiting[connection.user]?[reply.id]
            }
        }
        if let waiters {
            for waiter in waiters.values { waiter.yield(reply) }
            return
        }
        let outcome = state.withLock { state in
            let (outcome, changes) = state.presses.received(reply, for: connection.user, clock.moment)
            records.enqueue(changes)
            return outcome
        }
        if let outcome { report(outcome) }
    }

    func report(_ outcome: PendingCommands.Outcome) {
        let waiters = state.withLock { $0.waiting[outcome.user]?.removeValue(forKey: outcome.reply.id) } ?? [:]
        for waiter in waiters.values { waiter.yield(outcome.reply) }
        onReply(outcome.reply, outcome.user)
    }

    private func ignore(_ message: MQTTMessage, _ error: PayloadError, of user: User) {
        let now = clock.moment
        guard let count = state.withLock({ $0.unreadable.note(now) }) else { return }
        logger.warning(
            "unreadable message ignored",
            metadata: [
                LogKey.user: "\(user)", LogKey.topic: "\(message.topic)", LogKey.error: "\(error.text)",
                LogKey.count: "\(count)",
            ])
    }
}

/// Replies and plans that this version cannot read: all are counted, and the log has one line a minute.
struct UnreadableMessages {
    private static let interval = 60.0

    private(set) var count = 0
    private var logged = 0
    private var loggedAt: Moment?

    /// Returns the messages since the last line if another one is due.
    mutating func note(_ now: Moment) -> Int? {
        count += 1
        guard loggedAt.map({ now.seconds(since: $0) >= Self.interval }) ?? true else { return nil }
        defer { (logged, loggedAt) = (count, now) }
        return count - logged
    }
}
