package import Bus
package import MQTT
import Synchronization

/// A bus between one subscriber and ``FakeServices``, which answer inside `send`.
///
/// It detects when its subscriber has taken all events and waits for more. A test that advances its clock only then is
/// repeatable: no time passes while a message is in flight.
package final class FakeBus: MessageBus {
    /// The subscriber did not wait in time.
    package struct NoReader: Error {}

    fileprivate struct State {
        var isOnline = true
        var model = BrokerModel()
        /// Counts subscriptions; the stream of an earlier one has ended.
        var number = 0
        /// Those of the subscriber; `nil` without one.
        var subscriptions: [MQTTSubscription]?
        var events: [MQTTEvent] = []
        var reader: CheckedContinuation<MQTTEvent?, Never>?
        var observer: CheckedContinuation<Void, any Error>?
    }

    private let services: [FakeServices]
    private let virtualRun: FakeVirtualRun?
    private let state = Mutex(State())

    package convenience init(_ services: FakeServices) {
        self.init([services])
    }

    package init(_ services: [FakeServices], virtualRun: FakeVirtualRun? = nil) {
        self.services = services
        self.virtualRun = virtualRun
    }

    package var isReady: Bool { state.withLock(\.isOnline) }

    /// Loses the connection until ``connect()``.
    package func cut() {
        change { state in
            guard state.isOnline else { return }
            state.isOnline = false
            if state.subscriptions != nil { state.events.append(.disconnected(.connectionLost("cut by the test"))) }
        }
    }

    package func connect() {
        change { state in
            guard !state.isOnline else { return }
            state.isOnline = true
            state.greet()
        }
    }

    /// Loses the retained message of a topic.
    package func forget(_ topic: Topic) {
        state.withLock { $0.model.forget(topic) }
    }

    /// Returns once the subscriber waits for an event and there is none.
    ///
    /// - Throws: ``NoReader`` after `bound` of real time.
    package func waitForReader(bound: Duration = hangLimit) async throws {
        let alarm = Task {
            try await Task.sleep(for: bound)
            stopWaiting(NoReader())
        }
        defer { alarm.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.reader != nil { return .success(()) }
                    state.observer = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            stopWaiting(CancellationError())
        }
    }

    private func stopWaiting(_ error: any Error) {
        state.withLock { $0.observer.take() }?.resume(throwing: error)
    }

    // MARK: MessageBus

    package func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        let number = change { state in
            precondition(state.subscriptions == nil, "one subscriber at a time")
            state.number += 1
            state.subscriptions = subscriptions
            if state.isOnline { state.greet() }
            return state.number
        }
        defer { leave() }
        return try await body(
            AsyncStream(unfolding: { [self] in await next(number) }, onCancel: { [self] in endReading(number) }))
    }

    package func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {
        change { state in
            state.subscriptions = subscriptions
            state.events.append(.subscribed)
        }
    }

    package func publish(_ message: MQTTMessage) async throws(MQTTError) {
        try await send([message])
    }

    package func flush() async {}

    package func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck?) async throws(MQTTError) {
        guard isReady else { throw .notConnected }
        let answers = messages.flatMap { message in
            services.flatMap { $0.answer(message) } + (virtualRun?.answer(message) ?? [])
        }
        change { state in
            for message in messages + answers { state.deliver(message) }
        }
    }

    package func stopReading() {
        leave()
    }

    // MARK: The subscriber

    private func next(_ number: Int) async -> MQTTEvent? {
        await withCheckedContinuation { continuation in
            let (event, observer) = state.withLock { state -> (MQTTEvent??, CheckedContinuation<Void, any Error>?) in
                if state.number != number || state.subscriptions == nil || Task.isCancelled { return (.some(nil), nil) }
                guard state.events.isEmpty else { return (state.events.removeFirst(), nil) }
                state.reader = continuation
                return (nil, state.observer.take())
            }
            if let event { continuation.resume(returning: event) }
            observer?.resume()
        }
    }

    private func leave() {
        let reader = state.withLock { state in
            state.subscriptions = nil
            state.events.removeAll()
            return state.reader.take()
        }
        reader?.resume(returning: nil)
    }

    private func endReading(_ number: Int) {
        state.withLock { $0.number == number ? $0.reader.take() : nil }?.resume(returning: nil)
    }

    /// Passes the first event to a waiting reader.
    private func change<R: Sendable>(_ body: (inout State) -> R) -> R {
        let (result, reader, event) = state.withLock {
            state -> (R, CheckedContinuation<MQTTEvent?, Never>?, MQTTEvent?) in
            let result = body(&state)
            guard state.reader != nil, !state.events.isEmpty else { return (result, nil, nil) }
            return (result, state.reader.take(), state.events.removeFirst())
        }
        reader?.resume(returning: event)
        return result
    }
}

extension FakeBus.State {
    /// The first events of a connection.
    fileprivate mutating func greet() {
        guard subscriptions != nil else { return }
        events.append(.connected)
        for message in model.retained { append(message) }
    }

    fileprivate mutating func deliver(_ message: MQTTMessage) {
        model.publish(message)
        if isOnline { append(message) }
    }

    private mutating func append(_ message: MQTTMessage) {
        guard let message = BrokerModel.delivery(of: message, through: subscriptions ?? []) else { return }
        events.append(.batch(MQTTBatch(messages: [message]) {}))
    }
}
