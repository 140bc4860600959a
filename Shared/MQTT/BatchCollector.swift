import CMosquitto

/// Collects received messages into a batch: all payloads share one array, and equal topics share one string.
struct BatchCollector {
    private struct Entry {
        var topic: String
        var payload: Range<Int>
        var qos: QoS
        var retain: Bool
    }

    private let payloadLimit: Int
    private var topics = TopicTable()
    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    /// Bytes of topics that are too long to share.
    private var topicBytes = 0
    /// Whether a subscriber exists.
    var isOpen = false
    private(set) var needsAcknowledgement = false
    private var dropped = Dropped()

    /// Messages dropped before delivery since the last ``takeDropped()``.
    struct Dropped: Equatable {
        var tooLarge = 0
        var unsubscribed = 0
    }

    init(payloadLimit: Int) {
        self.payloadLimit = payloadLimit
    }

    var total: BatchGate.Collected {
        BatchGate.Collected(
            messages: entries.count, bytes: bytes.count + topicBytes, needsAcknowledgement: needsAcknowledgement)
    }

    mutating func append(_ message: mosquitto_message) {
        guard isOpen else {
            dropped.unsubscribed += 1
            return
        }
        let length = Int(message.payloadlen)
        guard length <= payloadLimit else {
            dropped.tooLarge += 1
            return
        }
        let start = bytes.count
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: message.payload, count: length))
        if message.qos > 0 { needsAcknowledgement = true }
        let topic = topics.string(message.topic)
        if topic.utf8.count > TopicTable.lengthLimit { topicBytes += topic.utf8.count }
        entries.append(
            Entry(
                topic: topic, payload: start..<bytes.count,
                qos: message.qos == 0 ? .atMostOnce : .atLeastOnce, retain: message.retain))
    }

    /// Removes and returns the collected messages.
    mutating func take() -> [MQTTMessage] {
        let messages = entries.map {
            MQTTMessage(topic: $0.topic, payload: bytes[$0.payload], qos: $0.qos, retain: $0.retain)
        }
        let size = bytes.count
        bytes = []
        bytes.reserveCapacity(min(size, 1_024 * 1_024))
        topicBytes = 0
        entries.removeAll(keepingCapacity: true)
        needsAcknowledgement = false
        return messages
    }

    var hasDropped: Bool { dropped != Dropped() }

    mutating func takeDropped() -> Dropped {
        defer { dropped = Dropped() }
        return dropped
    }
}
