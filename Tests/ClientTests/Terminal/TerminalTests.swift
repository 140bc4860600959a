import Client
import ServiceKit
import TestSupport
import Testing
import Workouts

@Suite struct ProgressLineTests {
    @Test func `a terminal rewrites the line, other outputs get a line every 5 s`() {
        let now = Moment(Timestamp(seconds: 1_700_000_000))
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

@Suite struct TextTests {
    @Test func `values are printed with units`() {
        #expect(Text.distance(732.76) == "733 m")
        #expect(Text.distance(4_922.7) == "4.92 km")
        #expect(Text.duration(59.6) == "1:00")
        #expect(Text.duration(1_440) == "24:00")
        #expect(Text.duration(6_254) == "1:44:14")
        #expect(Text.pace(345) == "5:45 /km")
        #expect(Text.heartRate(136.6) == "137 bpm")
    }
}
