/// A client's side of a message broker: ``MQTTClient``, or a client of an in-memory broker in tests.
package protocol MessageBus: Sendable {
    /// Subscribes, runs `body` with the events and unsubscribes when it returns or throws.
    ///
    /// It needs no connection to start, and subscribes again on each connect. One call at a time for each client: a second is a
    /// programmer's error. The stream ends after ``stopReading()``, when the client stops, and when the task is canceled.
    func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R

    /// Replaces the subscriptions of the current ``withSubscriptions(_:_:)``: unsubscribes from those that are gone, and subscribes
    /// to those that are new or in `renewed`, whose retained messages come again. Later connections use the newest set.
    ///
    /// It returns at once. The stream answers each call with one ``MQTTEvent/subscribed``, unless it ends first.
    func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>)

    /// Publishes and returns when the broker has acknowledged (QoS 1) or when the message is written (QoS 0).
    ///
    /// Cancelling abandons the wait, not the message: it may still arrive.
    /// - Throws: ``MQTTError/notConnected`` at once without a connection: nothing was sent.
    ///   ``MQTTError/connectionLost(_:)`` and ``MQTTError/cancelled`` leave the outcome unknown.
    ///   ``MQTTError/refused(reason:_:)`` when the broker answers with a reason from 0x80; only MQTT 5 has such answers.
    func publish(_ message: MQTTMessage) async throws(MQTTError)

    /// Hands all messages to the connection in order, waiting only for room in the window of unconfirmed messages.
    ///
    /// It never waits for the subscriber to take or acknowledge a batch: when the client can read nothing more until then,
    /// the messages stay with it, and this returns. When more than 64 MiB wait like that, the connection is given up.
    ///
    /// A message that can never be sent is left out, counted and logged, and the others go on. What fails later is counted
    /// and logged too. When it throws, some of the messages may have been sent.
    func send(_ messages: [MQTTMessage]) async throws(MQTTError)

    /// Begins the drain: takes no more messages, delivers those that were read, then ends the event stream.
    ///
    /// Publishing goes on. Messages that the broker sends before it has seen the unsubscription are dropped and counted.
    func stopReading()
}
