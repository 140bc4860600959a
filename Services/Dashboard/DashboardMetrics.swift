import Metrics
import ServiceKit

/// The service's Prometheus metrics.
struct DashboardMetrics {
    private static let prefix = "pacebus_dashboard_"

    private let factory: PrometheusMetrics
    private let messages: RisingCounter
    private let ignored: RisingCounter
    private let events: RisingCounter
    private let aborted: RisingCounter
    private let refused: RisingCounter
    private let streams: Meter
    private let sessions: Meter
    private let subscriptions: Meter
    private let logins: Meter
    private let loginsRefused: RisingCounter
    private let connections: Meter
    private let presses: Meter
    private let unreadable: RisingCounter

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe(Self.help)
        messages = RisingCounter(Self.prefix + "messages_total", factory)
        ignored = RisingCounter(Self.prefix + "ignored_total", factory)
        events = RisingCounter(Self.prefix + "events_total", factory)
        aborted = RisingCounter(Self.prefix + "streams_aborted_total", factory)
        refused = RisingCounter(Self.prefix + "streams_refused_total", factory)
        streams = Meter(label: Self.prefix + "streams", factory: factory)
        sessions = Meter(label: Self.prefix + "sessions", factory: factory)
        subscriptions = Meter(label: Self.prefix + "watched", factory: factory)
        logins = Meter(label: Self.prefix + "logins", factory: factory)
        loginsRefused = RisingCounter(Self.prefix + "logins_refused_total", factory)
        connections = Meter(label: Self.prefix + "person_connections", factory: factory)
        presses = Meter(label: Self.prefix + "pending_presses", factory: factory)
        unreadable = RisingCounter(Self.prefix + "unreadable_total", factory)
    }

    func rejected(_ reason: String) {
        Counter(label: Self.prefix + "rejected_total", dimensions: [("reason", reason)], factory: factory).increment()
    }

    func show(_ parts: DashboardParts) {
        let (counts, open, known, watched) = parts.hub.read { hub in
            (hub.counts, hub.streams.count, hub.sessions.values.reduce(0) { $0 + $1.count }, hub.needs.count)
        }
        messages.rise(to: counts.received)
        ignored.rise(to: counts.ignored)
        events.rise(to: counts.delivered)
        aborted.rise(to: counts.aborted)
        refused.rise(to: counts.refused)
        streams.set(open)
        sessions.set(known)
        subscriptions.set(watched)
        let (loggedIn, failures) = parts.logins.counts
        logins.set(loggedIn)
        loginsRefused.rise(to: failures)
        let (connected, pending, unread) = parts.connections.counts
        unreadable.rise(to: unread)
        connections.set(connected)
        presses.set(pending)
    }

    private static let help = [
        prefix + "events_total": "Events written to streams.",
        prefix + "ignored_total": "Messages with a revision that is not newer.",
        prefix + "logins": "Logins that are valid.",
        prefix + "logins_refused_total": "Attempts to log in with a wrong name or password.",
        prefix + "messages_total": "Messages received.",
        prefix + "pending_presses": "Commands and requests of persons without a reply.",
        prefix + "person_connections": "Connections with the rights of a person.",
        prefix + "rejected_total": "Payloads rejected as invalid, by reason.",
        prefix + "sessions": "Sessions in memory.",
        prefix + "streams": "Open event streams.",
        prefix + "streams_aborted_total": "Streams closed because the browser did not read.",
        prefix + "streams_refused_total": "Streams refused by a limit.",
        prefix + "unreadable_total": "Replies and plans on persons' connections that could not be read.",
        prefix + "watched": "Sessions, users and runs whose topics are subscribed to because a stream shows them.",
    ]
}
