import MQTT
import ServiceKit

/// The service's one flow of events: it passes messages and time to the hub.
struct DashboardLoop {
    private let parts: DashboardParts

    init(_ parts: DashboardParts) {
        self.parts = parts
    }

    mutating func handle(_ event: ServiceEvent) {
        switch event {
        case .ownership, .announce: break
        case .connected: parts.hub.connected()
        case .disconnected: parts.hub.disconnected()
        case .batch(let batch):
            parts.hub.receive(batch.messages)
            batch.acknowledge()
        case .tick: parts.hub.tick()
        }
    }
}
