/// What a subscriber sees, in order: `connected`, batches, `disconnected`, `connected`, …
package enum MQTTEvent: Sendable {
    /// The broker granted all subscriptions. It may have forgotten everything: publish retained state again.
    case connected
    case batch(MQTTBatch)
    /// The connection was lost; the client is already connecting again. Messages published meanwhile are missed.
    case disconnected(MQTTError)
}
