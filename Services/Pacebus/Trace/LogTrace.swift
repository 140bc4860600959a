import Foundation
import Workouts

/// Finds the lines of logs about one session, as text or as JSON; of journald, with `--output=cat`.
struct LogTrace {
    /// In bytes.
    private static let lineLimit = 1 << 20

    private let wanted: String

    init(_ session: SessionID) {
        wanted = "\(session)"
    }

    /// The events in a log, read part by part: a journal may be larger than the memory.
    func events(in log: FileHandle) throws -> [Story.Event] {
        var events: [Story.Event] = []
        var rest = Data()
        while let part = try log.read(upToCount: 4 << 20), !part.isEmpty {
            rest += part
            let end = rest.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.startIndex
            events += self.events(in: rest[..<end])
            rest = Data(rest[end...].suffix(Self.lineLimit))
        }
        return events + self.events(in: rest)
    }

    /// The events in lines. Those that are none of ours are skipped.
    func events(in log: Data) -> [Story.Event] {
        var events: [Story.Event] = []
        var start = log.startIndex
        let name = Data(wanted.utf8)
        // Most lines are about others: search the whole for the name, then cut out its line.
        while let found = log.range(of: name, in: start..<log.endIndex) {
            let begin = log[start..<found.lowerBound].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? start
            let end = log[found.upperBound...].firstIndex(of: UInt8(ascii: "\n")) ?? log.endIndex
            if let event = event(String(decoding: log[begin..<end], as: UTF8.self)) { events.append(event) }
            start = end
        }
        return events
    }

    func event(_ line: String) -> Story.Event? {
        line.first == "{" ? jsonEvent(line) : textEvent(line)
    }

    private func jsonEvent(_ line: String) -> Story.Event? {
        guard let object = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any],
            let at = Self.time(object["time"] as? String), let label = object["label"] as? String,
            let message = object["message"] as? String
        else { return nil }
        let metadata = object["metadata"] as? [String: Any] ?? [:]
        return event(at, label, object["level"] as? String, message, metadata.mapValues { "\($0)" })
    }

    /// `TIME LEVEL LABEL: message key=value key="value with spaces"`.
    private func textEvent(_ line: String) -> Story.Event? {
        let parts = line.split(separator: " ", maxSplits: 3)
        guard parts.count == 4, let at = Self.time(String(parts[0])), parts[2].hasSuffix(":") else { return nil }
        // Words with an equals sign are pairs; a value in quotes goes on until its end.
        var (message, metadata, open): ([Substring], [String: String], String?) = ([], [:], nil)
        for word in parts[3].split(separator: " ", omittingEmptySubsequences: false) {
            if let key = open {
                metadata[key, default: ""] += " " + word
            } else if let equals = word.firstIndex(of: "="), equals > word.startIndex {
                metadata[String(word[..<equals])] = String(word[word.index(after: equals)...])
                open = word[word.index(after: equals)...].hasPrefix("\"") ? String(word[..<equals]) : nil
                if let key = open, metadata[key] == "\"" { continue }
            } else {
                message.append(word)
            }
            // A quote after an odd number of backslashes belongs to the value.
            if word.last == "\"", word.dropLast().reversed().prefix(while: { $0 == "\\" }).count % 2 == 0 { open = nil }
        }
        let values = metadata.mapValues { $0.hasPrefix("\"") ? String($0.dropFirst().dropLast()) : $0 }
        return event(at, String(parts[2].dropLast()), String(parts[1]), message.joined(separator: " "), values)
    }

    private func event(
        _ at: Timestamp, _ label: String, _ level: String?, _ text: String, _ metadata: [String: String]
    ) -> Story.Event? {
        // A line of another session may quote this one.
        guard metadata["session"] == wanted else { return nil }
        // The story has one session and one user.
        let details = metadata.filter { !["session", "user"].contains($0.key) }
        return Story.Event(at: at, service: label, source: .log, level: level, text: text, details: details)
    }

    private static func time(_ text: String?) -> Timestamp? {
        guard let text,
            let date = try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        else { return nil }
        return Timestamp(seconds: date.timeIntervalSince1970)
    }
}

extension Story {
    /// Adds events of logs. A command that the store has too is one event, of which the log knows the type.
    mutating func add(_ logged: [Event]) {
        for event in logged {
            // What was refused first may be accepted later, under the same id.
            let known = (event.text == "command accepted" ? event.details["command"] : nil).flatMap { command in
                events.firstIndex { $0.source == .store && $0.details["command"] == command }
            }
            guard let known else {
                events.append(event)
                continue
            }
            events[known].details.merge(event.details) { $1 }
        }
    }
}
