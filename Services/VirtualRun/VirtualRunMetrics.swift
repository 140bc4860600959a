import Bus
import Metrics
import ServiceKit
import Workouts

/// The service's Prometheus metrics.
struct VirtualRunMetrics {
    private static let prefix = "pacebus_virtual_run_"

    private let factory: PrometheusMetrics
    private let messages: Counter
    private let partners: RisingCounter
    private let prompts: RisingCounter
    private let corrupt: RisingCounter
    private let lag: Timer

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe(Self.help)
        factory.begin(Self.prefix + "rejected_total", "reason", Rejection.reasons)
        messages = Counter(label: Self.prefix + "messages_total", factory: factory)
        partners = RisingCounter(Self.prefix + "partners_total", factory)
        prompts = RisingCounter(Self.prefix + "prompts_total", factory)
        corrupt = RisingCounter(Self.prefix + "corrupt_total", factory)
        lag = Timer(label: Self.prefix + "lag_seconds", factory: factory)
    }

    func received(_ count: Int) {
        messages.increment(by: count)
    }

    func rejected(_ reason: String) {
        count("rejected_total", "reason", reason)
    }

    func answered(_ refusal: Refusal?) {
        count("requests_total", "outcome", refusal?.code ?? "accepted")
    }

    func published(late lags: [Double]) {
        for seconds in lags { lag.record(duration: .microseconds(Int64(seconds * 1e6))) }
    }

    func show(_ machine: VirtualRunMachine) {
        let statuses = Dictionary(grouping: machine.entries.values, by: \.run.status).mapValues(\.count)
        for status in RunStatus.allCases { meter("runs", "status", status.rawValue).set(statuses[status, default: 0]) }
        var links: [RunLink: Int] = [:]
        for entry in machine.entries.values where entry.run.status == .running {
            for link in entry.live.links { links[link, default: 0] += 1 }
        }
        for link in RunLink.allCases { meter("runners", "link", link.rawValue).set(links[link, default: 0]) }
        partners.rise(to: machine.counts.partners)
        prompts.rise(to: machine.counts.prompts)
        corrupt.rise(to: machine.counts.corrupt)
    }

    private func count(_ name: String, _ label: String, _ value: String) {
        Counter(label: Self.prefix + name, dimensions: [(label, value)], factory: factory).increment()
    }

    private func meter(_ name: String, _ label: String, _ value: String) -> Meter {
        Meter(label: Self.prefix + name, dimensions: [(label, value)], factory: factory)
    }

    private static let help = [
        prefix + "corrupt_total": "Finished sessions whose rows cannot be read.",
        prefix + "messages_total": "Messages handled.",
        prefix + "rejected_total": "Payloads rejected as invalid, by reason.",
        prefix + "requests_total": "Requests by outcome: accepted, or the code of the refusal.",
        prefix + "partners_total": "Messages of partners published.",
        prefix + "prompts_total": "Prompts that all partners are lost.",
        prefix + "runs": "Runs in memory by status.",
        prefix + "runners": "Runners of running runs by link.",
        prefix + "lag_seconds": "Time from a due output or its batch until it is published, in seconds.",
    ]
}
