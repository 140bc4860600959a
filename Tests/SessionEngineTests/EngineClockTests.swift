import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Sessions use event time, and the service's work uses its own clock.
struct EngineClockTests {
    private var solo = SoloMachine()
    /// 12 May 2013, more than ten years earlier.
    private let past = -331_000_000.0

    @Test mutating func `a command without a time counts at the engine's clock`() {
        solo.perform(.start(SessionStart(activity: .running, countdown: 0)), at: nil, now: 5)
        solo.perform(.pause, at: nil, now: 65)
        #expect(solo.record()?.session.segments == [Segment(start: solo.time(5), end: solo.time(65))])
    }

    @Test mutating func `every reply carries the engine's clock`() {
        let start = SessionAction.start(SessionStart(activity: .running, countdown: 0))
        #expect(solo.perform(start, at: past, now: 7)?.now == solo.time(7))
        #expect(solo.perform(.resume, at: past, now: 8)?.now == solo.time(8))
        #expect(solo.perform(.resume, at: past, now: 9, 2)?.now == solo.time(9))
    }

    @Test mutating func `an old recording is finished and retained by the engine's clock`() throws {
        var start = SessionStart(activity: .running, mode: .watch, countdown: 10)
        start.endAt = solo.time(past + 3_600)
        solo.perform(.start(start), at: past, now: 0)
        #expect(solo.status() == .active)
        #expect(solo.record()?.session.segments == [Segment(start: solo.time(past + 10), end: nil)])
        #expect(solo.advance(to: 60) == [])
        solo.perform(.end(streams: [solo.samples: 10]), at: past + 3_600, now: 61)
        #expect(solo.advance(to: 70.9) == [])
        #expect(solo.advance(to: 71).contains(.publishWorkout(solo.key())))
        #expect(solo.record()?.workout?.startedAt == solo.time(past + 10))
        #expect(solo.advance(to: 47 * SoloMachine.hour) == [])
        #expect(solo.advance(to: 49 * SoloMachine.hour).contains(.clear(solo.key())))
    }

    @Test mutating func `a recording expires six hours after its last message, not after its event time`() {
        solo.begin(at: past, now: 0)
        #expect(solo.advance(to: 6 * SoloMachine.hour - 1) == [])
        #expect(solo.advance(to: 6 * SoloMachine.hour).contains(.publishState(solo.key())))
    }

    @Test mutating func `a revision far ahead does not extend retention`() {
        solo.begin()
        solo.perform(.discard, at: 1)
        _ = solo.machine.seeState(solo.time(1e9).milliseconds, of: solo.key(), now: Moment(solo.time(2)))
        _ = solo.advance(to: 3 + 48 * SoloMachine.hour)
        #expect(solo.status() == .deleted)
    }

    @Test(arguments: [-86_400.0, -3_600, 3_600, 86_400])
    mutating func `a wall clock that steps moves no deadline`(step: Double) {
        solo.begin()
        solo.perform(.end(streams: [solo.samples: 10]), at: 4_000)
        #expect(solo.advance(to: 4_001) == [])
        solo.step = step
        #expect(solo.advance(to: 4_002) == [])
        #expect(solo.advance(to: 4_009.9) == [])
        #expect(solo.advance(to: 4_010).contains(.publishWorkout(solo.key())))
        #expect(solo.advance(to: 4_009 + 48 * SoloMachine.hour) == [])
        #expect(solo.advance(to: 4_010 + 48 * SoloMachine.hour).contains(.clear(solo.key())))
    }

    @Test(arguments: [-5.0, 5])
    mutating func `a countdown ends when the wall clock shows its end, also after a step`(step: Double) {
        var start = SessionStart(activity: .running, countdown: 30)
        start.mode = .watch
        solo.perform(.start(start), at: 0)
        #expect(solo.advance(to: 9) == [])
        solo.step = step
        _ = solo.advance(to: 29.5 - step)
        #expect(solo.status() == .preparing)
        #expect(solo.advance(to: 30.5 - step).contains(.publishState(solo.key())))
        #expect(solo.record()?.session.segments == [Segment(start: solo.time(30), end: nil)])
    }

    @Test mutating func `due work runs once, and late ticks miss nothing`() {
        solo.perform(.start(SessionStart(activity: .running, mode: .watch)), at: 0)
        #expect(solo.advance(to: 3_600) == [.save(solo.key()), .publishState(solo.key()), .publishCurrent(solo.user)])
        #expect(solo.record()?.state.mode == .phone)
        #expect(solo.record()?.session.segments == [Segment(start: solo.time(3), end: nil)])
        #expect(solo.advance(to: 3_601) == [])
    }
}
