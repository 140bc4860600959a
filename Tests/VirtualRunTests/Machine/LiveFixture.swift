import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

/// A live run whose clock a test moves.
struct LiveFixture {
    static let key = HidingKey(0..<16)!
    static let run = RunID("00000000-0000-4000-8000-0000000000aa")!
    static let start = Timestamp(seconds: 1_767_225_600)

    var live: LiveRun
    var roster: RunRoster
    var now = Moment(start)
    var isFed = true
    /// What came out, and when.
    var outputs: [(at: Double, output: LiveOutput)] = []
    /// Sees what comes out at one time, with the roster then.
    var inspect: ((LiveFixture, [LiveOutput]) -> Void)?
    private var revisions: [User: Int64] = [:]
    private var counts: [User: Int] = [:]

    init(
        _ names: [String] = ["ann", "ben"], goal: RunGoal? = nil, clock: RunClock = .active,
        sharing: Sharing = .all, ghosts: [Int: RunRoster.Ghost] = [:]
    ) {
        var settings = RunSettings()
        settings.goal = goal
        settings.clock = clock
        roster = RunRoster(
            run: Self.run, settings: settings, status: .running,
            participants: names.map { name in
                var participant = RunRoster.Participant(User(name)!, .running, sharing: sharing)
                participant.session = Self.session(name)
                participant.startsAt = Self.start
                return participant
            }, ghosts: ghosts)
        live = LiveRun(Self.run, key: Self.key, now: now)
        update()
    }

    static func session(_ name: String) -> SessionID {
        let hash = name.utf8.reduce(UInt64(7)) { ($0 &* 31 &+ UInt64($1)) & 0xffff_ffff_ffff }
        return SessionID("00000000-0000-4000-8000-" + String(String(hash + 0x1_0000_0000_0000, radix: 16).suffix(12)))!
    }

    /// Seconds since the start.
    var seconds: Double { now.wallClock.seconds(since: Self.start) }

    mutating func update(_ change: (inout RunRoster) -> Void = { _ in }) {
        change(&roster)
        live.update(roster, now: now)
        flush()
    }

    mutating func change(_ name: String, _ change: (inout RunRoster.Participant) -> Void) {
        update { roster in
            let index = roster.participants.firstIndex { $0.user == User(name)! }!
            change(&roster.participants[index])
        }
    }

    /// A new snapshot of a runner.
    mutating func metrics(
        _ name: String, _ distance: Double?, at seconds: Double? = nil, isRetained: Bool = false,
        _ change: (inout RunnerMetrics) -> Void = { _ in }
    ) {
        let user = User(name)!
        revisions[user, default: 0] += 1
        counts[user, default: 0] += 1
        var metrics = RunnerMetrics(run: Self.run, revision: revisions[user]!)
        metrics.newest = now.wallClock
        metrics.count = counts[user]!
        metrics.activeSeconds = seconds ?? self.seconds
        metrics.distance = distance
        metrics.speed = 3
        metrics.pace = 333.3
        metrics.heartRate = 150
        change(&metrics)
        receive(metrics, name, isRetained: isRetained)
    }

    mutating func receive(_ metrics: RunnerMetrics, _ name: String, isRetained: Bool = false) {
        live.receive(metrics, of: SessionKey(User(name)!, Self.session(name)), isRetained: isRetained, now: now)
        flush()
    }

    mutating func flush() {
        let new = live.advance(isFed: isFed, now: now)
        inspect?(self, new)
        outputs += new.map { (seconds, $0) }
    }

    /// Lets time pass, and the run advance whenever it is due.
    mutating func pass(_ seconds: Double) {
        let end = now + seconds
        for _ in 0..<10_000 {
            guard let due = live.due, due <= end else {
                now = end
                return flush()
            }
            if due > now { now = due }
            flush()
        }
        Issue.record("advance never ends")
    }

    /// Every second for a while: a snapshot of each runner at a steady speed, by name.
    mutating func run(_ seconds: Int, _ speeds: KeyValuePairs<String, Double>) {
        for _ in 0..<seconds {
            pass(1)
            for (name, speed) in speeds { metrics(name, self.seconds * speed) }
        }
    }

    /// A new process with what the old one stored.
    mutating func restart(after seconds: Double = 0) throws {
        now = now + seconds
        let stored = try JSONDecoder().decode(LiveRun.Stored.self, from: JSONEncoder().encode(live.stored))
        let curves = try JSONDecoder().decode([RunCurve].self, from: JSONEncoder().encode(Array(live.curves.values)))
        live = LiveRun(
            Self.run, stored: stored, curves: Dictionary(uniqueKeysWithValues: zip(live.curves.keys, curves)),
            key: Self.key, now: now)
        live.connect(now: now)
        update()
    }

    func partners(_ name: String) -> [(at: Double, message: Partners)] {
        outputs.compactMap { at, output in
            if case .partners(User(name)!, let message) = output { (at, message) } else { nil }
        }
    }

    func positions(_ name: String) -> [RunPositions] {
        outputs.compactMap { if case .positions(User(name)!, let message) = $0.output { message } else { nil } }
    }

    func cues(_ name: String, _ kind: Announcement.Kind? = nil) -> [(at: Double, cue: Announcement)] {
        outputs.compactMap { at, output in
            if case .cue(User(name)!, let cue) = output, kind == nil || cue.kind == kind { (at, cue) } else { nil }
        }
    }

    func prompts(_ name: String) -> [(at: Double, since: Timestamp?)] {
        outputs.compactMap { at, output in
            if case .prompt(User(name)!, let since) = output { (at, since) } else { nil }
        }
    }

    func row(_ name: String, for reader: String) -> Partners.Row? {
        partners(reader).last?.message.rows.first { $0.runner == .participant(User(name)!) }
    }
}
