import CMosquitto
import TestSupport
import Testing

@testable import MQTT

@Suite struct BatchCollectorTests {
    private func append(
        _ topic: String, _ payload: [UInt8], qos: Int32 = 0, to collector: inout BatchCollector
    ) {
        var payload = payload
        var topic = Array(topic.utf8CString)
        payload.withUnsafeMutableBytes { bytes in
            topic.withUnsafeMutableBufferPointer { topic in
                var message = mosquitto_message()
                message.topic = topic.baseAddress
                message.payload = bytes.baseAddress
                message.payloadlen = Int32(bytes.count)
                message.qos = qos
                collector.append(message)
            }
        }
    }

    private func collector(payloadLimit: Int = 100) -> BatchCollector {
        var collector = BatchCollector(payloadLimit: payloadLimit)
        collector.isOpen = true
        return collector
    }

    @Test func `messages keep their order over several batches`() {
        var random = SeededRandom()
        var collector = collector()
        for _ in 0..<5 {
            var expected: [MQTTMessage] = []
            for _ in 0..<200 {
                let topic = "a/\(Int.random(in: 0..<20, using: &random))/ä"
                let payload = (0..<Int.random(in: 0..<50, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
                append(topic, payload, to: &collector)
                expected.append(MQTTMessage(topic: topic, payload: payload, qos: .atMostOnce))
            }
            #expect(collector.take() == expected)
            #expect(collector.total == BatchGate.Collected())
        }
    }

    @Test func `a QoS 1 message requires acknowledgement until it is taken`() {
        var collector = collector()
        append("t", [1], to: &collector)
        #expect(!collector.needsAcknowledgement)
        append("t", [1], qos: 1, to: &collector)
        #expect(collector.needsAcknowledgement)
        #expect(collector.take().map(\.qos) == [.atMostOnce, .atLeastOnce])
        #expect(!collector.needsAcknowledgement)
    }

    @Test func `a payload above the limit is dropped and counted`() {
        var collector = collector(payloadLimit: 3)
        append("t", [1, 2, 3], to: &collector)
        append("t", [1, 2, 3, 4], qos: 1, to: &collector)
        #expect(collector.take().count == 1)
        #expect(collector.takeDropped() == .init(tooLarge: 1))
        #expect(!collector.hasDropped)
    }

    @Test func `without a subscriber messages are dropped and counted`() {
        var collector = BatchCollector(payloadLimit: 3)
        append("t", [1], to: &collector)
        #expect(collector.take().isEmpty)
        #expect(collector.takeDropped() == .init(unsubscribed: 1))
    }

    @Test func `a full topic table starts over`() {
        var table = TopicTable(limit: 10)
        for number in 0..<100 {
            #expect("topic/\(number)".withCString { table.string($0) } == "topic/\(number)")
        }
    }
}
