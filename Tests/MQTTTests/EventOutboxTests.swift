import Testing

@testable import MQTT

@Suite struct EventOutboxTests {
    private let message = MQTTMessage(topic: "t", payload: [1], qos: .atMostOnce)

    private func kinds(_ outbox: EventOutbox) -> [String] {
        outbox.events.map {
            switch $0 {
            case .connected: "connected"
            case .disconnected: "disconnected"
            case .leftover: "leftover"
            }
        }
    }

    @Test func `remaining messages precede the loss`() {
        var outbox = EventOutbox()
        outbox.disconnected(.notConnected, leftover: [message])
        outbox.connected()
        #expect(kinds(outbox) == ["leftover", "disconnected", "connected"])
        #expect(outbox.holdsMessages)
    }

    @Test func `a connection lost before delivery is omitted`() {
        var outbox = EventOutbox()
        outbox.disconnected(.notConnected, leftover: [message])
        for _ in 0..<100 {
            outbox.connected()
            outbox.disconnected(.notConnected, leftover: [])
        }
        #expect(kinds(outbox) == ["leftover", "disconnected"])
    }

    @Test func `a first connection lost before delivery leaves no event`() {
        var outbox = EventOutbox()
        outbox.connected()
        outbox.disconnected(.notConnected, leftover: [])
        #expect(outbox.events.isEmpty)
    }
}
