import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Items that services report on `heard`: expiry, restoration, silences and clocks that are off.
struct HeardTests {
    private static let hour = SoloMachine.hour
    private var solo = SoloMachine()

    /// A report of items at these seconds.
    private func heard(_ items: [Double], revision: Int64 = 1, skew: [Device: Double] = [:]) -> Heard {
        var times = ItemTimes()
        for item in items { times.add(solo.time(item)) }
        var heard = Heard(revision: revision, count: items.count)
        heard.newest = times.newest
        heard.silences = times.silences
        heard.clockSkew = skew
        return heard
    }

    private mutating func hear(_ heard: Heard, _ kind: StreamName.Kind = .samples, now: Double)
        -> [SessionEngineAction]
    {
        solo.machine.receiveHeard(heard, kind, of: solo.key(), now: Moment(solo.time(now)))
    }

    @Test mutating func `a reported item keeps a session, and restores an expired one`() {
        solo.begin()
        _ = hear(heard([60]), now: 60)
        _ = hear(heard([60]), now: 5 * Self.hour)
        #expect(solo.advance(to: 60 + 6 * Self.hour).contains(.publishState(solo.key())))
        #expect(solo.status() == .canceled)
        let restored = hear(heard([60, 7 * Self.hour]), .locations, now: 7 * Self.hour)
        #expect(restored.contains(.publishState(solo.key())))
        #expect(solo.status() == .active)
        #expect(
            solo.record()?.session.segments == [
                Segment(start: solo.time(0), end: solo.time(60)), Segment(start: solo.time(7 * Self.hour), end: nil),
            ])
    }

    @Test mutating func `a phone that died yesterday and says pause today gains no hours, expired or not`() {
        for expires in [false, true] {
            solo = SoloMachine()
            solo.begin()
            _ = hear(heard([1, 3_600]), now: 3_600)
            if expires { _ = solo.advance(to: 3_600 + 6 * Self.hour) }
            #expect(solo.perform(.pause, at: 23 * Self.hour)?.ok == true)
            #expect(solo.record()?.session.segments == [Segment(start: solo.time(0), end: solo.time(3_600))])
        }
    }

    @Test mutating func `a watch that wakes after the expiry ends the session at its own time`() {
        solo.begin()
        _ = hear(heard([1, 3_600]), now: 3_600)
        _ = solo.advance(to: 3_600 + 6 * Self.hour)
        #expect(solo.status() == .canceled && solo.record()?.state.endReason == "expired")
        // The rest of its queue, then its end.
        #expect(hear(heard([1, 3_600, 5_400]), now: 30 * Self.hour).contains(.publishState(solo.key())))
        #expect(solo.perform(.end(streams: [solo.samples: 3]), at: 5_460, now: 30 * Self.hour + 1)?.ok == true)
        #expect(solo.status() == .saving)
        #expect(solo.record()?.session.segments == [Segment(start: solo.time(0), end: solo.time(5_460))])
    }

    @Test mutating func `a watch that wakes beside a newer session adds its items to the one that ended`() {
        solo.begin()
        _ = solo.advance(to: 6 * Self.hour)
        solo.begin(2, at: 20 * Self.hour)
        _ = hear(heard([1, 3_600]), now: 30 * Self.hour)
        #expect(solo.status() == .saving && solo.status(2) == .active)
        #expect(solo.record()?.session.endedAt == solo.time(3_600))
        #expect(solo.perform(.end(streams: [solo.samples: 2]), at: 3_660, now: 30 * Self.hour + 1)?.ok == true)
        #expect(solo.record()?.session.streams == [solo.samples: 2])
    }

    @Test mutating func `a report after the end revises the state, and the record follows the new summary`() throws {
        solo.begin()
        solo.perform(.end(streams: [solo.samples: 2]), at: 20 * Self.hour)
        let first = try #require(solo.record()).endRevision
        let now = 20 * Self.hour + 1
        _ = solo.machine.receiveMetricsReport(
            solo.metrics(2, revision: 1), for: solo.key(), now: Moment(solo.time(now)))
        #expect(solo.record()?.workout?.activeDuration == 20 * Self.hour)
        let actions = hear(heard([1, 3_600]), now: now + 1)
        #expect(actions.contains(.publishState(solo.key())))
        #expect(try #require(solo.record()).endRevision > first)
        #expect(solo.record()?.state.segments == [Segment(start: solo.time(0), end: solo.time(3_600))])
        _ = solo.machine.receiveMetricsReport(
            solo.metrics(2, revision: 2), for: solo.key(), now: Moment(solo.time(now + 2)))
        #expect(solo.advance(to: now + 40).contains(.publishWorkout(solo.key())))
        #expect(solo.record()?.workout?.activeDuration == Self.hour)
        #expect(solo.record()?.workout?.incomplete == nil)
        #expect(solo.advance(to: now + 1_000) == [])
    }

    @Test mutating func `a summary's silences change the segments like a report's`() throws {
        solo.begin()
        solo.perform(.end(streams: [solo.samples: 2]), at: 20 * Self.hour)
        let now = 20 * Self.hour + 1
        var report = solo.metrics(2, revision: 1)
        report.gaps = heard([1, 3_600]).silences
        let actions = solo.machine.receiveMetricsReport(report, for: solo.key(), now: Moment(solo.time(now)))
        // The record waits for a summary of the new segments.
        #expect(actions.contains(.publishState(solo.key())) && !actions.contains(.publishWorkout(solo.key())))
        report.state = try #require(solo.record()).revision
        let done = solo.machine.receiveMetricsReport(report, for: solo.key(), now: Moment(solo.time(now + 1)))
        #expect(done.contains(.publishWorkout(solo.key())))
        #expect(solo.record()?.workout?.activeDuration == Self.hour)
    }

    @Test mutating func `a recovered session ends with the last item that is reported later`() {
        solo.begin()
        solo.perform(.discard, at: 600)
        #expect(solo.perform(.recover, at: 700)?.ok == true)
        #expect(solo.record()?.session.endedAt == solo.time(600))
        #expect(hear(heard([10, 500]), now: 701).contains(.publishState(solo.key())))
        #expect(solo.record()?.session.endedAt == solo.time(500))
        #expect(hear(heard([10, 500]), .locations, now: 702).contains(.publishState(solo.key())) == false)
    }

    @Test mutating func `a wrong clock is in the state, and is announced once for each device`() throws {
        solo.begin()
        let strap = try #require(Device("strap-1"))
        let watch = try #require(Device("watch-1"))
        let actions = hear(heard([1], revision: 5, skew: [strap: 181.2]), now: 10)
        #expect(actions.contains(.publishState(solo.key())))
        #expect(solo.record()?.state.clockSkew == [strap: 181.2])
        func announced(_ actions: [SessionEngineAction]) -> [Announcement] {
            actions.compactMap { if case .announce(_, let announcement) = $0 { announcement } else { nil } }
        }
        #expect(announced(actions).map(\.kind) == [.clockSkew])
        #expect(announced(actions).first?.device == strap && announced(actions).first?.seconds == 181.2)
        let more = hear(heard([1, 2], revision: 6, skew: [strap: 181.2, watch: -40]), now: 20)
        #expect(announced(more).map(\.device) == [watch])
        // An older report changes nothing.
        #expect(announced(hear(heard([1], revision: 5), now: 30)).isEmpty)
        #expect(solo.record()?.state.clockSkew?.count == 2)
        #expect(announced(hear(heard([1], skew: [strap: 181.2]), .locations, now: 31)).isEmpty)
        _ = hear(heard([1, 2], revision: 7), now: 40)
        _ = hear(heard([1], revision: 2), .locations, now: 41)
        #expect(solo.record()?.state.clockSkew == nil)
        // The record never has it.
        solo.perform(.end(streams: [:]), at: 50)
        _ = hear(heard([1, 2], revision: 8, skew: [watch: -40]), now: 51)
        #expect(solo.record()?.state.clockSkew == [watch: -40])
        _ = solo.advance(to: 70)
        let text = String(decoding: JSONCoding.encode(try #require(solo.record()?.workout)), as: UTF8.self)
        #expect(!text.contains("kew") && !text.contains("gaps"))
    }

    @Test
    mutating func
        `a wrong clock is named in a virtual run though the start does not look live, and not of a recording`()
    {
        let watch = Device("watch-1")!
        for run in [RunID("00000000-0000-4000-8000-0000000000aa"), nil] {
            solo = SoloMachine()
            var start = SessionStart(activity: .running, countdown: 0)
            start.run = run
            solo.perform(.start(start), at: -120, now: 0)
            _ = hear(heard([-110], skew: [watch: -120]), now: 10)
            #expect(solo.record()?.state.clockSkew == (run == nil ? nil : [watch: -120]))
        }
    }

    @Test mutating func `a deleted session ignores reports and keeps nothing of them`() {
        solo.begin()
        _ = hear(heard([1], skew: [Device("strap-1")!: 90]), now: 1)
        _ = solo.machine.delete(solo.key(), Moment(solo.time(2)))
        let deleted = solo.record()
        #expect(hear(heard([1, 2], revision: 9), now: 3) == [])
        #expect(solo.record() == deleted)
        #expect(solo.record()?.heardSamples == nil && solo.record()?.state.clockSkew == nil)
    }

    @Test mutating func `reports, commands, expiries and restarts in any order give the same segments`() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            let hours = Double(Int.random(in: 8...40, using: &random))
            func moments(_ count: ClosedRange<Int>) -> [Double] {
                (0..<Int.random(in: count, using: &random)).map { _ in
                    (Double.random(in: 0...hours, using: &random) * 4).rounded() * 900
                }
            }
            let commands = moments(0...5).sorted().map { at -> (SessionAction, Double) in
                ([SessionAction.pause, .resume, .lap, .suspend].randomElement(using: &random)!, at)
            }
            let (samples, locations) = (moments(0...8), moments(0...8))
            var outcomes: Set<[Segment]> = []
            for _ in 0..<5 {
                solo = SoloMachine()
                solo.begin()
                var now = hours * Self.hour
                var rest = commands[...]
                let kinds = (0..<6).map { _ in [StreamName.Kind.samples, .locations].randomElement(using: &random)! }
                var reports = kinds.map { kind in
                    let all = (kind == .samples ? samples : locations).shuffled(using: &random)
                    return (Array(all.prefix(.random(in: 0...8, using: &random))), kind)
                }
                reports += [(samples, .samples), (locations, .locations)]
                reports.shuffle(using: &random)
                while !rest.isEmpty || !reports.isEmpty {
                    now += 1
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: if let (action, at) = rest.popFirst() { _ = solo.receive(action, at: at, now: now) }
                    case 1, 2:
                        if let (items, kind) = reports.popLast() {
                            _ = hear(heard(items, revision: Int64(reports.count)), kind, now: now)
                        }
                    default:
                        // After two days of silence the session is deleted.
                        guard Int.random(in: 0..<3, using: &random) == 0, now < (hours + 36) * Self.hour else { break }
                        now += 6 * Self.hour
                        _ = solo.advance(to: now)
                        if Bool.random(using: &random) {
                            // A restart on the store; the record is saved with each command.
                            let record = try #require(solo.record())
                            let stored = try JSONCoding.decode(
                                SessionRecord.self, from: JSONCoding.encode(record), now: Moment(solo.time(now)))
                            solo.machine.table.forget(solo.key())
                            solo.machine.load(stored, replies: [:], now: Moment(solo.time(now)))
                        }
                    }
                }
                _ = solo.receive(.deviceReady(Device("watch-1")!), at: hours * Self.hour, now: now + 1)
                outcomes.insert(solo.record()?.session.segments ?? [])
            }
            #expect(outcomes.count == 1, "seed \(random.seed)")
        }
    }
}
