import Foundation
import Workouts

/// One workout, read from the stores and logs of all services.
struct Story: Encodable {
    /// Something that happened, in a store or in a line of a log.
    struct Event: Encodable {
        enum Source: String, Encodable {
            case store, log
        }

        let at: Timestamp
        let service: String
        let source: Source
        var level: String?
        let text: String
        /// What varies: ids, revisions, reasons.
        var details: [String: String] = [:]
    }

    /// The items of one kind from one device.
    struct Stream: Encodable {
        let name: String
        /// The number that the end of the session announced.
        var announced: Int?
        /// The number in the last summary.
        var summarized: Int?
        /// The seconds by which the device's clock is ahead, if it is off.
        var clockSkew: Double?

        /// What is known to be missing.
        var missing: Int { max(0, (announced ?? 0) - (summarized ?? 0)) }
    }

    struct Export: Encodable {
        let target: String
        let status: String
        var attempts = 0
        var nextAttempt: Timestamp?
        var reason: String?
        var files: [String] = []
    }

    let session: SessionID
    var user: User?
    var name: String?
    var status: String?
    var startedAt: Timestamp?
    var revision: Int64?
    /// Whether the device has ended the session, as far as the stores know.
    var hasEnd = true
    var events: [Event] = []
    var streams: [Stream] = []
    var exports: [Export] = []
    /// Stores and logs that could not be read, each with the reason.
    var unread: [String] = []

    /// Whether anything is known of the session.
    var isKnown: Bool { user != nil || !events.isEmpty }

    mutating func sort() {
        // Equal times keep the order of their sources.
        events = events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
        streams.sort { $0.name < $1.name }
    }

    mutating func update(_ stream: String, _ change: (inout Stream) -> Void) {
        let index = streams.firstIndex { $0.name == stream }
        var changed = index.map { streams[$0] } ?? Stream(name: stream)
        change(&changed)
        if let index { streams[index] = changed } else { streams.append(changed) }
    }
}

extension Story {
    /// For people. Times are in UTC, as in the logs.
    var text: String {
        var lines = [
            [name ?? "Session", "\(session)", user.map { "of \($0)" }, status].compactMap(\.self)
                .joined(separator: " ")
        ]
        if let startedAt { lines.append("Started \(Self.time(startedAt)), revision \(revision ?? 0)") }
        if !hasEnd { lines.append("No end has arrived: the device still records, or keeps the rest until it connects") }
        lines += unread.map { "Not read: \($0)" }
        lines.append("")
        let width = events.map(\.service.count).max() ?? 0
        for event in events {
            let service = event.service.padding(toLength: width, withPad: " ", startingAt: 0)
            let details = event.details.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            let level = event.level.flatMap { ["info", "debug", "trace"].contains($0) ? nil : "\($0.uppercased()) " }
            lines.append("\(Self.time(event.at))  \(service)  \(level ?? "")\(event.text)\(details)")
        }
        if !streams.isEmpty { lines += ["", "Items"] + streams.map(Self.line) }
        if !exports.isEmpty { lines += ["", "Exports"] + exports.map(Self.line) }
        // People choose the names of workouts, and devices what is logged of their payloads.
        return lines.map { $0.escapingControlCharacters() }.joined(separator: "\n")
    }

    static func time(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: time.seconds).formatted(
            Date.ISO8601FormatStyle(dateTimeSeparator: .space, includingFractionalSeconds: true))
    }

    private static func line(_ stream: Stream) -> String {
        var parts = [stream.name]
        if let announced = stream.announced { parts.append("\(announced) announced") }
        parts.append("\(stream.summarized ?? 0) in the summary")
        if stream.missing > 0 { parts.append("\(stream.missing) MISSING") }
        if let skew = stream.clockSkew { parts.append("clock \(skew) s \(skew < 0 ? "behind" : "ahead")") }
        return "  " + parts.joined(separator: ", ")
    }

    private static func line(_ export: Export) -> String {
        var parts = ["\(export.target): \(export.status)"]
        if export.attempts > 0 { parts.append("\(export.attempts) attempts") }
        if let next = export.nextAttempt { parts.append("next \(time(next))") }
        if let reason = export.reason { parts.append(reason) }
        return "  " + (parts + export.files).joined(separator: ", ")
    }
}
