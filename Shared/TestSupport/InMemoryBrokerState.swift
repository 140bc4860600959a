import MQTT

/// The state of an ``InMemoryBroker`` behind its lock. Changes collect effects, which run after the lock is released.
struct InMemoryBrokerState {
    typealias Stream = AsyncStream<MQTTEvent>.Continuation

    enum Effect {
        case yield(@Sendable (InMemoryBroker) -> MQTTEvent, Stream)
        case finish(Stream)
    }

    private enum Queued {
        case connected
        case disconnected
        case subscribed
        case message(MQTTMessage)
    }

    private struct Client {
        var isOnline: Bool
        var subscriptions: [MQTTSubscription] = []
        var stream: Stream?
        var queue: [Queued] = []
        /// The number of the batch that its consumer has not finished.
        var outstanding: Int?
        var isDraining = false
    }

    var model = BrokerModel()
    private(set) var published: [MQTTMessage] = []
    private var clients: [Client] = []
    private var isStopped = false
    private var latestBatch = 0
    private var effects: [Effect] = []

    mutating func takeEffects() -> [Effect] {
        defer { effects.removeAll() }
        return effects
    }

    // MARK: Connections

    mutating func addClient() -> Int {
        clients.append(Client(isOnline: !isStopped))
        return clients.count - 1
    }

    mutating func stop() {
        isStopped = true
        for id in clients.indices { cut(id) }
    }

    mutating func start() {
        isStopped = false
        for id in clients.indices { connect(id) }
    }

    mutating func cut(_ id: Int) {
        guard clients[id].isOnline else { return }
        clients[id].isOnline = false
        guard clients[id].stream != nil else { return }
        clients[id].queue.append(.disconnected)
        deliver(to: id)
    }

    mutating func connect(_ id: Int) {
        guard !isStopped, !clients[id].isOnline else { return }
        clients[id].isOnline = true
        subscribe(id)
    }

    func isOnline(_ id: Int) -> Bool { clients[id].isOnline }

    // MARK: Subscribing

    mutating func enter(_ id: Int, _ subscriptions: [MQTTSubscription], _ stream: Stream) {
        precondition(clients[id].stream == nil, "one subscriber at a time")
        clients[id].stream = stream
        clients[id].subscriptions = subscriptions
        if clients[id].isDraining {
            effects.append(.finish(stream))
        } else if clients[id].isOnline {
            subscribe(id)
        }
    }

    private mutating func subscribe(_ id: Int) {
        guard clients[id].stream != nil, !clients[id].isDraining else { return }
        clients[id].queue.append(.connected)
        for message in model.retained {
            route(message, to: id, through: clients[id].subscriptions)
        }
        deliver(to: id)
    }

    mutating func setSubscriptions(
        _ id: Int, _ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>
    ) {
        guard clients[id].stream != nil, !clients[id].isDraining else { return }
        let known = Set(clients[id].subscriptions)
        clients[id].subscriptions = subscriptions
        if clients[id].isOnline {
            let new = subscriptions.filter { !known.contains($0) || renewed.contains($0) }
            for message in model.retained {
                route(message, to: id, through: new)
            }
        }
        clients[id].queue.append(.subscribed)
        deliver(to: id)
    }

    mutating func leave(_ id: Int) {
        if let stream = clients[id].stream { effects.append(.finish(stream)) }
        clients[id].stream = nil
        clients[id].subscriptions = []
        clients[id].queue.removeAll()
        clients[id].outstanding = nil
    }

    mutating func drain(_ id: Int) {
        clients[id].isDraining = true
        clients[id].subscriptions = []
        deliver(to: id)
    }

    // MARK: Messages

    mutating func send(
        _ messages: [MQTTMessage], while isCurrent: MessageCheck?, from id: Int
    ) -> Result<Void, MQTTError> {
        guard clients[id].isOnline else { return .failure(.notConnected) }
        for (index, message) in messages.enumerated() where isSendable(message) && isCurrent?(index) ?? true {
            publish(message)
        }
        return .success(())
    }

    mutating func publish(_ message: MQTTMessage, from id: Int) -> Result<Void, MQTTError> {
        guard clients[id].isOnline else { return .failure(.notConnected) }
        guard isSendable(message) else { return .failure(.invalid(message.topic)) }
        publish(message)
        return .success(())
    }

    private func isSendable(_ message: MQTTMessage) -> Bool {
        !message.topic.isEmpty && !message.topic.contains { "+#".contains($0) } && message.payload.count <= 256 * 1_024
    }

    private mutating func publish(_ message: MQTTMessage) {
        published.append(message)
        model.publish(message)
        var live = message
        live.retain = false
        for id in clients.indices where clients[id].isOnline {
            route(live, to: id, through: clients[id].subscriptions)
            deliver(to: id)
        }
    }

    private mutating func route(_ message: MQTTMessage, to id: Int, through subscriptions: [MQTTSubscription]) {
        guard let message = BrokerModel.delivery(of: message, through: subscriptions) else { return }
        clients[id].queue.append(.message(message))
    }

    private mutating func deliver(to id: Int) {
        guard let stream = clients[id].stream else { return }
        while let first = clients[id].queue.first {
            switch first {
            case .connected:
                clients[id].queue.removeFirst()
                effects.append(.yield({ _ in .connected }, stream))
            case .disconnected:
                clients[id].queue.removeFirst()
                effects.append(.yield({ _ in .disconnected(.connectionLost("cut by the test")) }, stream))
            case .subscribed:
                clients[id].queue.removeFirst()
                effects.append(.yield({ _ in .subscribed }, stream))
            case .message:
                guard clients[id].outstanding == nil else { return }
                deliverBatch(to: id, stream)
            }
        }
        if clients[id].isDraining { effects.append(.finish(stream)) }
    }

    private mutating func deliverBatch(to id: Int, _ stream: Stream) {
        var messages: [MQTTMessage] = []
        while case .message(let message) = clients[id].queue.first {
            clients[id].queue.removeFirst()
            messages.append(message)
        }
        latestBatch += 1
        let batch = latestBatch
        clients[id].outstanding = batch
        effects.append(
            .yield(
                { [messages] broker in
                    .batch(MQTTBatch(messages: messages) { broker.change { $0.finish(batch, of: id) } })
                }, stream))
    }

    private mutating func finish(_ batch: Int, of id: Int) {
        guard clients[id].outstanding == batch else { return }
        clients[id].outstanding = nil
        deliver(to: id)
    }
}
