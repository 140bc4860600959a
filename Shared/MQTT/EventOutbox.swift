/// Undelivered events in order, at most three: remaining messages of a lost connection, its loss, and the next
/// connection. A connection that was established and lost before delivery is omitted.
struct EventOutbox {
    enum Event {
        case leftover([MQTTMessage])
        case disconnected(MQTTError)
        case connected
    }

    private(set) var events: [Event] = []

    /// Whether remaining messages are pending, so that reading must stop.
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
