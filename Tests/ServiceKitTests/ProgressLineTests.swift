import ServiceKit
import Testing
import Workouts

@Suite struct ProgressLineTests {
    @Test func `a terminal rewrites the line, other outputs get a line every 5 s`() {
        let now = Timestamp(seconds: 1_700_000_000)
        var line = ProgressLine(isInteractive: true)
        #expect(line.update("one", now) == "\r\u{1B}[Kone")
        #expect(line.update("two", now + 0.1) == nil)
        #expect(line.update("two", now + 0.2) == "\r\u{1B}[Ktwo")
        #expect(line.remark("said") == "\r\u{1B}[Ksaid\n")
        #expect(line.finish() == "")

        var log = ProgressLine(isInteractive: false)
        #expect(log.update("one", now) == "one\n")
        #expect(log.update("two", now + 4.9) == nil)
        #expect(log.update("two", now + 5) == "two\n")
        #expect(log.remark("said") == "said\n")
        #expect(log.finish() == "")
    }
}
