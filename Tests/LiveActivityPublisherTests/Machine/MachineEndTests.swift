import Bus
import Foundation
import Testing
import Workouts

@testable import LiveActivityPublisher

struct MachineEndTests {
    /// A session with an activity that was just updated.
    private static func shown() -> (ActivityMachineRun, SessionKey) {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange()
        run.pass(3)
        run.snapshot(of: key, distance: 5_000)
        return (run, key)
    }

    @Test(arguments: [SessionStatus.saving, .completed])
    func `a session's end carries its last metrics and is shown for a minute`(status: SessionStatus) {
        var (run, key) = Self.shown()
        run.state(status, of: key)
        let ends = run.exchange()
        #expect(ends.events == ["end"])
        #expect(ends[0].read.content.isFinished && ends[0].read.content.distance == 5_000)
        #expect(ends[0].read.dismissal == Int64(run.now.seconds) + 60)
        #expect(ends[0].priority == 10)
        #expect(run.status(key) == .ended)
        run.pass(59)
        #expect(run.status(key) == .ended)
        run.pass(1)
        #expect(run.status(key) == .dismissed)
        run.state(.completed, of: key)
        #expect(run.run(600).isEmpty)
    }

    @Test(arguments: [SessionStatus.canceled, .deleted])
    func `a canceled or deleted session is dismissed`(status: SessionStatus) {
        var (run, key) = Self.shown()
        run.state(status, of: key, reason: "discarded")
        let ends = run.exchange()
        #expect(ends.events == ["end"])
        #expect(ends[0].read.dismissal == Int64(run.now.seconds))
        #expect(run.status(key) == (status == .deleted ? nil : .dismissed))
    }

    @Test func `a deleted session leaves nothing once its end is sent`() {
        var (run, key) = Self.shown()
        run.register(.start, 2, of: key, device: Device("phone-2")!)
        run.state(.deleted, of: key)
        #expect(run.retained[key] == nil)
        #expect(run.disk[key]?.devices.map(\.device) == [ActivityMachineRun.phone])
        #expect(run.register(.activity, 5, of: key)?.error == .sessionNotFound)
        #expect(run.exchange(.failed(reason: "503", retryAfter: nil)).count == 1)
        run.snapshot(of: key, distance: 6_000)
        let ends = run.run(3).map(\.push)
        #expect(ends.events == ["end"])
        #expect(ends[0].read.content.distance == nil)
        #expect(run.disk.isEmpty && run.machine.entries.isEmpty && run.retained.isEmpty)
    }

