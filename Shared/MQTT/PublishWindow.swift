import DequeModule

/// Outgoing messages: those waiting for space, and those sent and not confirmed yet.
struct PublishWindow {
    typealias ID = UInt64

    /// The condition under which a submission succeeds.
    enum Goal {
        /// The broker confirms its only message.
        case confirmation
        /// All of its messages are in the connection.
        case handover
    }

    struct Completion {
        var id: ID
        var result: Result<Void, MQTTError>
    }

    /// The next message to publish, and the submission that receives its packet id.
    struct Next {
        var message: MQTTMessage
        var id: ID
        /// `nil` for a message that is never void.
        var check: Check?
        fileprivate var goal: Goal
        fileprivate var isLast: Bool
        fileprivate var isReleased: Bool
    }

    /// Whether one message may still be sent.
    struct Check {
        let index: Int
        let isCurrent: MessageCheck

        var passes: Bool { isCurrent(index) }
    }

    private struct Submission {
        var id: ID
        var messages: ArraySlice<MQTTMessage>
        var isCurrent: MessageCheck?
        var goal: Goal
        /// Whether its caller returned before all messages were in the connection.
        var isReleased = false
    }

    /// The maximum number of unconfirmed messages; `nil` without a connection.
    private var capacity: Int?
    private var waiting: Deque<Submission> = []
    /// By packet id; `nil` if no caller waits for the confirmation.
    private var unconfirmed: [Int32: ID?] = [:]
    /// The number of unconfirmed messages with a caller that waits or did.
    private var awaited = 0
    /// Bytes of pending messages whose callers have returned.
    private var backlog = 0
    private let backlogLimit: Int

    init(backlogLimit: Int = 64 * 1_024 * 1_024) {
        self.backlogLimit = backlogLimit
    }

    var isConnected: Bool { capacity != nil }
    /// Whether, after the last ``next()``, messages wait for space or a caller waits for a confirmation.
    var isUnderBackpressure: Bool { !waiting.isEmpty || awaited > 0 }
    /// Whether all messages are in the connection.
    var isHandedOver: Bool { waiting.isEmpty }
    var isIdle: Bool { waiting.isEmpty && unconfirmed.isEmpty }
    var awaitsConfirmation: Bool { !unconfirmed.isEmpty }

    mutating func connected(capacity: Int) {
        self.capacity = capacity
    }

    enum SubmitAction {
        case wake
        case refuse(MQTTError)
    }

    mutating func submit(
        _ messages: [MQTTMessage], id: ID, goal: Goal, while isCurrent: MessageCheck? = nil
    ) -> SubmitAction {
        guard isConnected else { return .refuse(.notConnected) }
        waiting.append(Submission(id: id, messages: messages[...], isCurrent: isCurrent, goal: goal))
        return .wake
    }

    /// Returns the next message if there is space. Call ``handedOver(_:as:)`` or ``failed(_:_:)`` for it.
    mutating func next() -> Next? {
        guard let capacity, unconfirmed.count < capacity, var first = waiting.popFirst() else { return nil }
        let check = first.isCurrent.map { Check(index: first.messages.startIndex, isCurrent: $0) }
        let message = first.messages.removeFirst()
        let isLast = first.messages.isEmpty
        let next = Next(
            message: message, id: first.id, check: check, goal: first.goal, isLast: isLast,
            isReleased: first.isReleased)
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

    /// The message is void. The rest of its submission continues.
    func dropped(_ next: Next) -> Completion? { handover(of: next) }

    /// The connection did not accept the message. The rest of its submission continues.
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
        /// The pending messages exceed the memory limit: close the connection.
        case overflow
    }

    /// Lets callers that wait for space return. Confirmations are not read until the consumer acts, and the consumer
    /// may be one of these callers.
    ///
    /// A submission counts against the limit for later ones only, so a submission of any size can start.
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

    /// The approximate memory of a pending message.
    private static func size(of message: MQTTMessage) -> Int {
        message.payload.count + message.topic.utf8.count + 128
    }

    enum ConfirmAction {
        /// The packet id is unknown.
        case none
        /// No caller waits: count the result.
        case unobserved
        case complete(ID)
    }

    /// A PUBACK arrived, or a QoS 0 message was written.
    mutating func confirmed(_ packet: Int32) -> ConfirmAction {
        guard let id = unconfirmed.removeValue(forKey: packet) else { return .none }
        guard let id else { return .unobserved }
        awaited -= 1
        return .complete(id)
    }

    /// Ends a canceled wait. Messages not yet in the connection are dropped; the others keep their place until
    /// confirmed.
    mutating func canceled(_ id: ID) {
        // The caller of a released submission has already succeeded.
        waiting.removeAll { $0.id == id && !$0.isReleased }
    }

    /// Fails all messages. For those in the connection the outcome is unknown.
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
