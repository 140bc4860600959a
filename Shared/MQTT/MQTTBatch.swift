/// Messages in the order in which they were read.
///
/// The consumer commits what the messages ask for, calls ``acknowledge()`` and only then publishes: until the batch is
/// acknowledged no further batch is delivered, and its PUBACKs are held back with everything that is sent after them. Who
/// waits goes first: a send that exceeds the window and an awaited publish take the PUBACKs along, which with clean starts
/// only slow the broker down. A publish should still not be awaited before acknowledging: when as much as a batch holds has
/// been read meanwhile, nothing more is, not even its confirmation. A consumer that cannot commit leaves its event loop
/// without acknowledging; the client then closes the connection, PUBACKs unwritten, and connects again.
package struct MQTTBatch: Sendable {
    package let messages: [MQTTMessage]
    private let onAcknowledge: @Sendable () -> Void

    package init(messages: [MQTTMessage], onAcknowledge: @escaping @Sendable () -> Void) {
        self.messages = messages
        self.onAcknowledge = onAcknowledge
    }

    /// Says that all messages are dealt with. Repeated calls do nothing, nor does a call after the connection they were read
    /// from was lost, except that the next batch may come.
    package func acknowledge() {
        onAcknowledge()
    }
}

/// What a subscriber receives, in order: `connected`, batches, `disconnected`, `connected`, …
package enum MQTTEvent: Sendable {
    /// The broker granted all subscriptions. It may have lost all retained messages: publish them again.
    case connected
    case batch(MQTTBatch)
    /// The set of one ``MessageBus/setSubscriptions(_:renewing:)`` holds: the broker confirmed what is new and what is gone, and
    /// all messages read before have been delivered. Without a connection there was nothing to confirm.
    case subscribed
    /// The connection was lost; the client is already connecting again. Messages published meanwhile are missed.
    case disconnected(MQTTError)
}
