import DequeModule
import Synchronization

/// Several brokers as one bus, each with a part of the topics.
///
/// - **Messages** are published on their topic's partition, or on all partitions. One that is not connected keeps no message
///   from the others.
/// - **Subscriptions** exist on all partitions. Batches keep the order of their partition; one at a time is unfinished.
/// - ``MQTTEvent/connected`` reports each connection with a partition, whose retained messages follow, and
///   ``MQTTEvent/disconnected`` the loss of the last one: those whose broker is away count as clients that are.
package final class PartitionedBus: MessageBus {
    private let partitions: [any MessageBus]
    private let partition: @Sendable (_ topic: String) -> Int?

    /// - Parameter partition: the index of a topic's partition; `nil` for a topic of all.
    package init(_ partitions: [any MessageBus], partition: @escaping @Sendable (_ topic: String) -> Int?) {
        self.partitions = partitions
        self.partition = partition
    }

    package func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        try await subscribe(partitions[...], subscriptions, []) { try await self.merge($0, body) }
    }

    /// Subscribes to the rest of the partitions, and runs `body` with the streams of all.
    private func subscribe<R: Sendable>(
        _ rest: ArraySlice<any MessageBus>, _ subscriptions: [MQTTSubscription], _ streams: [AsyncStream<MQTTEvent>],
        _ body: ([AsyncStream<MQTTEvent>]) async throws -> R
    ) async throws -> R {
        guard let next = rest.first else { return try await body(streams) }
        return try await next.withSubscriptions(subscriptions) { stream in
            try await self.subscribe(rest.dropFirst(), subscriptions, streams + [stream], body)
        }
    }

    private func merge<R: Sendable>(
        _ streams: [AsyncStream<MQTTEvent>], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        let (merged, events) = AsyncStream.makeStream(of: MQTTEvent.self)
        let merger = EventMerger(partitions: streams.count, events)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (index, stream) in streams.enumerated() {
                tasks.addTask {
                    for await event in stream { await merger.pass(event, from: index) }
                    merger.ended()
                }
            }
            defer { tasks.cancelAll() }
            return try await body(merged)
        }
    }

    package func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {
        for bus in partitions { bus.setSubscriptions(subscriptions, renewing: renewed) }
    }

    package func publish(_ message: MQTTMessage) async throws(MQTTError) {
        try await forEachPartition(of: [message]) { bus, _ throws(MQTTError) in try await bus.publish(message) }
    }

    /// As ``MessageBus/send(_:while:)``, in order within each partition. It throws the first error after trying all
    /// partitions.
    package func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck?) async throws(MQTTError) {
        try await forEachPartition(of: messages) { bus, indices throws(MQTTError) in
            let part = indices.map { messages[$0] }
            guard let isCurrent else { return try await bus.send(part) }
            try await bus.send(part) { isCurrent(indices[$0]) }
        }
    }

    package func flush() async {
        await withDiscardingTaskGroup { tasks in
            for bus in partitions { tasks.addTask { await bus.flush() } }
        }
    }

    private func forEachPartition(
        of messages: [MQTTMessage], _ body: (any MessageBus, _ indices: [Int]) async throws(MQTTError) -> Void
    ) async throws(MQTTError) {
        var parts: [[Int]] = Array(repeating: [], count: partitions.count)
        for (index, message) in messages.enumerated() {
            for part in partition(message.topic).map({ $0...$0 }) ?? 0...partitions.count - 1 {
                parts[part].append(index)
            }
        }
        var failure: MQTTError?
        for (bus, part) in zip(partitions, parts) where !part.isEmpty {
            do throws(MQTTError) {
                try await body(bus, part)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    package func stopReading() {
        for bus in partitions { bus.stopReading() }
    }
}

/// Merges the events of the partitions into one stream, which ends when all have ended.
private final class EventMerger: Sendable {
    private struct State {
        /// How many changes of the subscriptions each partition has confirmed.
        var confirmed: [Int]
        /// The partitions that are connected.
        var connected: Set<Int> = []
        /// How many streams have not ended.
        var open: Int
        /// Counts the batches that had their turn.
        var turn = 0
        var isTaken = false
        /// Partitions with a batch, in the order of their turns.
        var waiting: Deque<(partition: Int, Waiter)> = []

        /// A batch's turn begins if no other batch is unfinished.
        mutating func begin() -> Int? {
            guard !isTaken else { return nil }
            isTaken = true
            turn += 1
            return turn
        }
    }

    private typealias Waiter = CheckedContinuation<Int?, Never>

    private let events: AsyncStream<MQTTEvent>.Continuation
    private let state: Mutex<State>

    init(partitions: Int, _ events: AsyncStream<MQTTEvent>.Continuation) {
        self.events = events
        state = Mutex(State(confirmed: Array(repeating: 0, count: partitions), open: partitions))
    }

    /// Delivers the next event of a partition. A batch waits until the one before is finished.
    func pass(_ event: MQTTEvent, from partition: Int) async {
        switch event {
        case .connected:
            state.withLock { _ = $0.connected.insert(partition) }
            events.yield(event)
        case .disconnected:
            let isLast = state.withLock { state in
                state.connected.remove(partition)
                return state.connected.isEmpty
            }
            if isLast { events.yield(event) }
        case .subscribed:
            if confirm(partition) { events.yield(event) }
        case .batch(let batch):
            guard let turn = await begin(partition) else { return }
            events.yield(
                .batch(
                    MQTTBatch(messages: batch.messages) {
                        batch.finish()
                        self.end(turn)
                    }))
        }
    }

    /// A partition's stream has ended.
    func ended() {
        let isLast = state.withLock { state in
            state.open -= 1
            return state.open == 0
        }
        if isLast { events.finish() }
    }

    /// Whether all partitions have confirmed a change now.
    private func confirm(_ partition: Int) -> Bool {
        state.withLock { state in
            let before = state.confirmed.min()
            state.confirmed[partition] += 1
            return state.confirmed.min() != before
        }
    }

    /// Waits for a turn; `nil` when the task is canceled.
    private func begin(_ partition: Int) async -> Int? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                let isDecided = state.withLock { state -> Int?? in
                    // Otherwise the handler below found nobody waiting.
                    guard !Task.isCancelled else { return .some(nil) }
                    if let turn = state.begin() { return turn }
                    state.waiting.append((partition, waiter))
                    return nil
                }
                if let turn = isDecided { waiter.resume(returning: turn) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let index = state.waiting.firstIndex { $0.partition == partition }
                return index.map { state.waiting.remove(at: $0).1 }
            }
            waiter?.resume(returning: nil)
        }
    }

    /// Ends a turn, unless it has ended.
    private func end(_ turn: Int) {
        let next = state.withLock { state -> (waiter: Waiter, turn: Int)? in
            guard state.isTaken, state.turn == turn else { return nil }
            state.isTaken = false
            guard let waiter = state.waiting.popFirst()?.1, let turn = state.begin() else { return nil }
            return (waiter, turn)
        }
        if let next { next.waiter.resume(returning: next.turn) }
    }
}
