/// One turn of received messages: those of one owner in the order of reading, see ``QueueRule``.
///
/// The consumer commits the effects of the messages, calls ``acknowledge()`` and only then publishes. Until then the
/// client delivers no further batch. A consumer that is in step, so that each batch holds all messages read, also holds back
/// the PUBACKs with all later packets. Waiting callers take precedence: a send beyond the window and an awaited publish also
/// send the PUBACKs, which with clean starts only slow the broker down. Do not await a publish before acknowledging: once too
/// many messages of services wait, the client reads nothing more, not even the confirmation. A consumer that cannot commit
/// leaves its event loop without acknowledging. If it was in step, the client then closes the connection without the
/// PUBACKs and reconnects.
package struct MQTTBatch: Sendable {
    package let messages: [MQTTMessage]
    private let onAcknowledge: @Sendable () -> Void

    package init(messages: [MQTTMessage], onAcknowledge: @escaping @Sendable () -> Void) {
        self.messages = messages
        self.onAcknowledge = onAcknowledge
    }

    /// Marks all messages as processed. Repeated calls do nothing. After the connection of the batch is lost, the call
    /// only allows the next batch.
    package func acknowledge() {
        onAcknowledge()
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
