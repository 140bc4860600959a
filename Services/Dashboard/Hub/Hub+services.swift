import Bus
import MQTT
import ServiceKit
import Workouts

/// The services and the connection to the broker.
extension Hub {
    /// A process of a service, by its newest presence.
    struct Process: Equatable {
        var isOnline: Bool
        /// `00-ff`, or `none`; `nil` if the presence does not say.
        var shards: String?
        var version: String?
        /// The `at` of the presence, and when it arrived.
        var renewed: Timestamp?
        var renewedAt: Moment
        /// Since when the process is online or offline, as far as this service observed it.
        var since: Timestamp
        /// Whether the broker retained it, so that it may be older.
        var isRetained: Bool
    }

    /// Takes a presence.
    mutating func receive(
        presence message: MQTTMessage, _ service: String, _ instance: ProcessName, _ now: Moment
    ) throws(PayloadError) -> Set<Int> {
        let before = onlineServices
        if message.payload.isEmpty {
            // The service stays known.
            services[service]?[instance] = nil
        } else {
            let presence = try JSONCoding.decode(PresencePayload.self, from: message.payload)
            let isOnline = presence.status == "online"
            let known = services[service]?[instance].flatMap { $0.isOnline == isOnline ? $0 : nil }
            // A repeated delivery of the same presence renews nothing.
            let isRenewed = known?.renewed != presence.at || known == nil
            services[service, default: [:]][instance] = Process(
                isOnline: isOnline, shards: presence.shards, version: presence.version, renewed: presence.at,
                renewedAt: isRenewed ? now : known?.renewedAt ?? now, since: known?.since ?? now.wallClock,
                isRetained: known?.isRetained ?? message.retain)
        }
        guard onlineServices != before else { return [] }
        return putAll(servicesFrame, in: .services)
    }

    /// What ``Hub`` reads of a presence.
    private struct PresencePayload: Decodable {
        let status: String?
        let at: Timestamp?
        let shards: String?
        let version: String?
    }

    mutating func connected(_ now: Moment) -> [HubAction] {
        link = .connected
        // The broker sends the presences again. Those of processes that ended meanwhile it may have lost.
        doubted = (Set(services.keys), now + Self.presenceTime)
        services = [:]
        noteGranted(now)
        return deliver(putAll(linkFrame, in: .bus), now)
    }

    /// Services whose presence did not come again are offline.
    mutating func endDoubt(_ now: Moment) -> [HubAction] {
        guard let doubt = doubted, now >= doubt.until else { return [] }
        doubted = nil
        let missing = doubt.services.filter { services[$0] == nil }
        guard link == .connected, !missing.isEmpty else { return [] }
        for service in missing { services[service] = [:] }
        return deliver(putAll(servicesFrame, in: .services), now)
    }

    /// Processes that do not renew their presence are offline.
    mutating func expireProcesses(_ now: Moment) -> [HubAction] {
        let before = onlineServices
        for (service, processes) in services {
            for (instance, process) in processes
            where process.isOnline && now.seconds(since: process.renewedAt) >= OnlineProcesses.lifetime {
                services[service]?[instance]?.isOnline = false
                services[service]?[instance]?.since = now.wallClock
            }
        }
        return link == .connected && onlineServices != before ? deliver(putAll(servicesFrame, in: .services), now) : []
    }

    mutating func disconnected(_ now: Moment) -> [HubAction] {
        if link == .connected { link = .away(since: now.wallClock) }
        return deliver(putAll(linkFrame, in: .bus), now)
    }

    func isOnline(_ service: String) -> Bool { onlineServices[service] ?? false }

    /// Which services are online.
    var onlineServices: [String: Bool] { services.mapValues { $0.values.contains(where: \.isOnline) } }

    var servicesFrame: EventFrame { .json(.services, onlineServices) }

    var linkFrame: EventFrame {
        switch link {
        case .connected: .json(.bus, Link(connected: true, since: nil))
        case .away(let since): .json(.bus, Link(connected: false, since: since))
        }
    }

    /// The server's clock, for a browser's, and the version, by which a page finds that it is of an earlier one.
    /// Streams share the one of a moment.
    mutating func beatFrame(_ now: Moment) -> EventFrame {
        if let newestBeat, newestBeat.at == now { return newestBeat.frame }
        let frame = EventFrame.json(.beat, Beat(now: now.wallClock, version: version))
        newestBeat = (now, frame)
        return frame
    }

    private struct Beat: Encodable {
        let now: Timestamp
        let version: String?
    }

    private struct Link: Encodable {
        let connected: Bool
        let since: Timestamp?
    }
}
