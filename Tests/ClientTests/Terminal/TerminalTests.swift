import Bus
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

@Suite struct TerminalTests {
    /// Clears the screen in three ways, moves the cursor, and reverses the text behind it.
    private static let attack = "\u{1B}[2J\u{9B}2J\u{7}\u{7F}\r\u{1B}[K\u{202E}name"
    private static let escaped = #"\u{1B}[2J\u{009B}2J\u{07}\u{7F}\r\u{1B}[K\u{202E}name"#

    @Test func `control characters of other accounts are escaped in results, remarks and progress`() {
        let recorder = TerminalRecorder()
        recorder.terminal.output("\(Self.attack)\n")
        recorder.terminal.status("\(Self.attack)\n")
        var line = ProgressLine(isInteractive: false)
        recorder.terminal.progress(line.remark(Self.attack))
        recorder.terminal.progress(line.update(Self.attack, Moment(Timestamp(seconds: 0))) ?? "none")
        #expect(recorder.text == String(repeating: Self.escaped + "\n", count: 4))
    }

    @Test func `a line that a terminal overwrites holds no control characters but its own`() {
        var line = ProgressLine(isInteractive: true)
        let text = line.update(Self.attack, Moment(Timestamp(seconds: 0)), isCut: true)
        #expect(text == "\r\u{1B}[K\u{1B}[?7l\(Self.escaped)\u{1B}[?7h")
        #expect(line.remark("a\nb") == "\r\u{1B}[Ka\\nb\n")
    }

    @Test func `other characters are printed as they are`() {
        let text = "Läufe · 走る 👨‍👩‍👧 e\u{301} עברית\n"
        let recorder = TerminalRecorder()
        recorder.terminal.output(text)
        #expect(recorder.text == text)
    }
}

@Suite struct TextTests {
    @Test func `values are printed with units`() {
        #expect(Text.distance(732.76) == "733 m")
        #expect(Text.distance(4_922.7) == "4.92 km")
        #expect(Text.duration(59.6) == "1:00")
        #expect(Text.duration(1_440) == "24:00")
        #expect(Text.duration(6_254) == "1:44:14")
        #expect([0.44, 9.94, 9.95, 37.4].map(Text.behind) == ["+0:00.4", "+0:09.9", "+0:10", "+0:37"])
        #expect(Text.pace(345) == "5:45 /km")
        #expect(Text.pace(1_050, .swimming) == "1:45 /100 m")
        #expect(Text.heartRate(136.6) == "137 bpm")
    }

    @Test func `an announcement says what is known`() throws {
        let at = Timestamp(seconds: 1_700_000_000)
        var split = Announcement(.split, at: at, number: 3)
        #expect(Text.announcement(split) == "Kilometer 3")
        (split.duration, split.averageHeartRate) = (271, 148)
        #expect(Text.announcement(split) == "Kilometer 3 in 4:31, 148 bpm")
        split.unit = .mile
        #expect(Text.announcement(split) == "Mile 3 in 4:31, 148 bpm")
        var lap = Announcement(.lap, at: at, number: 2)
        #expect(Text.announcement(lap) == "Lap 2")
        (lap.distance, lap.duration, lap.pace, lap.averageHeartRate) = (400, 100, 250, 160.4)
        #expect(Text.announcement(lap) == "Lap 2: 400 m in 1:40, 4:10 /km, 160 bpm")
        #expect(Text.announcement(lap, .swimming) == "Lap 2: 400 m in 1:40, 0:25 /100 m, 160 bpm")
        var skew = Announcement(.clockSkew, at: at)
        #expect(Text.announcement(skew) == nil)
        (skew.device, skew.seconds) = (Device("strap-1"), -181.2)
        #expect(Text.announcement(skew) == "the strap's clock is 181 s off")
        #expect(Text.announcement(Announcement(.warning, at: at, text: "disk full")) == "warning: disk full")
        #expect(Text.announcement(Announcement(.interval, at: at, text: "Rest")) == "Rest")
    }
}
