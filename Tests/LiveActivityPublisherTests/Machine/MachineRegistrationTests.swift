import Bus
import Foundation
import Testing
import Workouts

@testable import LiveActivityPublisher

struct MachineRegistrationTests {
    @Test func `a registration is stored and answered, and a repeat gets the same reply`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        let id = CommandID(UUID())
        #expect(run.register(.activity, of: key, id: id)?.ok == true)
        #expect(run.disk[key]?[ActivityMachineRun.phone]?.updateToken?.token == ActivityMachineRun.token(1))
        let saves = run.saves
        #expect(run.register(.activity, of: key, id: id)?.ok == true)
        #expect(run.saves == saves)
    }

    @Test func `a registration before the state is buffered, and answered once it is stored`() {
        var run = ActivityMachineRun()
        let key = ActivityMachineRun.key()
        let id = CommandID(UUID())
        #expect(run.register(.activity, of: key, id: id) == nil)
        #expect(run.register(.activity, of: key, id: id) == nil)
        run.pass(59)
        run.snapshot(of: key, distance: 40)
        run.state(.active, of: key)
        #expect(run.replies.map(\.ok) == [true])
        #expect(run.disk[key]?.devices.count == 1)
        #expect(run.exchange().map(\.read.content.distance) == [40])
    }

    @Test func `a registration for an unknown session is refused after a minute`() {
        var run = ActivityMachineRun()
        run.register(.activity, of: ActivityMachineRun.key())
        run.pass(59.5)
        #expect(run.replies.isEmpty)
        run.snapshot(of: ActivityMachineRun.key(), distance: 1)
        run.pass(0.5)
        #expect(run.replies.map(\.error) == [.sessionNotFound])
        #expect(run.machine.entries.isEmpty)
    }

    @Test func `buffered registrations are bounded`() {
        var run = ActivityMachineRun()
        for number in 0..<20 {
            run.register(.activity, number, of: ActivityMachineRun.key(), device: Device("phone-\(number)")!)
        }
        #expect(run.replies.map(\.error) == Array(repeating: .sessionNotFound, count: 4))
        for number in 1..<LiveActivityPublisherMachine.strangerLimit {
            let uuid = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255)))
            run.register(.activity, of: SessionKey(User("bob")!, SessionID(uuid)))
        }
        #expect(run.machine.entries.count == LiveActivityPublisherMachine.strangerLimit)
        #expect(run.register(.activity, of: ActivityMachineRun.key(2))?.error == .sessionNotFound)
        run.pass(60)
        #expect(run.machine.entries.isEmpty && run.machine.strangers.isEmpty)
    }

    @Test func `a ninth device is refused until another withdraws`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        for number in 1...8 { run.register(.activity, number, of: key, device: Device("phone-\(number)")!) }
        #expect(run.register(.activity, 9, of: key, device: Device("phone-9")!)?.error?.code == "invalid_state")
        #expect(run.register(.activity, 9, of: key, device: Device("phone-8")!)?.ok == true)
        #expect(run.register(nil, of: key, device: Device("phone-1")!)?.ok == true)
        #expect(run.register(.activity, 9, of: key, device: Device("phone-9")!)?.ok == true)
        #expect(run.retained[key]?.devices.count == 8)
    }

    @Test func `a withdrawn device that is replaced receives the end`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        for number in 1...8 { run.register(.activity, number, of: key, device: Device("phone-\(number)")!) }
        run.exchange()
        run.register(nil, of: key, device: Device("phone-1")!)
        #expect(run.register(.activity, 9, of: key, device: Device("phone-9")!)?.ok == true)
        #expect(run.register(.activity, 10, of: key, device: Device("phone-1")!)?.error?.code == "invalid_state")
        let ends = run.run(3).map(\.push).filter { $0.read.event == "end" }
        #expect(ends.map(\.token) == [ActivityMachineRun.token(1)])
        #expect(run.disk[key]?.devices.count == 8)
    }

    @Test func `at most twice the limit of withdrawn devices is kept, active ones first`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key, device: Device("phone-0")!)
        run.exchange()
        run.register(nil, of: key, device: Device("phone-0")!)
        for number in 2...40 {
            let device = Device("phone-\(number)")!
            run.register(.start, number, of: key, device: device)
            run.exchange(.failed(reason: "503", retryAfter: nil))
            run.register(nil, of: key, device: device)
        }
        #expect(run.disk[key]?.devices.count == 2 * ActivityRecord.deviceLimit)
        #expect(run.disk[key]?[Device("phone-0")!]?.updateToken != nil)
    }

    @Test func `withdrawing ends the activity immediately and stops its pushes`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, of: key)
        #expect(run.exchange().count == 1)
        #expect(run.register(nil, of: key)?.ok == true)
        #expect(run.retained[key]?.devices.isEmpty == true)
        run.crash(after: 2)
        let ends = run.run(2)
        #expect(ends.map(\.push).events == ["end"])
        #expect(ends.first?.push.read.dismissal == ends.first.map { Int64($0.time.seconds) })
        #expect(run.disk[key]?.devices.isEmpty == true)
        run.snapshot(of: key, distance: 200)
        #expect(run.run(30).isEmpty)
        run.state(.saving, of: key)
        #expect(run.run(30).isEmpty)
    }

    @Test func `a device that withdraws before its activity is known starts no second one`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.exchange()
        run.register(nil, of: key)
        #expect(run.retained[key]?.devices.isEmpty == true)
        run.crash()
        #expect(run.run(60).isEmpty)
        run.register(.start, 2, of: key)
        #expect(run.run(120).isEmpty)
        run.register(.activity, 3, of: key)
        #expect(run.exchange().map(\.token) == [ActivityMachineRun.token(3)])
    }

    @Test func `a device that registers again continues, or restarts if its end is in flight`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        run.exchange()
        run.register(nil, of: key)
        run.register(.start, 2, of: key)
        #expect(
            run.run(30).allSatisfy { $0.push.read.event == "update" && $0.push.token == ActivityMachineRun.token(1) })
        run.register(nil, of: key)
        run.pass(2)
        let end = run.send()
        run.register(.start, 3, of: key)
        #expect(run.send().isEmpty)
        for push in end { run.end(push) }
        #expect(run.run(2).map(\.push.token) == [ActivityMachineRun.token(3)])
        #expect(end.events == ["end"])
    }

    @Test func `a finished session keeps no withdrawn devices`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.start, of: key)
        run.exchange()
        run.register(nil, of: key)
        run.state(.saving, of: key)
        run.pass(8 * 3_600)
        #expect(run.disk[key]?.devices.isEmpty == true)
    }

    @Test func `withdrawing an unknown registration is answered and stores nothing`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        #expect(run.register(nil, of: key)?.ok == true)
        #expect(run.disk.isEmpty && run.statuses.isEmpty)
    }

    @Test func `a new token replaces the old one and is updated immediately`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        run.register(.activity, 1, of: key)
        run.exchange()
        run.pass(2)
        run.register(.activity, 2, of: key)
        #expect(run.exchange().map(\.token) == [ActivityMachineRun.token(2)])
    }

    @Test func `registering repeatedly does not exceed one push every two seconds`() {
        var run = ActivityMachineRun()
        let key = run.begin()
        var sent = 0
        for number in 0..<40 {
            run.register(.activity, number, of: key)
            sent += run.exchange().count
            run.register(nil, of: key)
            run.pass(0.25)
        }
        #expect(sent == 5)
    }

    @Test func `without a key registrations are answered, nothing is sent and the status stays pending`() {
        var run = ActivityMachineRun(canPush: false)
        let key = run.begin()
        #expect(run.register(.activity, of: key)?.ok == true)
        #expect(run.register(.start, 2, of: key, device: Device("phone-2")!)?.ok == true)
        #expect(run.run(60).isEmpty)
        #expect(run.statuses.map(\.status) == [.pending, .pending])
        run.state(.saving, of: key)
        #expect(run.run(60).isEmpty)
        #expect(run.status(key) == .pending)
        run.state(.deleted, of: key)
        #expect(run.disk.isEmpty && run.retained.isEmpty && run.machine.entries.isEmpty)
    }
}
