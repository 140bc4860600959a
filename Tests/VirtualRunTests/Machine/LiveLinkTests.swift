import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

@Suite struct LiveLinkTests {
    @Test func `links at 7.9, 8, 15 and 15.1 s, the prompt at 195`() throws {
        var fixture = LiveFixture()
        fixture.run(20, ["ann": 3, "ben": 3])
        let last = fixture.seconds
        /// Keeps ann alive until a number of seconds after ben's last item.
        func wait(until age: Double) {
            while last + age > fixture.seconds + 1e-9 {
                fixture.pass(min(1, last + age - fixture.seconds))
                fixture.metrics("ann", fixture.seconds * 3)
            }
        }
        wait(until: 7.9)
        #expect(fixture.live.links == [.connected, .connected])
        wait(until: 8)
        #expect(fixture.live.links == [.connected, .stale])
        wait(until: 15)
        #expect(fixture.live.links == [.connected, .stale])
        wait(until: 15.1)
        #expect(fixture.live.links == [.connected, .disconnected])
        #expect(fixture.row("ben", for: "ann")?.link == .disconnected)
        wait(until: 194.9)
        #expect(fixture.prompts("ann").isEmpty)
        wait(until: 195)
        let prompt = try #require(fixture.prompts("ann").last)
        #expect(abs(prompt.at - last - 195) < 0.001)
        // It says since when data are missing.
        #expect(prompt.since.map { abs($0.seconds(since: LiveFixture.start) - last) < 0.001 } == true)
        #expect(fixture.cues("ann", .lost).map(\.at) == [prompt.at])
        #expect(fixture.prompts("ben").isEmpty)
        #expect(fixture.live.prompt(of: User("ann")!) == prompt.since)
        wait(until: 600)
        #expect(fixture.cues("ann", .lost).count == 1)
        fixture.metrics("ben", 100)
        #expect(fixture.prompts("ann").last?.since == nil)
        #expect(fixture.live.prompt(of: User("ann")!) == nil)
    }

    @Test func `a paused partner is never lost`() {
        var fixture = LiveFixture()
        fixture.run(5, ["ann": 3])
        fixture.metrics("ben", 10) { $0.isPaused = true }
        fixture.run(400, ["ann": 3])
        #expect(fixture.row("ben", for: "ann")?.link == .paused)
        #expect(fixture.prompts("ann").isEmpty)
    }

    @Test func `one partner who is there is enough`() {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        fixture.run(5, ["ann": 3, "ben": 3, "cat": 3])
        fixture.run(400, ["ann": 3, "cat": 3])
        #expect(fixture.outputs.allSatisfy { if case .prompt = $0.output { false } else { true } })
        fixture.run(250, ["ann": 3])
        #expect(fixture.prompts("ann").count == 1)
        // Ben and Cat have lost all data too.
        #expect(fixture.prompts("ben").isEmpty)
    }

    @Test func `whoever is alone with the lost is asked, also when lost themselves`() {
        var fixture = LiveFixture()
        fixture.run(5, ["ann": 3, "ben": 3])
        fixture.pass(300)
        #expect(fixture.prompts("ann").count == 1)
        #expect(fixture.prompts("ben").count == 1)
    }

    @Test func `keepWaiting asks again after 180 s, over a restart too`() throws {
        var fixture = LiveFixture()
        fixture.run(5, ["ann": 3, "ben": 3])
        fixture.run(250, ["ann": 3])
        #expect(fixture.prompts("ann").count == 1)
        fixture.live.keepWaiting(User("ann")!, now: fixture.now)
        fixture.flush()
        #expect(fixture.prompts("ann").last?.since == nil)
        let asked = fixture.seconds
        fixture.run(100, ["ann": 3])
        try fixture.restart()
        fixture.run(79, ["ann": 3])
        #expect(fixture.prompts("ann").count == 2)
        fixture.run(2, ["ann": 3])
        #expect(fixture.prompts("ann").count == 3)
        #expect(fixture.prompts("ann").last.map { abs($0.at - asked - 180) <= 1 } == true)
        #expect(fixture.cues("ann", .lost).count == 2)
    }

    @Test func `no prompt after the partner finished, though the cue was dismissed`() throws {
        for ending in 0..<2 {
            var fixture = LiveFixture(goal: .distance(1_000))
            fixture.run(100, ["ann": 3, "ben": 4])
            if ending == 0 {
                fixture.change("ben") { $0.status = .finished }
            } else {
                // The watch stops sending after the goal, and the session ends later.
                fixture.run(151, ["ann": 3, "ben": 4])
            }
            #expect(fixture.cues("ann", .finished).count == 1)
            fixture.run(300, ["ann": 0.5])
            try fixture.restart()
            fixture.run(300, ["ann": 0.5])
            #expect(fixture.prompts("ann").isEmpty)
            #expect(fixture.cues("ann", .lost).isEmpty)
            #expect(fixture.row("ben", for: "ann")?.link == .finished)
        }
    }

