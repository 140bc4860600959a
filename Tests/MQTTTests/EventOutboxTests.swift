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

    @Test func `leftover messages come before the news of the loss`() {
        var outbox = EventOutbox()
        outbox.disconnected(.notConnected, leftover: [message])
        outbox.connected()
        #expect(kinds(outbox) == ["leftover", "disconnected", "connected"])
        #expect(outbox.holdsMessages)
    }

    @Test func `a connection that came and went unseen leaves no trace`() {
        var outbox = EventOutbox()
        outbox.disconnected(.notConnected, leftover: [message])
        for _ in 0..<100 {
            outbox.connected()
            outbox.disconnected(.notConnected, leftover: [])
        }
        #expect(kinds(outbox) == ["leftover", "disconnected"])
    }

    @Test func `the first connection unseen leaves nothing`() {
        var outbox = EventOutbox()
        outbox.connected()
        outbox.disconnected(.notConnected, leftover: [])
        #expect(outbox.events.isEmpty)
    }
}
