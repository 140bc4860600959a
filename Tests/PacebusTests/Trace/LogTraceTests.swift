import Foundation
import TestSupport
import Testing
import Workouts

@testable import Pacebus

struct LogTraceTests {
    private let session = SessionID("2e4dfd9d-19da-5273-bf83-7c963cfa89a9")!

    @Test func `lines of text and of JSON are the same event`() throws {
        let text = """
            2026-11-28T17:00:41.255Z info session-engine: starting version=0.1.0
            2026-11-28T17:00:53.970Z info session-engine: command refused action=pause command=c1 \
            reason="not running" session=\(session) user=demo
            2026-11-28T17:00:54.000Z info session-engine: sessions loaded count=0
            """
        let json = """
            {"label":"session-engine","level":"info","message":"command refused","metadata":{"action":"pause",\
            "command":"c1","reason":"not running","session":"\(session)","user":"demo"},"time":"2026-11-28T17:00:53.970Z"}

            """
        let found = LogTrace(session).events(in: Data("\(text)\n\(json)".utf8))
        try #require(found.count == 2)
        for event in found {
            #expect(event.text == "command refused" && event.service == "session-engine" && event.level == "info")
            #expect(event.details == ["action": "pause", "command": "c1", "reason": "not running"])
            #expect(abs(event.at.seconds - 1_795_885_253.97) < 0.001)
        }
    }

    @Test func `a line of another session that quotes this one is not of its story`() {
        let line = """
            2026-11-28T17:00:53.970Z info session-engine: payload rejected reason=bad_topic \
            topic=pacebus/v1/a9/eve/\(session)/Command user=eve

            """
        #expect(LogTrace(session).events(in: Data(line.utf8)).isEmpty)
    }

    @Test func `a value that ends with a backslash ends at its quote`() {
        let line =
            #"2026-11-28T17:00:53.970Z info session-engine: payload rejected error="a b\\" session="# + "\(session)\n"
        #expect(LogTrace(session).events(in: Data(line.utf8)).map(\.details) == [["error": "a b\\\\"]])
    }

    @Test func `a log is read in parts, and lines that cross them are whole`() throws {
        let folder = try TemporaryFolder()
        let line = "2026-11-28T17:00:53.970Z info exporter: workout exported session=\(session) target=folder\n"
        let other = "2026-11-28T17:00:53.970Z info exporter: exports loaded count=0\n"
        let text = String(repeating: other, count: 70_000) + line + String(repeating: other, count: 70_000) + line
        try Data(text.utf8).write(to: URL(filePath: folder.file("log")))
        let log = try FileHandle(forReadingFrom: URL(filePath: folder.file("log")))
        #expect(try LogTrace(session).events(in: log).map(\.details) == [["target": "folder"], ["target": "folder"]])
    }

    @Test(arguments: ["", "no time", "{", "{}", "2026-11-28T17:00:53.970Z info", "yesterday info engine: text"])
    func `other lines with the session are skipped`(start: String) {
        #expect(LogTrace(session).events(in: Data("\(start) \(session)\n\n".utf8)).isEmpty)
    }

    @Test func `a command in store and log is one event`() {
        var story = Story(session: session)
        let at = Timestamp(seconds: 1)
        story.events = [
            Story.Event(
                at: at, service: "session-engine", source: .store, text: "command accepted",
                details: ["command": "c1", "revision": "5"])
        ]
        story.add([
            Story.Event(
                at: at, service: "session-engine", source: .log, text: "command accepted",
                details: ["command": "c1", "action": "pause"]),
            Story.Event(
                at: at, service: "exporter", source: .log, text: "workout exported", details: ["target": "folder"]),
        ])
        let refused = Story.Event(
            at: at, service: "session-engine", source: .log, text: "command refused", details: ["command": "c1"])
        story.add([refused])
        #expect(story.events.map(\.text) == ["command accepted", "workout exported", "command refused"])
        #expect(story.events[0].details == ["command": "c1", "revision": "5", "action": "pause"])
    }
}
