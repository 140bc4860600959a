import CoreMetrics
package import Logging
import ServiceLifecycle
import Synchronization

/// An MQTT client based on libmosquitto.
///
/// ``run()`` runs the connection on its own thread. The thread connects, subscribes, reads into batches, writes, and
/// reconnects with growing delays after every failure.
package final class MQTTClient: MessageBus, Service {
    private let configuration: MQTTConfiguration
    private let logger: Logger
    private let mailbox = SharedMailbox()

    package init(configuration: MQTTConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Whether the client is connected and all subscriptions are granted.
    package var isReady: Bool { mailbox.withLock { $0.isReady } }

    /// Stays connected until graceful shutdown. The shutdown stops reading, waits briefly until the subscriber leaves and
    /// the broker confirms what was sent, then disconnects. Cancellation does not wait, and the broker publishes
    /// the will.
    ///
    /// - Throws: an `MQTTError` if ``MQTTConfiguration/endsWhenRefused`` applies.
    package func run() async throws {
        let isFirst = mailbox.withLock { mailbox in
            defer { mailbox.hasStarted = true }
            return !mailbox.hasStarted
        }
        precondition(isFirst, "call run() once per client")
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withCheckedContinuation { runner in
                    mailbox.withLock { $0.runner = runner }
                    NetworkLoop.start(configuration: configuration, logger: logger, mailbox: mailbox)
                }
            } onGracefulShutdown: {
                self.stop(.graceful)
            }
        } onCancel: {
            self.stop(.immediate)
        }
        if let refusal = mailbox.withLock({ $0.refusal }) { throw refusal }
    }

    private func stop(_ stop: Mailbox.Stop) {
        let runner = mailbox.change { mailbox in
            mailbox.stop = max(mailbox.stop ?? stop, stop)
            // The thread is blocked in the resolver and ends by itself; waiting for it is unnecessary.
            guard mailbox.isResolving else { return CheckedContinuation<Void, Never>?.none }
            return mailbox.runner.take()
        }
        runner?.resume()
    }

    package func withSubscriptions<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ body: (AsyncStream<MQTTEvent>) async throws -> R
    ) async throws -> R {
        let (stream, events) = AsyncStream.makeStream(of: MQTTEvent.self, bufferingPolicy: .bufferingOldest(16))
        mailbox.change { mailbox in
            precondition(mailbox.subscriber == nil, "one subscriber at a time")
            mailbox.subscriber = .init(id: mailbox.nextID(), subscriptions: subscriptions, events: events)
            if mailbox.hasStopped && mailbox.refusal == nil || mailbox.isDraining { events.finish() }
        }
        defer {
            events.finish()
            mailbox.change { $0.subscriber = nil }
        }
        return try await body(stream)
    }

    package func setSubscriptions(_ subscriptions: [MQTTSubscription], renewing renewed: Set<MQTTSubscription>) {
        mailbox.change { $0.subscriber?.change(to: subscriptions, renewing: renewed) }
    }

    package func publish(_ message: MQTTMessage) async throws(MQTTError) {
        try await submit([message], goal: .confirmation)
    }

    package func send(_ messages: [MQTTMessage], while isCurrent: MessageCheck?) async throws(MQTTError) {
        guard !messages.isEmpty else { return }
        try await submit(messages, goal: .handover, while: isCurrent)
    }

    package func flush() async {
        _ = await withCheckedContinuation { waiter in
            let isRunning = mailbox.change { mailbox in
                guard mailbox.hasStarted, !mailbox.hasStopped else { return false }
                let id = mailbox.nextID()
                mailbox.wait(waiter, for: id)
                mailbox.flushes.append((id, .now))
                return true
            }
            if !isRunning { waiter.resume(returning: .success(())) }
        }
    }

    package func stopReading() {
        mailbox.change { $0.isDraining = true }
    }

    private func submit(
        _ messages: [MQTTMessage], goal: PublishWindow.Goal, while isCurrent: MessageCheck? = nil
    ) async throws(MQTTError) {
        let id = mailbox.withLock { $0.nextID() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                switch mailbox.submit(messages, id: id, goal: goal, while: isCurrent, waiter: waiter) {
                case .wake: break
                case .refuse(let error): waiter.resume(returning: .failure(error))
                }
                // If the task was canceled before, the handler below found no waiter.
                if Task.isCancelled { mailbox.cancel(id) }
            }
        } onCancel: {
            mailbox.cancel(id)
        }
        try result.get()
    }
}

/// The metrics of one client.
struct ClientMetrics {
    let reconnects = Counter(label: "pacebus_mqtt_reconnects_total")
    let received = Counter(label: "pacebus_mqtt_messages_received_total")
    let sent = Counter(label: "pacebus_mqtt_messages_sent_total")
    let publishFailures = Counter(label: "pacebus_mqtt_publish_failures_total")
    let droppedTooLarge = Counter(label: "pacebus_mqtt_messages_dropped_total", dimensions: [("reason", "too_large")])
    let droppedUnsubscribed = Counter(
        label: "pacebus_mqtt_messages_dropped_total", dimensions: [("reason", "unsubscribed")])
    let droppedVoid = Counter(label: "pacebus_mqtt_messages_dropped_total", dimensions: [("reason", "lost_shard")])
}
