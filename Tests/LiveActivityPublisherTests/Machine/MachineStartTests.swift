import Bus
import Foundation
import Testing
import Workouts

@testable import LiveActivityPublisher

struct MachineStartTests {
    @Test func `a start token begins an activity by push, exactly once after APNs accepts it`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        let pushes = run.exchange()
        #expect(pushes.events == ["start"])
        #expect(pushes[0].priority == 10)
        #expect(pushes[0].read.attributesType == "WorkoutWidgetAttributes")
        #expect(pushes[0].read.stale == Int64(run.now.seconds) + 15)
        #expect(run.disk[key]?[ActivityMachineRun.phone]?.startedAt == run.moment)
        run.snapshot(of: key, distance: 200)
        #expect(run.run(600).isEmpty)
    }

    @Test func `a start is stored before it is sent`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        let pushes = run.send()
        guard case .starting(let start)? = run.disk[key]?[ActivityMachineRun.phone]?.phase else {
            Issue.record("no start on disk")
            return
        }
        #expect(start.id == pushes.first?.id && !start.isConfirmed)
    }

    @Test func `the token that the app registers next receives the updates`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.exchange()
        run.pass(3)
        run.register(.activity, 2, of: key)
        let pushes = run.exchange()
        #expect(pushes.events == ["update"])
        #expect(pushes[0].token == ActivityMachineRun.token(2))
    }

    @Test func `the app may register its token before APNs responds`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        let start = run.send()[0]
        run.pass(0.5)
        run.register(.activity, 2, of: key)
        #expect(run.exchange().isEmpty)
        run.end(start, .failed(reason: "timeout", retryAfter: nil))
        #expect(run.run(60).map(\.push).events.contains("start") == false)
    }

    @Test func `an unconfirmed start is sent again after 30 s with the same id`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        let first = run.exchange(.failed(reason: "503", retryAfter: nil))[0]
        let again = run.run(29.75)
        #expect(again.isEmpty)
        run.pass(0.25)
        let second = run.exchange()
        #expect(second.map(\.id) == [first.id])
        #expect(run.run(120).isEmpty)
    }

    @Test func `no activity starts during the countdown`() {
        var run = ActivityMachineRun()
        let key = ActivityMachineRun.key()
        run.state(.preparing, of: key)
        run.register(.start, of: key)
        #expect(run.run(5).isEmpty)
        run.state(.active, of: key)
        #expect(run.exchange().events == ["start"])
    }

    @Test func `an expired start token is removed`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.exchange(.tokenGone(reason: "Unregistered"))
        #expect(run.disk[key]?[ActivityMachineRun.phone]?.startToken == nil)
        #expect(run.run(120).isEmpty)
        #expect(run.retained[key]?.reason == "Unregistered")
        run.register(.start, 2, of: key)
        #expect(run.exchange().events == ["start"])
    }

    @Test func `a refused start is retried after a minute`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        let first = run.exchange(.refused(reason: "TopicDisallowed"))[0]
        #expect(run.run(59.75).isEmpty)
        run.pass(0.25)
        let second = run.exchange()
        #expect(second.events == ["start"] && second[0].id != first.id)
        #expect(run.reports == [.refusing("TopicDisallowed")])
    }

    @Test func `an activity with an expired token restarts if its last start is over a minute old`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.exchange()
        run.pass(61)
        run.register(.activity, 2, of: key)
        run.exchange(.tokenGone(reason: "ExpiredToken"))
        #expect(run.run(2).map(\.push).events == ["start"])
    }

    @Test func `an activity whose token expires soon after its start waits for the app`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.exchange()
        run.pass(30)
        run.register(.activity, 2, of: key)
        run.exchange(.tokenGone(reason: "ExpiredToken"))
        #expect(run.run(120).isEmpty)
        #expect(run.status(key) == .pending)
        run.register(.activity, 3, of: key)
        #expect(run.exchange().events == ["update"])
    }

    @Test func `an activity is replaced before iOS' limit of eight hours`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        run.exchange()
        run.register(.start, 2, of: key)
        var events: [(String, Double, String, Int64?)] = []
        let began = run.now
        // Seven hours and 46 minutes in steps of ten seconds, with news of the session now and then.
        for step in 0..<2_796 {
            run.pass(10)
            if step.isMultiple(of: 360) { run.state(.active, of: key) }
            for push in run.exchange() where push.read.event != "update" {
                events.append((push.read.event, run.now.seconds(since: began), push.token, push.read.dismissal))
            }
        }
        #expect(events.map(\.0) == ["end", "start"])
        #expect(events.first.map { 27_900...27_910 ~= $0.1 } == true)
        #expect(events.first?.3 == Int64(began.seconds + (events.first?.1 ?? 0)))
        #expect(events.map(\.2) == [ActivityMachineRun.token(1), ActivityMachineRun.token(2)])
        run.register(.activity, 3, of: key)
        #expect(run.exchange().map(\.token) == [ActivityMachineRun.token(3)])
    }

    @Test func `while an end is refused, no second activity starts until iOS ends the first`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        run.exchange()
        run.register(.start, 2, of: key)
        run.pass(DeviceActivity.renewalAge - 2)
        run.state(.active, of: key)
        run.exchange()
        run.pass(2)
        var (events, longest, updatedAt) = ([String](), 0.0, run.now)
        for _ in 0..<900 {
            run.snapshot(of: key, distance: run.now.seconds)
            for push in run.send() {
                let event = push.read.event
                events.append(event)
                run.end(push, event == "end" ? .refused(reason: "BadTopic") : .delivered)
                if event == "update" { updatedAt = run.now }
            }
            longest = max(longest, run.now.seconds(since: updatedAt))
            run.pass(1)
        }
        #expect(events.count { $0 == "end" } == 7 && !events.contains("start"))
        #expect(longest <= 4, "the old activity is still updated")
        #expect(run.run(2).map(\.push).events == ["start"])
    }

    @Test func `a session that ends while its renewal is refused ends immediately`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        run.register(.start, 2, of: key)
        run.exchange()
        run.pass(DeviceActivity.renewalAge)
        for _ in 0..<60 {
            for push in run.send() {
                run.end(push, push.read.event == "end" ? .refused(reason: "BadTopic") : .delivered)
            }
            run.pass(1)
        }
        run.state(.saving, of: key)
        let ends = run.run(3).map(\.push)
        #expect(ends.events == ["end"] && ends[0].read.content.isFinished)
        #expect(run.status(key) == .ended)
    }

    @Test func `a new token at the limit belongs to another activity and is not renewed`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        run.exchange()
        run.pass(7.9 * 3_600)
        run.state(.active, of: key)
        run.register(.activity, 2, of: key)
        run.register(.start, 3, of: key)
        #expect(Set(run.run(30).map(\.push).events) == ["update"])
    }

    @Test func `without a start token an old activity continues`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        for _ in 0..<2_900 {
            run.pass(10)
            run.state(.active, of: key)
            #expect(run.exchange().allSatisfy { $0.read.event == "update" })
        }
        run.snapshot(of: key, distance: 9_000)
        run.pass(2)
        #expect(run.exchange().events == ["update"])
    }
}
