import Bus
import Foundation
import Workouts

/// All that changes on the operator page, as texts: the page's template and the event of its stream have the same. Times are in
/// UTC, as in logs.
struct OperatorContent: Encodable, Equatable, Sendable {
    struct Count: Encodable, Equatable, Sendable {
        let label: String
        let number: String
        /// The address with the filter that shows them.
        let path: String
        let isTrouble: Bool
    }

    struct Service: Encodable, Equatable, Sendable {
        let name: String
        let isOnline: Bool
        let text: String
        /// The first of them, those that are online before others.
        var replicas: [String]
    }

    struct Figure: Encodable, Equatable, Sendable {
        let label: String
        let text: String
    }

    struct Rejected: Encodable, Equatable, Sendable {
        let time: String
        let service: String
        let topic: String
        let reason: String
    }

    struct Row: Encodable, Equatable, Sendable {
        let path: String
        let user: String
        let activity: String
        let status: String
        /// As the live page marks it.
        let signal: String
        let age: Formatting.Value
        let duration: Formatting.Value
        let distance: Formatting.Value
        let heartRate: Formatting.Value
    }

    /// The services, and the replicas of each, that are listed.
    static let serviceLimit = 20
    static let replicaLimit = 4

    let asOf: String
    /// One line about what needs attention, such as silent sessions and services that are offline.
    let headline: String
    let isTrouble: Bool
    let counts: [Count]
    let services: [Service]
    let figures: [Figure]
    let rejectedText: String
    let rejected: [Rejected]
    /// How many sessions the table shows of how many.
    let shown: String
    let rows: [Row]

    init(_ overview: Overview, units: Units, now: Timestamp) {
        let (table, news) = (overview.table, overview.news)
        asOf = Self.time(now)
        let online = overview.services.mapValues { $0.values.contains(where: \.isOnline) }
        let offline = online.filter { !$0.value }.keys.sorted()
        headline = Self.headline(table, offline: offline, areServicesKnown: !online.isEmpty, overview.link)
        isTrouble =
            table.silent + table.stuckSaving + offline.count > 0 || online.isEmpty || overview.link != .connected
        counts = Self.counts(table)
        services = overview.services.sorted { $0.key < $1.key }.prefix(Self.serviceLimit).map(Service.init)
        figures = BrokerNews.figures(news)
        let since = news.since.map { "since \(Self.time($0))" }
        rejectedText =
            since.map { news.rejectedCount == 0 ? "None \($0)." : "\(Self.number(news.rejectedCount)) \($0)." }
            ?? "Not connected as the operator yet."
        rejected = news.rejected.map {
            Rejected(time: Self.time($0.at), service: $0.service, topic: $0.topic, reason: $0.reason)
        }
        shown =
            table.matches > table.rows.count
            ? "The first \(table.rows.count) of \(Self.number(table.matches)) sessions"
            : table.matches == 1 ? "1 session" : "\(Self.number(table.matches)) sessions"
        rows = zip(table.rows, overview.frames).map { Row($0, $1.state, $1.metrics, units: units, now: now) }
    }

    /// `3 sessions silent for over a minute; all services online.`
    private static func headline(
        _ table: OperatorTable, offline: [String], areServicesKnown: Bool, _ link: BrokerLink
    ) -> String {
        if case .away(let since) = link { return "No connection to the broker since \(time(since))." }
        func sessions(_ count: Int) -> String { count == 1 ? "1 session" : "\(number(count)) sessions" }
        var parts = [table.silent == 0 ? "No session silent" : "\(sessions(table.silent)) silent for over a minute"]
        if table.stuckSaving > 0 { parts.append("\(sessions(table.stuckSaving)) saving for over a minute") }
        switch (areServicesKnown, offline.count) {
        case (false, _): parts.append("no service known yet")
        case (_, 0): parts.append("all services online")
        case (_, ...3): parts.append("\(offline.joined(separator: ", ")) offline")
        default: parts.append("\(offline.count) services offline")
        }
        return parts.joined(separator: "; ") + "."
    }

    private static func counts(_ table: OperatorTable) -> [Count] {
        func count(_ label: String, _ number: Int, _ filter: OperatorView.Filter, isTrouble: Bool = false) -> Count {
            Count(
                label: label, number: Self.number(number),
                path: "/operator" + (filter.rawValue.isEmpty ? "" : "?status=\(filter.rawValue)"), isTrouble: isTrouble)
        }
        let statuses: [SessionStatus] = [.active, .paused, .suspended, .preparing, .saving, .completed, .canceled]
        return [count("Silent", table.silent, .silent, isTrouble: table.silent > 0)]
            + statuses.map { status in
                count(
                    status.title, table.counts[status] ?? 0,
                    OperatorView.Filter(rawValue: status.rawValue) ?? .unfinished,
                    isTrouble: status == .saving && table.stuckSaving > 0)
            }
    }

    /// `12:01:07 UTC`.
    static func time(_ time: Timestamp) -> String { Formatting.timeOfDay(time, zone: nil) + " UTC" }

    static func number(_ count: Int) -> String { Formatting().count(Double(count)).number }
}

