import Bus
import Foundation
import MQTT
import Testing
import Workouts

@testable import LiveActivityPublisher

struct MachineStatusTests {
    @Test func `a status is stale if nothing is delivered before the stale date`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange()
        #expect(run.status(key) == .active)
        run.pass(14)
        #expect(run.status(key) == .active)
        run.pass(1)
        #expect(run.status(key) == .stale)
        run.exchange()
        #expect(run.status(key) == .active)
    }

    @Test func `a started activity is active once APNs accepts the start, and stale without the app's token`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        let start = run.send()[0]
        #expect(run.status(key) == .pending)
        run.end(start)
        #expect(run.status(key) == .active)
        run.pass(15)
        #expect(run.status(key) == .stale)
    }

    @Test func `a status is published on change only, with rising revisions`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        _ = run.run(60) { $0.snapshot(of: key, distance: $0.now.seconds) }
        run.state(.saving, of: key)
        _ = run.run(120)
        #expect(run.statuses.map(\.status) == [.active, .ended, .dismissed])
        for (first, second) in zip(run.statuses, run.statuses.dropFirst()) {
            #expect(second.revision > first.revision)
        }
    }

    @Test func `the status is the best device's, and lists each device`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key, device: Device("b")!)
        run.exchange()
        run.register(.start, 2, of: key, device: Device("a")!)
        run.exchange(.tokenGone(reason: "Unregistered"))
        #expect(run.retained[key]?.devices.map(\.device.description) == ["a", "b"])
        #expect(run.retained[key]?.devices.map(\.status) == [.pending, .active])
        #expect(run.status(key) == .active)
        run.pass(15)
        #expect(run.status(key) == .stale)
        run.register(nil, of: key, device: Device("b")!)
        #expect(run.status(key) == .pending)
    }

    @Test func `a finished session's status is cleared 48 hours after its last change`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange()
        run.state(.saving, of: key)
        run.pass(2)
        run.exchange()
        run.pass(60)
        #expect(run.status(key) == .dismissed)
        run.pass(48 * 3_600 - 1)
        #expect(run.status(key) == .dismissed)
        run.pass(1)
        #expect(run.retained.isEmpty && run.disk.isEmpty && run.machine.entries.isEmpty)
    }

    @Test func `a live session's status is retained`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        for _ in 0..<60 {
            run.pass(3_600)
            run.state(.active, of: key)
            run.exchange()
        }
        #expect(run.retained[key] != nil)
    }

    @Test func `a new connection publishes the statuses again, and an echo is ignored`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        let before = run.statuses.count
        run.connect()
        #expect(run.statuses.count == before + 1)
        run.see(run.retained[key]!.revision, of: key)
        #expect(run.statuses.count == before + 1)
    }

    @Test func `an older revision is answered with the newest, and a newer one is exceeded`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        let known = run.retained[key]!
        run.see(known.revision - 10, of: key)
        #expect(run.statuses == [known, known])
        run.see(known.revision + 1_000, of: key)
        #expect(run.statuses.last?.revision == known.revision + 1_001)
        #expect(run.disk[key]?.status == run.statuses.last)
        run.state(.canceled, of: key, reason: "discarded")
        run.exchange()
        #expect(run.statuses.last!.revision > known.revision + 1_001)
    }

    @Test func `an unknown status is cleared`() {
        var run = ActivityMachineRun()
        let key = ActivityMachineRun.key()
        run.see(5, of: key)
        #expect(run.retained[key] == nil)
        #expect(run.machine.entries.isEmpty)
    }
}
