import Bus
import MQTT
import Synchronization
import Testing

/// A bus with nobody but ``FakeServices`` on its other side, which answer inside `send`.
///
/// It knows when its subscriber has taken everything there is and waits for more. As events come from nowhere else, a test
/// that advances its clock then, and only then, is repeatable: no time passes while a message is under way.
final class FakeBus: MessageBus {
    /// The subscriber did not come to wait in time.
    struct NoReader: Error {}

    fileprivate struct State {
        var isOnline = true
        var retained: [String: MQTTMessage] = [:]
        /// Counts subscriptions; a stream of an earlier one is over.
        var number = 0
        /// Those of the current subscription.
        var filters: [String]?
        var events: [MQTTEvent] = []
        var reader: CheckedContinuation<MQTTEvent?, Never>?
        var observer: CheckedContinuation<Void, any Error>?
    }

    private let services: [FakeServices]
    private let state = Mutex(State())

    convenience init(_ services: FakeServices) {
        self.init([services])
    }

    init(_ services: [FakeServices]) {
        self.services = services
    }

    var isReady: Bool { state.withLock(\.isOnline) }

    /// Loses the connection until ``connect()``.
    func cut() {
        change { state in
            guard state.isOnline else { return }
            state.isOnline = false
            if state.filters != nil { state.events.append(.disconnected(.connectionLost("cut by the test"))) }
        }
    }

    func connect() {
        change { state in
            guard !state.isOnline else { return }
            state.isOnline = true
            state.greet()
        }
    }

    /// Forgets what is retained on a topic.
    func forget(_ topic: Topic) {
        state.withLock { $0.retained[topic.name] = nil }
    }

    /// Returns once the subscriber waits for an event and there is none.
    ///
    /// - Throws: ``NoReader`` when that is not so within `bound` of real time.
    func waitForReader(bound: Duration = .seconds(120)) async throws {
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

    func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        let number = change { state in
            precondition(state.filters == nil, "one subscriber at a time")
            state.number += 1
            state.filters = subscriptions.map(\.filter)
            if state.isOnline { state.greet() }
            return state.number
        }
        defer { leave() }
        return try await body(
            AsyncStream(unfolding: { [self] in await next(number) }, onCancel: { [self] in endReading(number) }))
    }

    func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {
        change { state in
            state.filters = subscriptions.map(\.filter)
            state.events.append(.subscribed)
        }
    }

    func publish(_ message: MQTTMessage) async throws(MQTTError) {
        try await send([message])
    }

    func send(_ messages: [MQTTMessage]) async throws(MQTTError) {
        guard isReady else { throw .notConnected }
        let answers = messages.flatMap { message in services.flatMap { $0.answer(message) } }
        change { state in
            for message in messages + answers { state.deliver(message) }
        }
    }

    func stopReading() {
        leave()
    }

    // MARK: The subscriber

    private func next(_ number: Int) async -> MQTTEvent? {
        await withCheckedContinuation { continuation in
            let (event, observer) = state.withLock { state -> (MQTTEvent??, CheckedContinuation<Void, any Error>?) in
                if state.number != number || state.filters == nil || Task.isCancelled { return (.some(nil), nil) }
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
            state.filters = nil
            state.events.removeAll()
            return state.reader.take()
        }
        reader?.resume(returning: nil)
    }

    private func endReading(_ number: Int) {
        state.withLock { $0.number == number ? $0.reader.take() : nil }?.resume(returning: nil)
    }

    /// Hands the first event to a reader that waits.
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
    /// What a subscriber gets at first on a connection.
    fileprivate mutating func greet() {
        guard filters != nil else { return }
        events.append(.connected)
        for message in retained.values.sorted(by: { $0.topic < $1.topic }) { append(message) }
    }

    fileprivate mutating func deliver(_ message: MQTTMessage) {
        if message.retain { retained[message.topic] = message.payload.isEmpty ? nil : message }
        if isOnline { append(message) }
    }

    private mutating func append(_ message: MQTTMessage) {
        guard filters?.contains(where: { Self.filter($0, matches: message.topic) }) == true else { return }
        events.append(.batch(MQTTBatch(messages: [message]) {}))
    }

    /// `+` stands for one level.
    private static func filter(_ filter: String, matches topic: String) -> Bool {
        let (levels, actual) = (filter.split(separator: "/"), topic.split(separator: "/"))
        return levels.count == actual.count && zip(levels, actual).allSatisfy { $0 == "+" || $0 == $1 }
    }
}

@Suite struct FakeBusTests {
    @Test func `who waits for a subscriber that does not come is told in time`() async throws {
        let bus = ControlFixture().bus
        await #expect(throws: FakeBus.NoReader.self) { try await bus.waitForReader(bound: .milliseconds(1)) }
    }
}