extension OperatorContent.Service {
    fileprivate init(_ name: String, _ processes: [ProcessName: Hub.Process]) {
        self.name = name
        isOnline = processes.values.contains(where: \.isOnline)
        let online = processes.values.count(where: \.isOnline)
        text = isOnline ? (online == 1 ? "Online" : "Online, \(online) replicas") : "Offline"
        replicas = processes.sorted { ($0.value.isOnline ? 0 : 1, $0.key) < ($1.value.isOnline ? 0 : 1, $1.key) }
            .prefix(OperatorContent.replicaLimit).map { "\($0.key): \($0.value.text)" }
        if processes.count > replicas.count { replicas.append("and \(processes.count - replicas.count) more") }
    }
}

extension Hub.Process {
    fileprivate var text: String {
        guard isOnline else {
            return "offline since \(OperatorContent.time(since))" + (isRetained ? " or earlier" : "")
        }
        let owned =
            switch shards {
            case nil: "online"
            case "none"?: "standby, no sessions"
            case "00-ff"?: "all sessions"
            case let shards?: "sessions of shards \(short(shards))"
            }
        return [owned, version.map { "version \(short($0))" }].compactMap(\.self).joined(separator: ", ")
    }

    private func short(_ text: String) -> String {
        let text = String(text.prefix(41)).escapingControlCharacters()
        return text.count > 40 ? text.prefix(40) + "…" : text
    }
}

extension BrokerNews {
    /// The figures that help an operator.
    fileprivate static func figures(_ news: BrokerNews) -> [OperatorContent.Figure] {
        /// Unknown is `--`, and never 0.
        func text(_ figure: Figure, _ format: (Double) -> String) -> String {
            news.figures[figure].map(format) ?? Formatting.Text.unknown.number
        }
        func count(_ value: Double) -> String { Formatting().count(value).number }
        func rate(_ value: Double) -> String { count(value / 60) }
        let queued = news.figures[.stored].flatMap { stored in news.figures[.retained].map { max(0, stored - $0) } }
        return [
            .init(label: "Clients", text: text(.clients, count)),
            .init(label: "Messages a second", text: "\(text(.messagesIn, rate)) in, \(text(.messagesOut, rate)) out"),
            .init(
                label: "Data a second",
                text: "\(text(.bytesIn) { bytes($0 / 60) }) in, \(text(.bytesOut) { bytes($0 / 60) }) out"),
            .init(label: "In queues", text: queued.map(count) ?? Formatting.Text.unknown.number),
            .init(label: "Dropped", text: text(.dropped, count)),
            .init(label: "Retained", text: text(.retained, count)),
            .init(label: "Heap", text: text(.heap, bytes)),
            .init(label: "Running for", text: text(.uptime) { Formatting.age($0) }),
        ]
    }

    /// `512 B`, `12.3 kB`.
    private static func bytes(_ count: Double) -> String {
        var (value, unit) = (max(0, count), "B")
        for larger in ["kB", "MB", "GB"] where value >= 1_000 { (value, unit) = (value / 1_000, larger) }
        return unit == "B" ? "\(Int(value)) B" : String(format: "%.1f \(unit)", value)
    }
}

extension Formatting {
    /// `42 s`, `1:42`, `1:05:07`, `2 d 5 h`.
    static func age(_ seconds: Double) -> String {
        let all = Int(min(max(0, seconds), 1e9))
        switch all {
        case ..<60: return "\(all) s"
        case ..<3_600: return String(format: "%d:%02d", all / 60, all % 60)
        case ..<86_400: return String(format: "%d:%02d:%02d", all / 3_600, all / 60 % 60, all % 60)
        default: return "\(all / 86_400) d \(all / 3_600 % 24) h"
        }
    }
}

extension OperatorContent.Row {
    fileprivate init(
        _ row: OperatorTable.Row, _ state: EventFrame?, _ metrics: EventFrame?, units: Units, now: Timestamp
    ) {
        let state = state.flatMap { try? SessionState($0.payload) }
        let metrics = metrics.flatMap { try? MetricsSnapshot($0.payload) }
        let format = Formatting(units: units, activity: state?.activity)
        let silence = max(0, now.seconds(since: row.since))
        user = "\(row.key.user)"
        path = "/live/\(user)/\(row.key.session)"
        activity = state?.activity.title ?? ""
        status = row.status?.title ?? ""
        let isActive = row.status == .active
        signal = !isActive ? (row.isStuck ? "silent" : "none") : Self.signal(row, silence)
        age = Formatting.Value(
            row.hasItems ? Formatting.age(silence) : isActive ? "No data yet" : Formatting.Text.unknown.number)
        let moment = state?.isLive == true ? now : metrics?.newest ?? now
        func value(_ text: Formatting.Text?) -> Formatting.Value { .init((text ?? .unknown).joined) }
        duration = value(state.map { format.duration($0.segments.activeDuration(at: moment)) })
        distance = value(metrics?.distance.map(format.distance))
        let isFresh = isActive && row.hasItems && silence < Self.silentAfter
        heartRate = value(metrics?.heartRate.flatMap { isFresh ? format.heartRate($0) : nil })
    }

    /// As in `session.js`.
    private static let weakAfter = 8.0
    static let silentAfter = 15.0

    private static func signal(_ row: OperatorTable.Row, _ silence: Double) -> String {
        guard row.hasItems else { return row.isStuck ? "silent" : "none" }
        return silence < weakAfter ? "live" : silence < silentAfter ? "weak" : "silent"
    }
}
