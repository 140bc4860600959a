import Bus
import Metrics
import ServiceKit
import Workouts

/// The service's Prometheus metrics.
struct LiveActivityPublisherMetrics {
    private static let prefix = "pacebus_live_activity_"

    private let factory: PrometheusMetrics
    private let messages: Counter
    private let time: Timer
    private let inFlight: Meter
    private let sessions: Meter
    private let devices: Meter
    private let activities: [ActivityStatus.Status: Meter]

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe(Self.help)
        factory.begin(Self.prefix + "rejected_total", "reason", Rejection.reasons)
        for event in PushThrottle.Event.allCases.map({ "\($0)" }) + RunAlert.Kind.allCases.map(\.rawValue) {
            for outcome in ["delivered", "token_gone", "refused", "failed"] {
                let labels = [("event", event), ("outcome", outcome)]
                _ = Counter(label: Self.prefix + "pushes_total", dimensions: labels, factory: factory)
            }
        }
        messages = Counter(label: Self.prefix + "messages_total", factory: factory)
        time = Timer(label: Self.prefix + "push_seconds", factory: factory)
        inFlight = Meter(label: Self.prefix + "pushes_in_flight", factory: factory)
        sessions = Meter(label: Self.prefix + "sessions", factory: factory)
        devices = Meter(label: Self.prefix + "notification_devices", factory: factory)
        activities = Dictionary(
            uniqueKeysWithValues: ActivityStatus.Status.allCases.map { status in
                let dimensions = [("status", status.rawValue)]
                return (status, Meter(label: Self.prefix + "activities", dimensions: dimensions, factory: factory))
            })
    }

    func received(_ count: Int) {
        messages.increment(by: count)
    }

    func rejected(_ reason: String) {
        count("rejected_total", [("reason", reason)])
    }

    func ended(_ event: String, _ ended: EndedPush) {
        time.record(duration: ended.took)
        let outcome =
            switch ended.outcome {
            case .delivered: "delivered"
            case .tokenGone: "token_gone"
            case .refused: "refused"
            case .failed: "failed"
            }
        count("pushes_total", [("event", event), ("outcome", outcome)])
    }

    func show(inFlight count: Int) {
        inFlight.set(count)
    }

    func show(_ machine: LiveActivityPublisherMachine) {
        var counts: [ActivityStatus.Status: Int] = [:]
        for entry in machine.entries.values {
            for device in entry.record?.status?.devices ?? [] { counts[device.status, default: 0] += 1 }
        }
        for (status, meter) in activities { meter.set(counts[status] ?? 0) }
        sessions.set(machine.entries.count)
        devices.set(machine.notifications.deviceCount)
    }

    private func count(_ name: String, _ labels: [(String, String)]) {
        Counter(label: Self.prefix + name, dimensions: labels, factory: factory).increment()
    }

    private static let help = [
        prefix + "messages_total": "Messages handled.",
        prefix + "rejected_total": "Payloads rejected as invalid, by reason.",
        prefix + "pushes_total": "Pushes, by event (start, update, end; invitation, confirm) and outcome.",
        prefix + "push_seconds": "Duration of a push including retries, in seconds.",
        prefix + "pushes_in_flight": "Pushes in flight.",
        prefix + "sessions": "Sessions in memory, with and without devices.",
        prefix + "notification_devices": "Devices registered for notifications.",
        prefix + "activities": "Live Activities of the last 48 hours, by status.",
    ]
}
