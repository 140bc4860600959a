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
