import Bus
import Foundation
import Testing
import Workouts

@testable import LiveActivityPublisher

struct MachineOutcomeTests {
    private static let failure = PushOutcome.failed(reason: "connection refused", retryAfter: nil)

    @Test func `after failures the newest snapshot is retried with exponential backoff`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        var times: [Double] = []
        let began = run.now
        for _ in 0..<1_600 {
            run.snapshot(of: key, distance: run.now.seconds)
            for push in run.exchange(Self.failure) {
                times.append(run.now.seconds(since: began))
                #expect(push.read.content.distance == run.now.seconds)
            }
            run.pass(0.25)
        }
        #expect(times == [0, 2, 6, 14, 30, 62, 122, 182, 242, 302, 362])
        #expect(run.reports == [.failing("connection refused")])
        run.pass(60)
        run.exchange()
        #expect(run.reports == [.failing("connection refused"), .answering])
        run.pass(2)
        run.snapshot(of: key, distance: 1)
        #expect(run.exchange().count == 1)
    }

    @Test func `a Retry-After from APNs is honored`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange(.failed(reason: "TooManyRequests", retryAfter: 40))
        #expect(run.run(39.75).isEmpty)
        #expect(run.run(1).count == 1)
    }

    @Test func `a refused push is not repeated, and the next change waits 15 s`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange(.refused(reason: "PayloadTooLarge"))
        run.snapshot(of: key, distance: 300)
        #expect(run.run(14.75).isEmpty)
        let next = run.run(0.25)
        #expect(next.map { $0.push.read.content.distance } == [300])
        #expect(run.reports == [.refusing("PayloadTooLarge")])
    }

    @Test func `the status shows the last failure until a push succeeds`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange(Self.failure)
        #expect(run.retained[key]?.reason == "connection refused")
        _ = run.run(3)
        #expect(run.retained[key]?.reason == nil)
        #expect(run.status(key) == .active)
    }

    @Test func `an expired update token is removed, and the app can register another`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        run.exchange(.tokenGone(reason: "Unregistered"))
        #expect(run.disk[key]?[ActivityMachineRun.phone]?.updateToken == nil)
        #expect(run.status(key) == .pending)
        #expect(run.run(60).isEmpty)
        run.register(.activity, 2, of: key)
        #expect(run.exchange().map(\.token) == [ActivityMachineRun.token(2)])
        #expect(run.status(key) == .active)
    }

    @Test func `an outcome for an old token leaves the new one unchanged`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        let old = run.send()[0]
        run.pass(1)
        run.register(.activity, 2, of: key)
        run.end(old, .tokenGone(reason: "Unregistered"))
        run.pass(1)
        #expect(run.exchange().map(\.token) == [ActivityMachineRun.token(2)])
    }

    @Test func `an unexpected outcome changes nothing`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        let push = run.send()[0]
        run.end(push)
        run.end(push, .tokenGone(reason: "Unregistered"))
        #expect(run.disk[key]?[ActivityMachineRun.phone]?.updateToken != nil)
        run.drop(key)
        run.end(push, .tokenGone(reason: "Unregistered"))
        #expect(run.machine.entries.isEmpty)
    }

    @Test func `a clock that steps backwards delays nothing`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        let before = run.exchange()[0].read.timestamp
        run.step(by: -7_200)
        var snapshot = run.snapshots[key]!
        snapshot.revision += 1
        snapshot.distance = 400
        run.receive(snapshot, of: key)
        let sent = run.run(2.5)
        #expect(sent.map { $0.push.read.content.distance } == [400])
        #expect(sent.allSatisfy { $0.push.read.timestamp > before })
        let later = run.run(30)
        #expect(later.count == 3)
    }

    @Test func `a clock that steps backwards extends neither the retries of an end nor a status' retention`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        run.exchange()
        run.pass(2)
        run.state(.saving, of: key)
        run.exchange(.refused(reason: "BadTopic"))
        run.step(by: -86_400)
        run.pass(15)
        #expect(run.exchange(.refused(reason: "BadTopic")).events == ["end"])
        run.pass(DeviceActivity.limit - 15)
        #expect(run.status(key) == .dismissed)
        run.step(by: -86_400)
        run.pass(RetainedTopic.lifetime)
        #expect(run.retained.isEmpty && run.disk.isEmpty && run.machine.entries.isEmpty)
    }

    @Test func `the number of reported refusal kinds is bounded`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        for number in 0..<48 {
            run.register(.activity, number, of: key, device: Device("phone-\(number % 8)")!)
            run.exchange(.refused(reason: "Reason\(number)"))
            run.pass(0.5)
        }
        #expect(run.reports.count == 32)
    }
}
