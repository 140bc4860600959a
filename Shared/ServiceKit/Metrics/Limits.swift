import CoreMetrics
package import Logging
import Synchronization
package import Workouts

/// Reports to operators which limits users reach: the counter `pacebus_limited_total{limit}`, and a warning with the user, at
/// most one a minute for each user and limit.
///
/// The warning counts what the user's limit stopped since the last one.
package final class Limits: Sendable {
    static let name = "pacebus_limited_total"
    /// The limits of the broker's plugin, as `plugin.c` names them.
    package static let ofBroker: [StaticString] = [
        "publish_rate", "deliveries", "offline_queue", "unread", "will", "qos_2", "subscriptions", "connections",
        "sessions", "client_id", "logins",
    ]
    /// The minimum seconds between two warnings about one user and limit.
    private static let interval = 60.0
    /// The maximum number of users and limits of one interval. Above it, the counter alone reports.
    static let memory = 5_000

    private struct Pair: Hashable {
        let user: User
        let limit: String
    }

    private struct Warning {
        let at: Moment
        var suppressed = 0
    }

    private struct State {
        /// Warnings of the current interval and of the one before.
        var recent: [Pair: Warning] = [:]
        var older: [Pair: Warning] = [:]
        var began: Moment?
        var begun: Set<String> = []

        /// The number to log; `nil` if the last warning is too recent.
        mutating func note(_ pair: Pair, _ count: Int, _ now: Moment) -> Int? {
            if now.seconds(since: began ?? now) >= Limits.interval { (older, recent, began) = (recent, [:], nil) }
            began = began ?? now
            var last = recent[pair] ?? older[pair]
            if let warned = last?.at, now.seconds(since: warned) < Limits.interval {
                last?.suppressed += count
                if recent[pair] == nil { older[pair] = last } else { recent[pair] = last }
                return nil
            }
            guard recent[pair] != nil || recent.count < Limits.memory else { return nil }
            recent[pair] = Warning(at: now)
            return count + (last?.suppressed ?? 0)
        }
    }

    private let state = Mutex(State())
    private let logger: Logger
    private let metrics: PrometheusMetrics

    package init(logger: Logger, metrics: PrometheusMetrics) {
        self.logger = logger
        self.metrics = metrics
        metrics.describe([
            Self.name: "Messages, items, commands and connections that exceeded a user's limit, by limit."
        ])
    }

    /// Begins the counters of limits at 0. Each limit must be named here before ``reached(_:by:at:count:)`` counts it.
    package func begin(_ limits: [StaticString]) {
        let names = limits.map { "\($0)" }
        state.withLock { $0.begun.formUnion(names) }
        metrics.begin(Self.name, "limit", names)
    }

    /// Counts that a limit stopped something of a user.
    ///
    /// - Parameters:
    ///   - limit: one that ``begin(_:)`` named, in `snake_case`: each is a series of the metric.
    ///   - count: how many messages, items or connections it stopped.
    package func reached(_ limit: StaticString, by user: User, at now: Moment, count: Int = 1) {
        Counter(label: Self.name, dimensions: [("limit", "\(limit)")], factory: metrics).increment(by: count)
        let pair = Pair(user: user, limit: "\(limit)")
        let total = state.withLock { state in
            assert(state.begun.contains(pair.limit), "begin(_:) does not name the limit")
            return state.note(pair, count, now)
        }
        guard let total else { return }
        logger.warning(
            "limit reached",
            metadata: [LogKey.limit: "\(limit)", LogKey.user: "\(user)", LogKey.count: "\(total)"])
    }

    /// The number of users and limits in memory.
    var remembered: Int { state.withLock { $0.recent.count + $0.older.count } }
}
