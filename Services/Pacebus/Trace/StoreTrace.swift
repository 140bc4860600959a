import Foundation
import ServiceKit
import Storage
import Workouts

/// Reads what the stores of all services have of one session.
///
/// The records are JSON of the services' own. A field that a service renames or omits is missing from the story.
struct StoreTrace {
    typealias Record = [String: Any]

    /// Opens the store of a service.
    let open: (_ service: String) throws(StoreError) -> StoreReader
    private(set) var story: Story

    init(_ session: SessionID, open: @escaping (_ service: String) throws(StoreError) -> StoreReader) {
        self.open = open
        story = Story(session: session)
    }

    mutating func run() {
        let session = "\(story.session)"
        // The stream services have each session in its own shard; session-engine has it in its user's.
        for service in ["metrics-aggregator", "route-builder"] {
            read(service) { trace, store throws(StoreError) in
                for record in try store.records(
                    in: StoreCollection("sessions"), named: session, shard: trace.story.session.shard)
                {
                    trace.setUser(record.key)
                    trace.takeSummary(record)
                }
            }
        }
        read("session-engine") { trace, store throws(StoreError) in
            if trace.story.user == nil {
                let found =
                    try store.records(in: StoreCollection("history"), named: session)
                    + store.records(in: StoreCollection("sessions"), named: session)
                if let first = found.first { trace.setUser(first.key) }
            }
            guard let user = trace.story.user else { return }
            let folder = StoreFolder(shard: user.shard, path: "\(user)/\(session)")
            for collection in [StoreCollection("history"), StoreCollection("sessions")] {
                for record in try store.records(in: collection, of: folder) { trace.takeSession(record) }
            }
            for record in try store.records(in: StoreCollection("replies"), of: folder) { trace.takeReply(record) }
        }
        guard let user = story.user else { return }
        let folder = StoreFolder(shard: story.session.shard, path: "\(user)/\(session)")
        read("exporter") { trace, store throws(StoreError) in
            for record in try store.records(in: StoreCollection("exports"), of: folder) { trace.takeExports(record) }
        }
        read("live-activity-publisher") { trace, store throws(StoreError) in
            for record in try store.records(in: StoreCollection("activities"), of: folder) {
                trace.takeActivity(record)
            }
        }
    }

    private mutating func read(
        _ service: String, _ body: (inout StoreTrace, StoreReader) throws(StoreError) -> Void
    ) {
        do throws(StoreError) {
            let store = try open(service)
            try body(&self, store)
        } catch {
            story.unread.append("\(service): \(error)")
        }
    }

    private mutating func setUser(_ key: String) {
        story.user = story.user ?? key.split(separator: "/").first.flatMap { User(String($0)) }
    }

    // MARK: Records

    private func decode(_ record: StoreRecord) -> Record {
        (try? JSONSerialization.jsonObject(with: Data(record.value))) as? Record ?? [:]
    }

    private static func time(_ value: Any?) -> Timestamp? {
        (value as? Double).map { Timestamp(seconds: $0) }
    }

    /// Revisions are milliseconds of the clock, unless the clock stepped backwards.
    private static func time(revision: Any?) -> Timestamp? {
        (revision as? Int64).map { Timestamp(seconds: Double($0) / 1_000) }
    }

    private mutating func add(_ at: Timestamp?, _ service: String, _ text: String, _ details: [String: Any?] = [:]) {
        guard let at else { return }
        let shown = details.compactMapValues { $0.map { "\($0)" } }
        story.events.append(Story.Event(at: at, service: service, source: .store, text: text, details: shown))
    }

    private mutating func takeSummary(_ record: StoreRecord) {
        let record = decode(record)
        let report = record["report"] as? Record
        story.status = (record["state"] as? Record)?["status"] as? String ?? story.status
        for (stream, count) in report?["next"] as? [String: Int] ?? [:] {
            story.update(stream) { $0.summarized = count }
        }
        for (device, skew) in record["skews"] as? [String: Double] ?? [:] {
            for stream in story.streams where stream.name.hasSuffix("/\(device)") {
                story.update(stream.name) { $0.clockSkew = skew }
            }
        }
    }

    private mutating func takeSession(_ record: StoreRecord) {
        let record = decode(record)
        guard let session = record["session"] as? Record else { return }
        story.name = session["name"] as? String
        let status = session["status"]
        let name = status as? String ?? (status as? Record)?.keys.first
        // Of an unfinished session the other services have the status that it showed last.
        if name != "unfinished" || story.status == nil { story.status = name }
        story.revision = record["revision"] as? Int64
        story.startedAt = Self.time((record["workout"] as? Record)?["startedAt"])
        for (stream, count) in session["streams"] as? [String: Int] ?? [:] {
            story.update(stream) { $0.announced = count }
        }
        if name == "unfinished" {
            story.hasEnd = false
            add(
                Self.time(record["newest"]), "session-engine", "newest item, updated every 5 minutes",
                ["samples": record["itemCount"], "locations": record["locationCount"]])
        }
        let report = record["report"] as? Record
        add(
            Self.time(revision: report?["revision"]), "metrics-aggregator", "last summary",
            ["revision": report?["revision"], "distance": report?["distance"], "route": report?["route"]])
        let route = record["route"] as? Record
        add(
            Self.time(revision: route?["revision"]), "route-builder", "last summary",
            ["revision": route?["revision"], "distance": route?["distance"]])
        let workout = record["workout"] as? Record
        let isIncomplete = workout?["incomplete"] as? Bool == true
        add(
            Self.time(revision: workout?["revision"]), "session-engine",
            isIncomplete ? "last record, incomplete" : "last record", ["revision": workout?["revision"]])
    }

    private mutating func takeReply(_ record: StoreRecord) {
        let reply = decode(record)
        let at = Self.time(reply["at"])
        add(
            Self.time(reply["now"]), "session-engine", "command accepted",
            [
                "command": reply["id"], "revision": reply["revision"],
                "effect": at.map { Date(timeIntervalSince1970: $0.seconds).formatted(.iso8601) },
            ])
    }

    private mutating func takeExports(_ record: StoreRecord) {
        for job in decode(record)["jobs"] as? [Record] ?? [] {
            var export = Story.Export(
                target: job["target"] as? String ?? "?", status: job["status"] as? String ?? "?",
                attempts: job["attempts"] as? Int ?? 0)
            export.nextAttempt = Self.time(job["nextAttemptAt"])
            export.reason = job["reason"] as? String
            export.files = job["files"] as? [String] ?? []
            story.exports.append(export)
            add(
                Self.time(revision: job["revision"]), "exporter", "export \(export.status)",
                ["target": export.target, "attempts": export.attempts, "reason": export.reason])
        }
    }

    private mutating func takeActivity(_ record: StoreRecord) {
        let record = decode(record)
        let status = record["status"] as? String ?? (record["status"] as? Record)?["status"] as? String
        add(
            Self.time(record["changedAt"]), "live-activity-publisher", "activity \(status ?? "registered")",
            ["devices": (record["devices"] as? [Any])?.count, "reason": record["reason"]])
    }
}
