import DequeModule

/// Messages on their way out: those waiting for room, and those handed to the connection and not confirmed yet.
struct PublishWindow {
    typealias ID = UInt64

    /// What ends a submission successfully.
    enum Goal {
        /// The broker's confirmation of its one message.
        case confirmation
        /// All of its messages being handed to the connection.
        case handover
    }

    struct Completion {
        var id: ID
        var result: Result<Void, MQTTError>
    }

    /// A message to be published now, and whom to tell its packet id.
    struct Next {
        var message: MQTTMessage
        var id: ID
        fileprivate var goal: Goal
        fileprivate var isLast: Bool
    }

    private struct Submission {
        var id: ID
        var messages: ArraySlice<MQTTMessage>
        var goal: Goal
    }

    /// How many messages may be unconfirmed; `nil` without a connection.
    private var capacity: Int?
    private var waiting: Deque<Submission> = []
    /// By packet id; `nil` when nobody waits for the confirmation.
    private var unconfirmed: [Int32: ID?] = [:]

    var isConnected: Bool { capacity != nil }
    var isIdle: Bool { waiting.isEmpty && unconfirmed.isEmpty }
    var awaitsConfirmation: Bool { !unconfirmed.isEmpty }

    mutating func connected(capacity: Int) {
        self.capacity = capacity
    }

    enum SubmitAction {
        case wake
        case refuse(MQTTError)
    }

    mutating func submit(_ messages: [MQTTMessage], id: ID, goal: Goal) -> SubmitAction {
        guard isConnected else { return .refuse(.notConnected) }
        waiting.append(Submission(id: id, messages: messages[...], goal: goal))
        return .wake
    }

    /// Takes the next message when there is room. It must be followed by ``handedOver(_:as:)`` or ``failed(_:_:)``.
    mutating func next() -> Next? {
        guard let capacity, unconfirmed.count < capacity, var first = waiting.popFirst() else { return nil }
        let message = first.messages.removeFirst()
        let isLast = first.messages.isEmpty
        let next = Next(message: message, id: first.id, goal: first.goal, isLast: isLast)
        if !isLast { waiting.prepend(first) }
        return next
    }

    mutating func handedOver(_ next: Next, as packet: Int32) -> Completion? {
        switch next.goal {
        case .confirmation:
            unconfirmed[packet] = .some(next.id)
            return nil
        case .handover:
            unconfirmed[packet] = .some(nil)
            return next.isLast ? Completion(id: next.id, result: .success(())) : nil
        }
    }

    /// The connection did not take the message. The rest of its submission is dropped.
    mutating func failed(_ next: Next, _ error: MQTTError) -> Completion {
        if !next.isLast { waiting.removeAll { $0.id == next.id } }
        return Completion(id: next.id, result: .failure(error))
    }

    enum ConfirmAction {
        /// Not one of ours.
        case none
        /// Nobody waits: count it.
        case unobserved
        case complete(ID)
    }

    /// PUBACK, or a QoS 0 message was written.
    mutating func confirmed(_ packet: Int32) -> ConfirmAction {
        guard let id = unconfirmed.removeValue(forKey: packet) else { return .none }
        return id.map { .complete($0) } ?? .unobserved
    }

    /// Its wait is over. What was not handed over yet is dropped; what was, keeps its place until it is confirmed.
    mutating func cancelled(_ id: ID) {
        waiting.removeAll { $0.id == id }
    }

    /// All that is on its way fails: with an unknown outcome when it was handed over.
    mutating func disconnected(_ error: MQTTError) -> [Completion] {
        var completions = unconfirmed.values.compactMap { $0 }.map { Completion(id: $0, result: .failure(error)) }
        completions += waiting.map {
            Completion(id: $0.id, result: .failure($0.messages.startIndex == 0 ? .notConnected : error))
        }
        capacity = nil
        waiting.removeAll()
        unconfirmed.removeAll()
        return completions
    }
}
