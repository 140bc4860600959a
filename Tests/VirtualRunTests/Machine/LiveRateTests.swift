import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import VirtualRun

@Suite struct LiveRateTests {
    @Test func `a reader gets one message each 2 s, whatever the run's size`() {
        for names in [["ann", "ben"], ["ann", "ben", "cat", "dan", "eva"]] {
            var fixture = LiveFixture(names)
            for _ in 0..<60 {
                fixture.pass(1)
                for name in names { fixture.metrics(name, fixture.seconds * 3) }
            }
            #expect((29...32).contains(fixture.partners("ann").count))
        }
    }

    @Test func `with two runners a snapshot goes out at once`() {
        var fixture = LiveFixture()
        fixture.pass(1)
        for _ in 0..<20 {
            fixture.pass(1.3)
            fixture.metrics("ann", fixture.seconds * 3)
            fixture.pass(0.7)
            fixture.metrics("ben", fixture.seconds * 3)
            #expect(fixture.partners("ann").last?.at == fixture.seconds)
        }
    }

    @Test func `with two runners a snapshot goes out at once, also after urgent messages at any time`() {
        var random = SeededRandom()
        var fixture = LiveFixture()
        fixture.pass(Double.random(in: 0...2, using: &random))
        var isPaused = false
        for step in 0..<200 {
            if step % 10 == 9 {
                isPaused.toggle()
                let wait = Double.random(in: 0.3...1.6, using: &random)
                fixture.pass(wait)
                fixture.metrics("ben", fixture.seconds * 3) { $0.isPaused = isPaused }
                fixture.pass(2 - wait)
            } else {
                fixture.pass(2)
            }
            fixture.metrics("ben", fixture.seconds * 3) { $0.isPaused = isPaused }
            fixture.pass(LiveRun.urgentInterval)
            #expect(
                fixture.row("ben", for: "ann")?.revision == fixture.live.runners[1].revision, "seed \(random.seed)")
        }
        #expect((200...250).contains(fixture.partners("ann").count))
    }

    @Test func `after snapshots that came faster all but the next one go out within a quarter of a second`() {
        for wait in stride(from: 0.1, through: 2, by: 0.1) {
            var fixture = LiveFixture()
            for _ in 0..<20 {
                fixture.pass(1)
                fixture.metrics("ben", fixture.seconds * 3)
            }
            fixture.pass(wait)
            fixture.metrics("ben", fixture.seconds * 3)
            for number in 0..<20 {
                fixture.pass(2 - LiveRun.urgentInterval)
                fixture.metrics("ben", fixture.seconds * 3)
                fixture.pass(LiveRun.urgentInterval)
                let sent = fixture.row("ben", for: "ann")?.revision
                #expect(number == 0 || sent == fixture.live.runners[1].revision, "\(wait) s")
            }
        }
    }

    @Test func `with two runners 99 of 100 snapshots are out within 0.3 s, whatever their phase`() {
        var random = SeededRandom()
        var waits: [Double] = []
        var (count, seconds) = (0, 0.0)
        for _ in 0..<20 {
            var fixture = LiveFixture()
            var isPaused = false
            // Each snapshot comes up to 1.5 s late; a stall of both brings several at once.
            var next = [
                "ann": Double.random(in: 0...2, using: &random), "ben": Double.random(in: 0...2, using: &random),
            ]
            var due = next
            var revisions: [(at: Double, revision: Int64)] = []
            while fixture.seconds < 300 {
                let (name, at) = due.min { ($0.value, $0.key) < ($1.value, $1.key) }!
                fixture.pass(max(0, at - fixture.seconds))
                if name == "ben", Int.random(in: 0..<20, using: &random) == 0 { isPaused.toggle() }
                fixture.metrics(name, fixture.seconds * 4) { $0.isPaused = name == "ben" && isPaused }
                if name == "ben" { revisions.append((fixture.seconds, fixture.live.runners[1].revision)) }
                next[name]! += 2
                let isStalled = Int.random(in: 0..<30, using: &random) == 0
                due[name] = max(
                    next[name]! + Double.random(in: 0...(isStalled ? 6 : 1.5), using: &random), fixture.seconds)
            }
            fixture.pass(10)
            let messages = fixture.partners("ann")
            for (at, revision) in revisions {
                let shown = messages.first { ($0.message.rows.first?.revision ?? -1) >= revision }!
                waits.append(shown.at - at)
            }
            (count, seconds) = (count + messages.count, seconds + 310)
        }
        waits.sort()
        #expect(waits[waits.count * 99 / 100] < 0.3, "seed \(random.seed)")
        #expect(Double(count) < seconds / 1.6, "seed \(random.seed)")
    }

    @Test func `of snapshots that come each second every second one goes out, and at once`() {
        for phase in stride(from: 0.0, to: 1, by: 0.1) {
            var fixture = LiveFixture()
            fixture.pass(phase)
            for _ in 0..<60 {
                fixture.metrics("ann", fixture.seconds * 3)
                fixture.pass(0.5)
                fixture.metrics("ben", fixture.seconds * 3)
                fixture.pass(0.5)
            }
            let messages = fixture.partners("ann")
            #expect((29...32).contains(messages.count))
            let late = messages.dropFirst(3).map { $0.message.now.seconds(since: $0.message.rows[0].newest!) }
            #expect(late.allSatisfy { $0 <= LiveRun.urgentInterval })
        }
    }

    @Test func `without a change a message goes out every 10 s`() {
        var fixture = LiveFixture()
        fixture.metrics("ben", 0) { $0.isPaused = true }
        fixture.pass(1)
        fixture.outputs = []
        fixture.pass(61)
        let times = fixture.partners("ann").map(\.at)
        #expect(times.count == 6)
        #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 10) < 1e-6 })
    }

    @Test func `a pause, its end and a lost link go out at once, 0.25 s after the last at least`() throws {
        var fixture = LiveFixture()
        fixture.run(10, ["ann": 3, "ben": 3])
        fixture.pass(5)
        fixture.metrics("ben", 33)
        let sent = try #require(fixture.partners("ann").last?.at)
        fixture.pass(0.1)
        fixture.metrics("ben", 33) { $0.isPaused = true }
        #expect(fixture.partners("ann").last?.at == sent)
        fixture.pass(0.2)
        #expect(fixture.partners("ann").last.map { abs($0.at - sent - 0.25) < 1e-6 } == true)
        #expect(fixture.row("ben", for: "ann")?.link == .paused)
        #expect(fixture.row("ben", for: "ann")?.isPaused == true)
        fixture.pass(1)
        fixture.metrics("ben", 33)
        #expect(fixture.partners("ann").last?.at == fixture.seconds)
        #expect(fixture.row("ben", for: "ann")?.link == .connected)
    }

    @Test func `low battery lowers the sending rate, never what is measured`() throws {
        var fixture = LiveFixture()
        for _ in 0..<100 {
            fixture.pass(1)
            fixture.metrics("ann", fixture.seconds * 3) { $0.battery = 0.19 }
            fixture.metrics("ben", fixture.seconds * 3) { $0.battery = 0.2 }
        }
        #expect((19...22).contains(fixture.partners("ann").count))
        #expect((49...53).contains(fixture.partners("ben").count))
        fixture.pass(2)
        #expect(fixture.row("ann", for: "ben")?.distance == 300)
        #expect(fixture.partners("ann").last?.message.distance.map { $0 >= 285 } == true)
        // What the curve holds is as dense as with a full battery.
        #expect(fixture.live.curves[User("ann")!] == fixture.live.curves[User("ben")!])
        // A change of link still goes out at once.
        let before = fixture.partners("ann").count
        fixture.metrics("ben", 301) { $0.isPaused = true }
        fixture.pass(0.3)
        #expect(fixture.partners("ann").count == before + 1)
    }

    @Test func `a watch that slept gets the latest and nothing older`() throws {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        fixture.run(60, ["ann": 3, "ben": 3.2, "cat": 2.5])
        let messages = fixture.partners("ann").map(\.message)
        // Each message holds all there is, so the latest replaces all before; its revision says which is newer.
        #expect(zip(messages, messages.dropFirst()).allSatisfy { $0.revision < $1.revision })
        #expect(messages.suffix(20).allSatisfy { $0.rows.count == 2 })
        // After a connect it comes again at once, and alone.
        fixture.pass(1)
        fixture.outputs = []
        fixture.live.connect(now: fixture.now)
        fixture.flush()
        #expect(fixture.partners("ann").count == 1)
        #expect(fixture.partners("ann")[0].message.revision > messages.last!.revision)
    }

    @Test func `revisions rise over restarts, though the clock steps backwards`() throws {
        var fixture = LiveFixture()
        fixture.run(20, ["ann": 3, "ben": 3])
        let last = try #require(fixture.partners("ann").last?.message.revision)
        fixture.now = fixture.now.stepped(by: -300)
        try fixture.restart()
        fixture.run(5, ["ann": 3, "ben": 3])
        #expect(fixture.partners("ann").last.map { $0.message.revision > last } == true)
        let revisions = fixture.partners("ann").map(\.message.revision)
        #expect(revisions == revisions.sorted())
    }

    @Test func `the message is cleared when the run is over or the user leaves, and on each connect after`() {
        var fixture = LiveFixture(["ann", "ben", "cat"])
        fixture.run(10, ["ann": 3, "ben": 3, "cat": 3])
        fixture.outputs = []
        fixture.change("cat") { $0.status = .left }
        #expect(fixture.outputs.contains { $0.output == .clear(User("cat")!) })
        fixture.run(10, ["ann": 3, "ben": 3])
        #expect(fixture.partners("cat").isEmpty)
        #expect(fixture.row("cat", for: "ann") == nil)
        fixture.update { $0.status = .finished }
        #expect(["ann", "ben"].allSatisfy { name in fixture.outputs.contains { $0.output == .clear(User(name)!) } })
        fixture.outputs = []
        fixture.pass(100)
        #expect(fixture.outputs.isEmpty)
        #expect(fixture.live.due == nil)
        fixture.live.connect(now: fixture.now)
        fixture.flush()
        #expect(Set(fixture.outputs.map { "\($0.output)" }).count == 3)
    }

    @Test func `nothing goes out before the run starts, and nothing of what came before counts`() {
        var fixture = LiveFixture()
        fixture.update { roster in
            roster.status = .confirming
            for index in roster.participants.indices { roster.participants[index].status = .confirmed }
        }
        fixture.outputs = []
        fixture.metrics("ann", 500)
        fixture.pass(30)
        #expect(fixture.outputs.isEmpty)
        #expect(fixture.live.curves.isEmpty)
    }
}
