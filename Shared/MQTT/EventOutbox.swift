/// Events that could not be delivered yet, in order and never more than three: leftover messages of a lost connection, its
/// loss, and the next connection. A connection that came and went unseen leaves no trace.
struct EventOutbox {
    enum Event {
        case leftover([MQTTMessage])
        case disconnected(MQTTError)
        case connected
    }

    private(set) var events: [Event] = []

    /// Leftover messages are waiting, so no more may be read.
    var holdsMessages: Bool {
        if case .leftover = events.first { true } else { false }
    }

    mutating func connected() {
        events.append(.connected)
    }

    mutating func disconnected(_ error: MQTTError, leftover: [MQTTMessage]) {
        if case .connected = events.last {
            events.removeLast()
            return
        }
        if !leftover.isEmpty { events.append(.leftover(leftover)) }
        events.append(.disconnected(error))
    }

    mutating func removeFirst() {
        events.removeFirst()
    }

    mutating func removeAll() {
        events.removeAll()
    }
}