    @Test func `a prompt goes away when the lost partner finished after all`() {
        var fixture = LiveFixture()
        fixture.run(5, ["ann": 3, "ben": 3])
        fixture.run(250, ["ann": 3])
        #expect(fixture.prompts("ann").count == 1)
        fixture.change("ben") { $0.status = .finished }
        #expect(fixture.prompts("ann").last?.since == nil)
    }

    @Test func `ages stand while no snapshot can arrive`() {
        var fixture = LiveFixture()
        fixture.run(5, ["ann": 3, "ben": 3])
        fixture.pass(5)
        fixture.isFed = false
        fixture.flush()
        fixture.pass(1_000)
        #expect(fixture.live.links == [.connected, .connected])
        #expect(fixture.partners("ann").last.map { $0.at > 1_000 } == true)
        fixture.isFed = true
        fixture.flush()
        fixture.pass(2.9)
        #expect(fixture.live.links == [.connected, .connected])
        fixture.pass(0.2)
        #expect(fixture.live.links == [.stale, .stale])
    }

    @Test func `a lost link is stored, and other ages count from the restart`() throws {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        fixture.run(5, ["ann": 3, "ben": 3, "cat": 3])
        fixture.run(100, ["ann": 3, "cat": 3])
        try fixture.restart(after: 60)
        #expect(fixture.live.links == [.connected, .disconnected, .connected])
        fixture.pass(7.9)
        #expect(fixture.live.links == [.connected, .disconnected, .connected])
        fixture.pass(0.2)
        #expect(fixture.live.links == [.stale, .disconnected, .stale])
        fixture.metrics("ben", 400)
        #expect(fixture.live.links[1] == .connected)
    }

    @Test func `after a restart no prompt comes for 10 s: the partner may be back`() throws {
        var fixture = LiveFixture()
        fixture.run(5, ["ann": 3, "ben": 3])
        fixture.run(100, ["ann": 3])
        try fixture.restart(after: 3_600)
        fixture.run(9, ["ann": 3])
        #expect(fixture.prompts("ann").isEmpty)
        fixture.run(2, ["ann": 3])
        #expect(fixture.prompts("ann").count == 1)
    }

    @Test func `an older or repeated snapshot changes nothing, and a restarted watch is heard`() throws {
        var fixture = LiveFixture()
        fixture.run(30, ["ann": 3, "ben": 3])
        fixture.pass(5)
        let (before, links) = (fixture.live.curves, fixture.live.links)
        for revision in [Int64(30), 7, 0] {
            var old = RunnerMetrics(run: LiveFixture.run, revision: revision)
            (old.distance, old.activeSeconds, old.newest) = (5, 5, fixture.now.wallClock)
            fixture.receive(old, "ben")
        }
        #expect(fixture.live.curves == before)
        #expect(fixture.live.links == links)
        fixture.pass(5)
        #expect(fixture.live.links[1] == .stale)
        // Items from 0 on again: their number fell, and the snapshot is newer.
        var restarted = RunnerMetrics(run: LiveFixture.run, revision: 31)
        (restarted.distance, restarted.activeSeconds, restarted.newest) = (95, 40, fixture.now.wallClock)
        restarted.count = 1
        fixture.receive(restarted, "ben")
        #expect(fixture.live.links[1] == .connected)
        #expect(fixture.live.curves[User("ben")!]?.distance == 95)
    }

    @Test func `a retained snapshot and one without a new item are no sign of life`() {
        var fixture = LiveFixture()
        fixture.run(5, ["ann": 3, "ben": 3])
        fixture.pass(14)
        fixture.metrics("ben", 60, isRetained: true)
        var same = RunnerMetrics(run: LiveFixture.run, revision: 100)
        (same.distance, same.activeSeconds, same.newest, same.count) = (60, 19, fixture.now.wallClock, 6)
        fixture.receive(same, "ben")
        #expect(fixture.live.links[1] == .stale)
        fixture.pass(2)
        #expect(fixture.live.links[1] == .disconnected)
        same.revision = 101
        same.newest = fixture.now.wallClock
        fixture.receive(same, "ben")
        #expect(fixture.live.links[1] == .connected)
    }

    @Test func `only the session that counts is heard`() {
        var fixture = LiveFixture()
        fixture.run(10, ["ann": 3, "ben": 3])
        var other = RunnerMetrics(run: LiveFixture.run, revision: 1_000)
        (other.distance, other.activeSeconds, other.newest) = (9_999, 10, fixture.now.wallClock)
        fixture.live.receive(
            other, of: SessionKey(User("ben")!, LiveFixture.session("other")), isRetained: false, now: fixture.now)
        fixture.flush()
        #expect(fixture.live.curves[User("ben")!]?.distance == 30)
        // The counted session is canceled: another one begins at zero, and lower revisions count.
        fixture.change("ben") { $0.session = LiveFixture.session("other") }
        #expect(fixture.live.curves[User("ben")!] == nil)
        fixture.live.receive(
            other, of: SessionKey(User("ben")!, LiveFixture.session("other")), isRetained: false, now: fixture.now)
        #expect(fixture.live.curves[User("ben")!]?.distance == 9_999)
    }
}
