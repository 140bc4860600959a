import Bus
import Foundation
import Testing
import Workouts

@testable import LiveActivityPublisher

struct MachineUpdateTests {
    @Test func `the first update is sent immediately`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        let push = run.exchange()[0]
        #expect(push.token == ActivityMachineRun.token(1) && push.environment == .sandbox && push.priority == 10)
        #expect(push.read.event == "update")
        #expect(push.read.content.distance == 100)
        #expect(push.read.stale == Int64(run.now.seconds) + 15)
        #expect(push.expiration == run.now + 15)
    }

    @Test func `pushes go out at most every two seconds, each with the newest snapshot`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        var distance = 0.0
        let sent = run.run(60) { run in
            distance += 1
            run.snapshot(of: key, distance: distance)
        }
        #expect(sent.count == 30)
        for (first, second) in zip(sent, sent.dropFirst()) {
            #expect(second.time.seconds(since: first.time) == 2)
            #expect(second.push.read.timestamp > first.push.read.timestamp)
        }
        let distances = sent.map { $0.push.read.content.distance ?? -1 }
        #expect(distances == Array(stride(from: 1.0, to: 240, by: 8)))
        #expect(sent.dropFirst().allSatisfy { $0.push.priority == 5 })
    }

    @Test func `without changes, only keep-alives are pushed`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        let sent = run.run(60)
        #expect(sent.map { $0.time.seconds(since: sent[0].time) } == [0, 10, 20, 30, 40, 50])
        #expect(Set(run.statuses.map(\.status)) == [.active])
    }

    @Test func `a failed keep-alive is retried before the activity is stale`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange()
        let start = run.now
        run.pass(10)
        #expect(run.exchange(.failed(reason: "503", retryAfter: nil)).count == 1)
        let sent = run.run(5)
        #expect(sent.map { $0.time.seconds(since: start) } == [12])
        #expect(Set(run.statuses.map(\.status)) == [.active])
    }

    @Test func `elapsed time alone is no change`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        let sent = run.run(30) { $0.snapshot(of: key, distance: 100) }
        #expect(sent.count == 3)
    }

    @Test func `an older snapshot changes nothing`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange()
        var old = MetricsSnapshot(user: key.user, revision: 5)
        old.distance = 3
        run.receive(old, of: key)
        run.pass(5)
        #expect(run.exchange().isEmpty)
        run.pass(5)
        #expect(run.exchange().map { $0.read.content.distance } == [100])
    }

    @Test func `state changes have priority 10, measurements priority 5`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange()
        for (status, isPaused) in [(SessionStatus.paused, true), (.active, false), (.suspended, true)] {
            run.pass(2)
            run.state(status, of: key)
            let change = run.exchange()
            #expect(change.map(\.priority) == [10])
            #expect(change.map { $0.read.content.isPaused } == [isPaused])
            run.pass(2)
            run.snapshot(of: key, distance: run.now.seconds)
            #expect(run.exchange().map(\.priority) == [5])
        }
    }

    @Test func `elapsed time stops during a pause and continues from the newest item`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        let running = run.exchange()[0].read.content
        #expect(running.elapsedTime == 60 && running.asOf == run.now.seconds)
        run.pass(10)
        let pausedAt = run.now
        run.state(.paused, of: key)
        let paused = run.exchange()[0].read.content
        #expect(paused.elapsedTime == 70 && paused.asOf == pausedAt.seconds)
        run.pass(100)
        run.state(.active, of: key)
        let resumed = run.exchange()[0].read.content
        #expect(resumed.elapsedTime == 70 && resumed.asOf == run.now.seconds)
    }

    @Test func `each device has at most one push in flight`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        let first = run.send()
        for _ in 0..<10 {
            run.pass(1)
            run.snapshot(of: key, distance: run.now.seconds)
            #expect(run.send().isEmpty)
        }
        run.end(first[0])
        let next = run.send()
        #expect(next.map { $0.read.content.distance } == [run.now.seconds])
    }

    @Test func `each device has its own rate limit`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        run.exchange()
        run.pass(1)
        run.register(.activity, 2, of: key, device: Device("phone-2")!)
        #expect(run.exchange().map(\.token) == [ActivityMachineRun.token(2)])
        run.pass(1)
        run.snapshot(of: key, distance: 500)
        #expect(run.exchange().map(\.token) == [ActivityMachineRun.token(1)])
    }

    @Test func `updates are not stored, but the pushed state is`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange()
        let saves = run.saves
        _ = run.run(60) { $0.snapshot(of: key, distance: $0.now.seconds) }
        #expect(run.saves == saves)
        run.state(.paused, of: key)
        _ = run.run(60)
        #expect(run.saves == saves + 2, "the state and its push")
    }

    @Test func `starts and ends precede updates, and the longest wait comes first`() {
        var run = ActivityMachineRun()
        var keys: [SessionKey] = []
        for number in 1...6 {
            let key = run.begin(number)
            run.register(.activity, number, of: key)
            keys.append(key)
            run.pass(0.1)
        }
        #expect(run.send(room: 4).count == 4)
        run.state(.saving, of: keys[5])
        let rest = run.send(room: 1)
        #expect(rest.events == ["end"])
        #expect(run.send(room: 9).map(\.key) == [keys[4]])
    }

    @Test func `two thousand sessions cost only their pushes`() {
        var run = ActivityMachineRun()
        var keys: [SessionKey] = []
        for number in 0..<2_000 {
            let uuid = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255)))
            let key = SessionKey(User("u\(number)")!, SessionID(uuid))
            run.state(.active, of: key)
            run.register(.activity, number, of: key)
            keys.append(key)
        }
        var sent = 0
        for second in 1...6 {
            for key in keys { run.snapshot(of: key, distance: Double(second)) }
            for _ in 0..<4 {
                run.pass(0.25)
                sent += run.exchange(room: 10_000).count
            }
        }
        #expect(sent == 6_000)
    }

    @Test func `a session without new messages gets no pushes`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        run.exchange()
        run.pass(Session.expiry + 1_000)
        run.exchange()
        #expect(run.run(60).isEmpty)
        #expect(run.status(key) == .stale)
        run.state(.active, of: key)
        #expect(run.exchange().count == 1)
    }
}
