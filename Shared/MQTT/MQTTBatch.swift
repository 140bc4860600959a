/// Messages in the order in which they were read.
///
/// The consumer commits what the messages ask for, calls ``acknowledge()`` and only then publishes: until the batch is
/// acknowledged its PUBACKs are held back, with everything that is published after them, and no further batch is
/// delivered. So awaiting a publish before acknowledging never returns. A consumer that cannot commit leaves its event loop
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
