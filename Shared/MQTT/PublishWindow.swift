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
        fileprivate var isReleased: Bool
    }

    private struct Submission {
        var id: ID
        var messages: ArraySlice<MQTTMessage>
        var goal: Goal
        /// Its caller was told of success before all was handed over.
        var isReleased = false
    }

    /// How many messages may be unconfirmed; `nil` without a connection.
    private var capacity: Int?
    private var waiting: Deque<Submission> = []
    /// By packet id; `nil` when nobody waits for the confirmation.
    private var unconfirmed: [Int32: ID?] = [:]
    /// How many of them somebody waits for, or did.
    private var awaited = 0
    /// Bytes of the messages that wait although their callers do not.
    private var backlog = 0
    private let backlogLimit: Int

    init(backlogLimit: Int = 64 * 1_024 * 1_024) {
        self.backlogLimit = backlogLimit
    }

    var isConnected: Bool { capacity != nil }
    /// After the last ``next()``: messages wait for room, or somebody for a confirmation.
    var isPressed: Bool { !waiting.isEmpty || awaited > 0 }
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
        let next = Next(
            message: message, id: first.id, goal: first.goal, isLast: isLast, isReleased: first.isReleased)
        if first.isReleased { backlog -= Self.size(of: message) }
        if !isLast { waiting.prepend(first) }
        return next
    }

    mutating func handedOver(_ next: Next, as packet: Int32) -> Completion? {
        switch next.goal {
        case .confirmation:
            unconfirmed[packet] = .some(next.id)
            awaited += 1
            return nil
        case .handover:
            unconfirmed[packet] = .some(nil)
            return handover(of: next)
        }
    }

    /// The connection did not take the message. The rest of its submission goes on without it.
    func failed(_ next: Next, _ error: MQTTError) -> Completion? {
        switch next.goal {
        case .confirmation: Completion(id: next.id, result: .failure(error))
        case .handover: handover(of: next)
        }
    }

    private func handover(of next: Next) -> Completion? {
        next.isLast && !next.isReleased ? Completion(id: next.id, result: .success(())) : nil
    }

    enum ReleaseAction {
        case complete([Completion])
        /// More waits than memory allows: end the connection.
        case overflow
    }

    /// Confirmations are not read until the consumer acts, and the consumer may be the one who waits to hand over: nobody
    /// waits for that any more.
    ///
    /// A submission counts against the limit for those after it, so that one of any size has its turn.
    mutating func release() -> ReleaseAction {
        var completions: [Completion] = []
        for index in waiting.indices where waiting[index].goal == .handover && !waiting[index].isReleased {
            guard backlog < backlogLimit else { return .overflow }
            backlog += waiting[index].messages.reduce(0) { $0 + Self.size(of: $1) }
            waiting[index].isReleased = true
            completions.append(Completion(id: waiting[index].id, result: .success(())))
        }
        return .complete(completions)
    }

    /// About what a waiting message takes in memory.
    private static func size(of message: MQTTMessage) -> Int {
        message.payload.count + message.topic.utf8.count + 128
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
        guard let id else { return .unobserved }
        awaited -= 1
        return .complete(id)
    }

    /// Its wait is over. What was not handed over yet is dropped; what was, keeps its place until it is confirmed.
    mutating func cancelled(_ id: ID) {
        // The caller of a released submission was told of success already.
        waiting.removeAll { $0.id == id && !$0.isReleased }
    }

    /// All that is on its way fails: with an unknown outcome when it was handed over.
    mutating func disconnected(_ error: MQTTError) -> [Completion] {
        var completions = unconfirmed.values.compactMap { $0 }.map { Completion(id: $0, result: .failure(error)) }
        completions += waiting.map {
            Completion(id: $0.id, result: .failure($0.messages.startIndex == 0 ? .notConnected : error))
        }
        capacity = nil
        awaited = 0
        backlog = 0
        waiting.removeAll()
        unconfirmed.removeAll()
        return completions
    }
}
