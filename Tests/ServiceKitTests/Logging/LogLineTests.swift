import Foundation
import Logging
import Synchronization
import Testing
import Workouts

@testable import ServiceKit

@Suite struct LogLineTests {
    private func line(_ message: String, _ metadata: Logger.Metadata = [:]) -> LogLine {
        LogLine(
            time: Date(timeIntervalSince1970: 1_735_689_600.25), label: "engine", level: .warning, message: message,
            metadata: metadata)
    }

    @Test func `text has time, level, label, message and sorted metadata`() {
        let text = line("refused", [LogKey.user: "ann", LogKey.reason: "too late", LogKey.count: "\(3)"]).rendered(
            .text)
        #expect(text == "2025-01-01T00:00:00.250Z warning engine: refused count=3 reason=\"too late\" user=ann")
    }

    @Test func `json is one object with sorted keys`() {
        let text = line("refused", ["shards": ["00", "01"], "where": ["topic": "a/b"]]).rendered(.json)
        #expect(
            text
                == #"{"label":"engine","level":"warning","message":"refused","#
                + #""metadata":{"shards":["00","01"],"where":{"topic":"a/b"}},"time":"2025-01-01T00:00:00.250Z"}"#)
    }

    @Test(arguments: LogFormat.allCases) func `external text cannot start another line`(format: LogFormat) throws {
        let reason = "x\r\n2025 info fake\u{1b}[2J\u{7f}\u{9b}2J\u{2028}\u{202e}"
        let text = line("a\nb\u{9b}", [LogKey.reason: "\(reason)"]).rendered(format)
        #expect(!text.hasControlCharacters)
        if format == .json {
            let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            #expect((object["metadata"] as? [String: String])?[LogKey.reason] == reason)
        }
    }

    @Test func `external text cannot look like another key`() {
        #expect(line("m", ["a": #"1" user=eve"#]).rendered(.text).hasSuffix(#" a="1\" user=eve""#))
        #expect(line("m", ["a": #"a b\"#, "b": "c"]).rendered(.text).hasSuffix(#" a="a b\\" b=c"#))
        #expect(line("m", ["a": ""]).rendered(.text).hasSuffix(#" a="""#))
    }

    @Test func `the event's metadata overrides the logger's`() {
        let written = Mutex("")
        var logger = Logger(label: "engine") { label in
            LineLogHandler(label: label, level: .info, format: .text) { line in written.withLock { $0 += line } }
        }
        logger[metadataKey: LogKey.session] = "s1"
        logger[metadataKey: LogKey.user] = "ann"
        logger.info("opened", metadata: [LogKey.user: "eve"])
        logger.debug("not heard")
        let text = written.withLock { $0 }
        #expect(text.hasSuffix(" info engine: opened session=s1 user=eve\n"))
        #expect(text.count { $0 == "\n" } == 1)
    }
}
