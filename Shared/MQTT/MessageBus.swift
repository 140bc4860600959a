/// A client's side of a message broker: ``MQTTClient``, or a client of an in-memory broker in tests.
package protocol MessageBus: Sendable {
    /// Subscribes, runs `body` with the events, and unsubscribes when `body` returns or throws.
    ///
    /// It needs no connection to start, and subscribes again on each connect. One call at a time for each client: a second is a
    /// programmer's error. The stream ends after ``stopReading()``, when the client stops, and when the task is canceled.
    func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R

    /// Replaces the subscriptions of the current ``withSubscriptions(_:_:)``: unsubscribes from removed ones, and
    /// subscribes to added ones and to those in `renewed`, whose retained messages arrive again. Later connections use
    /// the newest set.
    ///
    /// It returns at once. The stream answers each call with one ``MQTTEvent/subscribed``, unless it ends first.
    func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>)

    /// Publishes and returns when the broker has acknowledged (QoS 1) or when the message is written (QoS 0).
    ///
    /// Cancellation abandons the wait, not the message: it may still arrive.
    /// - Throws: ``MQTTError/notConnected`` without a connection; nothing was sent. ``MQTTError/connectionLost(_:)``
    ///   and ``MQTTError/canceled`` leave the outcome unknown. ``MQTTError/refused(reason:_:)`` if the broker answers
    ///   with a reason of 0x80 or above, which only MQTT 5 has.
    func publish(_ message: MQTTMessage) async throws(MQTTError)

    /// Queues all messages in order. Waits only for space in the window of unconfirmed messages.
    ///
    /// The call never waits for the subscriber to take or finish a batch: if the client cannot read until then, it
    /// keeps the messages and returns. Above 64 MiB of such messages the client closes the connection.
    ///
    /// An invalid message is dropped, counted and logged; the others are sent. Later failures are counted and logged
    /// too. If the call throws, some of the messages may have been sent.
    ///
    /// - Parameter isCurrent: whether the message at an index may still be sent, such as while its shard is owned. The client
    ///   asks again just before it writes, on a thread of its own, and drops and counts the messages that are void by then.
    ///   `nil` sends them all.
    func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck?) async throws(MQTTError)

    /// Returns when everything sent before is written to the connection or lost with it, after 2 s at the latest.
    func flush() async

    /// Starts the drain: delivers the messages already read, accepts no more, then ends the event stream.
    ///
    /// Publishing continues. Messages that the broker sends before it receives the UNSUBSCRIBE are dropped and counted.
    func stopReading()
}

/// Whether the message at this index of a `send` may still be sent.
package typealias MessageCheck = @Sendable (_ index: Int) -> Bool

extension MessageBus {
    /// Sends messages that never become void.
    package func send(_ messages: [MQTTMessage]) async throws(MQTTError) {
        try await send(messages, while: nil)
    }
}

/// A published or received message.
package struct MQTTMessage: Sendable, Hashable {
    package var topic: String
    package var payload: ArraySlice<UInt8>
    package var qos: QoS
    /// When publishing: replaces the topic's retained message; an empty payload clears it. When received: the message
    /// is the retained one at the start of a subscription, not a live one.
    package var retain: Bool

    package init(topic: String, payload: ArraySlice<UInt8>, qos: QoS, retain: Bool = false) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
    }

    package init(topic: String, payload: [UInt8], qos: QoS, retain: Bool = false) {
        self.init(topic: topic, payload: payload[...], qos: qos, retain: retain)
    }
}

/// The quality of service. QoS 2 is omitted on purpose: after PUBREC its payload exists only in the client's memory, so
/// a killed consumer loses it.
package enum QoS: UInt8, Sendable, Hashable {
    case atMostOnce = 0
    case atLeastOnce = 1
}

/// A topic filter with optional `+` and `#`, and the highest QoS of delivered messages.
package struct MQTTSubscription: Sendable, Hashable {
    package var filter: String
    package var qos: QoS

    package init(filter: String, qos: QoS) {
        self.filter = filter
        self.qos = qos
    }
}

/// One turn of received messages: those of one owner in the order of reading, see ``QueueRule``.
///
/// The consumer commits the effects of the messages, calls ``finish()`` and only then publishes. Until then the client
/// delivers no further batch. It sends PUBACKs as soon as it has read the messages: they promise nothing, and an effect
/// that must not be lost has an acknowledgement or a reply of its own. Do not await a publish before ``finish()``: once too
/// many messages of services wait, the client reads nothing more, not even the confirmation.
package struct MQTTBatch: Sendable {
    package let messages: [MQTTMessage]
    private let onFinish: @Sendable () -> Void

    package init(messages: [MQTTMessage], onFinish: @escaping @Sendable () -> Void) {
        self.messages = messages
        self.onFinish = onFinish
    }

    /// Allows the next batch. Repeated calls do nothing.
    package func finish() {
        onFinish()
    }
}

/// The events of a subscriber, in order: `connected`, batches, `disconnected`, `connected`, …
package enum MQTTEvent: Sendable {
    /// The broker granted all subscriptions. It may have lost all retained messages: publish them again.
    case connected
    case batch(MQTTBatch)
    /// One call of ``MessageBus/setSubscriptions(_:renewing:)`` has taken effect: the broker confirmed the added and
    /// the removed subscriptions, and all messages read before have been delivered. Without a connection no
    /// confirmation is necessary.
    case subscribed
    /// The connection was lost; the client is already connecting again. Messages published meanwhile are missed.
    case disconnected(MQTTError)
}