    @Test func `an end waits for the push in flight and the rate limit`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        let update = run.send()[0]
        run.state(.saving, of: key)
        #expect(run.send().isEmpty)
        run.end(update)
        #expect(run.run(1.75).isEmpty)
        #expect(run.run(0.25).map(\.push).events == ["end"])
    }

    @Test func `a failed end is retried with the same id for eight hours`() {
        var (run, key) = Self.shown()
        run.state(.saving, of: key)
        var ids: Set<UUID> = []
        var count = 0
        let began = run.now
        while run.now.seconds(since: began) < 9 * 3_600 {
            for push in run.exchange(.failed(reason: "503", retryAfter: nil)) {
                #expect(push.read.event == "end")
                ids.insert(push.id)
                count += 1
                #expect(run.now.seconds(since: began) <= 8 * 3_600)
            }
            run.pass(1)
        }
        #expect(ids.count == 1)
        #expect(count > 8 * 58)
        #expect(run.status(key) == .dismissed)
    }

    @Test func `an end with an expired token is done`() {
        var (run, key) = Self.shown()
        run.state(.saving, of: key)
        run.exchange(.tokenGone(reason: "Unregistered"))
        #expect(run.status(key) == .dismissed)
        #expect(run.run(60).isEmpty)
    }

    @Test func `a refused end is retried with backoff for eight hours`() {
        var (run, key) = Self.shown()
        run.state(.saving, of: key)
        var times: [Double] = []
        let began = run.now
        for _ in 0..<9 * 240 {
            for _ in run.exchange(.refused(reason: "BadTopic")) { times.append(run.now.seconds(since: began)) }
            run.pass(15)
        }
        #expect(times == [0, 15, 30, 60, 120, 240, 480, 960, 1_920, 3_840, 7_680, 15_360])
        #expect(run.status(key) == .dismissed)
    }

    @Test func `a refused end is sent to a new token immediately`() {
        var (run, key) = Self.shown()
        run.state(.saving, of: key)
        run.exchange(.refused(reason: "BadTopic"))
        run.register(.activity, 2, of: key)
        #expect(run.run(2).map(\.push.token) == [ActivityMachineRun.token(2)])
        #expect(run.status(key) == .ended)
    }

    @Test func `a refused end of a deleted session is retried, then nothing is left`() {
        var (run, key) = Self.shown()
        run.state(.deleted, of: key)
        run.exchange(.refused(reason: "BadTopic"))
        run.pass(15)
        #expect(run.exchange().events == ["end"])
        #expect(run.disk.isEmpty && run.machine.entries.isEmpty)
    }

    @Test func `an activity registered after the end is ended`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.exchange()
        run.pass(3)
        run.state(.saving, of: key)
        #expect(run.run(5).isEmpty)
        run.register(.activity, 2, of: key)
        let ends = run.exchange()
        #expect(ends.events == ["end"] && ends[0].token == ActivityMachineRun.token(2))
        run.register(.activity, 2, of: key)
        #expect(run.run(60).isEmpty)
    }

    @Test func `an unconfirmed start is not repeated after the end`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.exchange(.failed(reason: "503", retryAfter: nil))
        run.state(.saving, of: key)
        #expect(run.run(120).isEmpty)
        #expect(run.status(key) == .dismissed)
    }

    @Test func `an expired session ends, and restoring it starts another activity`() {
        var (run, key) = Self.shown()
        run.register(.start, 2, of: key)
        run.state(.canceled, of: key, reason: "expired")
        let ends = run.exchange()
        #expect(ends.events == ["end"])
        #expect(ends[0].read.dismissal == Int64(run.now.seconds) + 60)
        run.pass(3_600)
        run.state(.active, of: key)
        #expect(run.exchange().map(\.token) == [ActivityMachineRun.token(2)])
        run.pass(2)
        run.register(.activity, 1, of: key)
        #expect(run.exchange().isEmpty, "the token belongs to the ended activity")
        run.register(.activity, 3, of: key)
        #expect(run.exchange().map(\.token) == [ActivityMachineRun.token(3)])
    }

    @Test func `a restored session without a start token waits for the app`() {
        var (run, key) = Self.shown()
        run.state(.canceled, of: key, reason: "expired")
        run.exchange()
        run.pass(10)
        run.state(.active, of: key)
        #expect(run.run(30).isEmpty)
        #expect(run.status(key) == .pending)
        run.register(.activity, 3, of: key)
        #expect(run.exchange().events == ["update"])
    }

    @Test func `a session restored before its end was sent continues`() {
        var (run, key) = Self.shown()
        run.state(.canceled, of: key, reason: "expired")
        run.exchange(.failed(reason: "503", retryAfter: nil))
        run.pass(1)
        run.state(.active, of: key)
        let pushes = run.run(5).map(\.push)
        #expect(pushes.first?.read.event == "update" && pushes.first?.read.content.isFinished == false)
    }

    @Test func `a session restored after its end was refused is updated immediately`() {
        var (run, key) = Self.shown()
        run.state(.canceled, of: key, reason: "expired")
        for _ in 0..<240 {
            run.exchange(.refused(reason: "BadTopic"))
            run.pass(15)
        }
        run.state(.active, of: key)
        #expect(run.run(2).map(\.push).map(\.read.event) == ["update"])
    }

    @Test func `a session restored while its end is in flight restarts its activity`() {
        var (run, key) = Self.shown()
        run.register(.start, 2, of: key)
        run.state(.canceled, of: key, reason: "expired")
        let end = run.send()[0]
        run.state(.active, of: key)
        #expect(run.send().isEmpty)
        run.end(end)
        #expect(run.run(2).map(\.push).events == ["start"])
    }

    @Test func `a session with a cleared state is over`() {
        var (run, key) = Self.shown()
        run.forgetState(of: key)
        #expect(run.exchange().events == ["end"])
    }

    @Test func `finished sessions without devices are evicted`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.state(.saving, of: key)
        #expect(run.machine.entries.isEmpty)
        run.state(.completed, of: ActivityMachineRun.key(2))
        #expect(run.machine.entries.isEmpty)
    }
}
