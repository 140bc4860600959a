import Bus
import Logging
import MQTT
import ServiceKit
import Storage

/// The service's one flow of events: it passes messages and time to the hub.
struct DashboardLoop {
    /// The seconds between two looks at counts and at what is too old.
    private static let interval = 5.0

    private let parts: DashboardParts
    private let metrics: DashboardMetrics
    private var rejections = Rejections(service: "dashboard")
    private var lookedAt: Moment?

    init(_ parts: DashboardParts) {
        self.parts = parts
        metrics = DashboardMetrics(parts.context.metrics)
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        switch event {
        case .ownership(.gained(let epochs)): try await parts.own(epochs)
        case .ownership(.releasing(let shards)), .ownership(.lost(let shards)): parts.disown(shards)
        case .announce: break
        case .connected: parts.hub.connected()
        case .disconnected: parts.hub.disconnected()
        case .batch(let batch):
            let rejected = parts.hub.receive(batch.messages) + parts.history.receive(batch.messages)
            parts.logins.receive(batch.messages)
            batch.acknowledge()
            await reject(rejected)
        case .tick:
            parts.hub.tick()
            parts.operators.tick()
            parts.records.tick(parts.context.clock.moment)
            look(parts.context.clock.moment)
        }
    }

    private mutating func look(_ now: Moment) {
        if let lookedAt, now.seconds(since: lookedAt) < Self.interval { return }
        lookedAt = now
        parts.hub.forgetPast()
        metrics.show(parts)
    }

    private mutating func reject(_ rejected: [(message: MQTTMessage, error: PayloadError)]) async {
        let now = parts.context.clock.moment
        var messages: [MQTTMessage] = []
        for (message, error) in rejected {
            metrics.rejected(error.reason)
            messages += rejections.reject(message, Rejection(topic: message.topic, error: error), at: now)
        }
        await parts.context.send(messages)
    }
}
