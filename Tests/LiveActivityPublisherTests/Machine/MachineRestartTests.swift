import Bus
import Foundation
import Testing
import Workouts

@testable import LiveActivityPublisher

struct MachineRestartTests {
    private static func shown() -> (ActivityMachineRun, SessionKey) {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange()
        run.pass(1)
        return (run, key)
    }

    @Test func `after a restart the next update is sent within two seconds`() {
        var (run, key) = Self.shown()
        run.crash()
        let ready = run.now
        let sent = run.run(2)
        #expect(sent.map(\.push).events == ["update"])
        #expect(sent.first.map { $0.time.seconds(since: ready) <= 2 } == true)
        #expect(sent.first?.push.read.content.distance == 100)
        #expect(run.status(key) == .active)
    }

    @Test func `an older retained state after a restart starts nothing`() {
        var (run, key) = Self.shown()
        run.register(.start, 2, of: key)
        let old = run.states[key]!
        run.pass(1)
        run.state(.completed, of: key)
        #expect(run.run(5).map(\.push).events == ["end"])
        run.crash(receivesRetained: false)
        run.receive(old)
        #expect(run.run(120).isEmpty)
    }

    @Test func `a state is pushed without a snapshot after a short wait for one`() {
        var (run, key) = Self.shown()
        run.crash(receivesRetained: false)
        #expect(run.run(30).isEmpty)
        run.receive(run.states[key]!)
        #expect(run.exchange().isEmpty)
        run.pass(0.5)
        #expect(run.exchange().isEmpty)
        run.pass(0.5)
        #expect(run.exchange().count == 1)
    }

    @Test func `statuses from before a restart are not published again`() {
        var (run, key) = Self.shown()
        let revision = run.retained[key]?.revision
        run.crash()
        _ = run.run(20)
        #expect(run.retained[key]?.revision == revision)
    }

    @Test func `the first update after a restart has priority only if the state changed meanwhile`() {
        var (run, key) = Self.shown()
        run.crash()
        run.snapshot(of: key, distance: 300)
        #expect(run.run(2).map(\.push.priority) == [5])
        run.crash(receivesRetained: false)
        run.state(.paused, of: key)
        #expect(run.run(2).map(\.push.priority) == [10])
        run.crash()
        run.register(.activity, 2, of: key)
        #expect(run.run(2).map(\.push.priority) == [10], "another activity")
    }

    @Test func `a pause not pushed before a restart has priority and is pushed once`() {
        var (run, key) = Self.shown()
        run.state(.paused, of: key)
        #expect(run.exchange().isEmpty)
        run.crash()
        #expect(run.run(2).map(\.push.priority) == [10])
        run.crash()
        #expect(run.run(2).map(\.push.priority) == [5])
    }

    @Test func `a pause that APNs did not accept before a restart has priority`() {
        var (run, key) = Self.shown()
        run.state(.paused, of: key)
        run.pass(1)
        #expect(run.exchange(.failed(reason: "503", retryAfter: nil)).count == 1)
        run.crash()
        #expect(run.run(2).map(\.push.priority) == [10])
    }

    @Test func `a clock that steps backwards during the downtime delays nothing`() {
        var (run, key) = Self.shown()
        run.state(.saving, of: key)
        _ = run.run(5)
        run.crash(stepping: -86_400)
        #expect(run.status(key) == .ended)
        run.pass(60)
        #expect(run.status(key) == .dismissed)
        run.crash(stepping: -86_400)
        run.pass(RetainedTopic.lifetime)
        #expect(run.retained.isEmpty && run.disk.isEmpty && run.machine.entries.isEmpty)

        let other = run.begin(2)
        run.register(.start, of: other)
        run.exchange(.failed(reason: "503", retryAfter: nil))
        run.crash(stepping: -86_400)
        #expect(run.run(31).map(\.push).events == ["start"])
    }

    @Test func `a status is stale if nothing is delivered after a restart`() {
        var (run, key) = Self.shown()
        run.crash()
        run.pass(15)
        #expect(run.status(key) == .stale)
    }

    @Test func `an unconfirmed start is sent again 30 s after it was sent`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        let start = run.send()[0]
        run.pass(5)
        run.crash()
        #expect(run.run(23.75).isEmpty)
        let again = run.run(0.25)
        #expect(again.map(\.push.id) == [start.id])
        #expect(run.run(60).isEmpty)
    }

    @Test func `a confirmed start is not sent again`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.exchange()
        run.crash()
        #expect(run.run(120).isEmpty)
    }

    @Test func `a due start that was not stored is sent`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.crash()
        #expect(run.run(2).map(\.push).events == ["start"])
    }

    @Test func `a due end is sent with its id`() {
        var (run, key) = Self.shown()
        run.state(.saving, of: key)
        guard case .ending(_, let end)? = run.disk[key]?[ActivityMachineRun.phone]?.phase else {
            Issue.record("no end on disk")
            return
        }
        run.crash()
        let sent = run.run(2)
        #expect(sent.map(\.push.id) == [end.id])
        #expect(sent.map(\.push).events == ["end"])
        run.crash()
        #expect(run.run(60).isEmpty)
        #expect(run.status(key) == .dismissed)
    }

    @Test func `a session that ended during the downtime ends`() {
        var (run, key) = Self.shown()
        run.crash(after: 10, receivesRetained: false)
        run.state(.completed, of: key)
        run.receive(run.snapshots[key]!, of: key)
        #expect(run.run(2).map(\.push).events == ["end"])
    }

    @Test func `a session deleted during the downtime ends and is purged`() {
        var (run, key) = Self.shown()
        run.crash(after: 10, receivesRetained: false)
        run.state(.deleted, of: key)
        #expect(run.retained[key] == nil)
        run.crash()
        #expect(run.run(2).map(\.push).events == ["end"])
        #expect(run.disk.isEmpty && run.machine.entries.isEmpty)
    }

    @Test func `a key configured later serves earlier registrations`() {
        var run = ActivityMachineRun(canPush: false)
        let key = run.begin()
        run.register(.activity, of: key)
        run.crash(canPush: true)
        #expect(run.run(2).map(\.push).events == ["update"])
        #expect(run.status(key) == .active)
    }

    @Test func `sessions of lost shards are dropped`() {
        var (run, key) = Self.shown()
        run.drop(key)
        #expect(run.machine.entries.isEmpty)
        #expect(run.run(30).isEmpty)
    }
}
