import TestSupport
import Testing
import Workouts

@Suite struct RunnerDisplayTests {
    @Test func `a partner goes on with the last speed for 15 s`() {
        var display = RunnerDisplay()
        #expect(display.update(distance: 100, speed: 3, age: 1, link: .connected, passed: 1) == 106)
        #expect(display.update(distance: 100, speed: 3, age: 1, link: .connected, passed: 5) == 118)
        #expect(display.update(distance: 100, speed: 3, age: 1, link: .stale, passed: 60) == 145)
    }

    @Test func `a partner who is paused, lost or finished stands`() {
        for link in [RunLink.paused, .finished, .disconnected] {
            var display = RunnerDisplay()
            #expect(display.update(distance: 100, speed: 3, age: 1, link: link, passed: 4) == 100)
        }
        var display = RunnerDisplay()
        #expect(display.update(distance: 100, speed: 3, age: 15, link: .stale, passed: 0) == 145)
        #expect(display.update(distance: 100, speed: nil, age: 16, link: .disconnected, passed: 0) == 145)
    }

    @Test func `metres shrink only by a jump over 20 m`() {
        var display = RunnerDisplay()
        #expect(display.update(distance: 100, speed: 2, age: 0, link: .connected, passed: 10) == 120)
        #expect(display.update(distance: 100, speed: 0, age: 0, link: .connected, passed: 0) == 120)
        #expect(display.update(distance: 99.9, speed: 0, age: 0, link: .connected, passed: 0) == 99.9)
    }

    @Test func `unknown metres keep what is shown, and a clock that is behind takes none away`() {
        var display = RunnerDisplay()
        #expect(display.update(distance: nil, speed: nil, age: nil, link: .connected, passed: 0) == nil)
        #expect(display.update(distance: 50, speed: 3, age: nil, link: .connected, passed: -100) == 50)
        #expect(display.update(distance: nil, speed: nil, age: nil, link: .stale, passed: 0) == 50)
    }

    @Test func `whatever comes, metres never shrink by less than a jump`() {
        var random = SeededRandom()
        var display = RunnerDisplay()
        for _ in 0..<2_000 {
            let before = display.meters ?? 0
            let after = display.update(
                distance: Double.random(in: 0...500, using: &random), speed: Double.random(in: 0...6, using: &random),
                age: Double.random(in: 0...40, using: &random), link: RunLink.allCases.randomElement(using: &random)!,
                passed: Double.random(in: -5...60, using: &random))
            #expect(after.map { $0 >= before || before - $0 > RunnerDisplay.jump } ?? true)
        }
    }

    @Test func `the server's time is that of the shortest round trip of the last eight`() {
        var clock = ServerClock()
        #expect(clock.offset == nil)
        let start = Timestamp(seconds: 1_767_225_600)
        clock.add(sent: start, received: start + 0.1, server: start + 60.05)
        clock.add(sent: start, received: start + 4, server: start + 63)
        #expect(clock.offset.map { abs($0 - 60) < 1e-6 } == true)
        for _ in 0..<8 { clock.add(sent: start, received: start + 4, server: start + 63) }
        #expect(clock.offset.map { abs($0 - 61) < 1e-6 } == true)
    }
}
