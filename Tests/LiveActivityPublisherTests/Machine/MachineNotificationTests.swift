import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// Registrations for notifications.
struct MachineNotificationTests {
    private let tablet = Device("tablet-1")!

    @Test func `a registration is stored and answered, and a repeat changes nothing`() {
        var run = AlertRun()
        let id = CommandID(UUID())
        #expect(run.register(1, id: id)?.ok == true)
        #expect(run.disk[AlertRun.ben]?[AlertRun.phone]?.token.token == ActivityMachineRun.token(1))
        let saves = run.saves
        #expect(run.register(1, id: id)?.ok == true)
        #expect(run.saves == saves && run.replies.count == 2)
        // A late repeat of the registration does not undo the withdrawal.
        #expect(run.register(nil)?.ok == true)
        #expect(run.register(1, id: id)?.ok == true)
        run.crash()
        #expect(run.register(1, id: id)?.ok == true)
        #expect(run.disk[AlertRun.ben]?.devices == [])
    }

    @Test func `a withdrawn device gets no alert, nor the retry of one`() {
        var run = AlertRun()
        run.register(1)
        run.register(2, device: tablet)
        run.view()
        run.exchange(.failed(reason: "503", retryAfter: nil))
        run.register(nil)
        run.pass(60)
        #expect(run.exchange().map(\.device) == [tablet])
        run.register(nil, device: tablet)
        run.view(run: 2)
        #expect(run.exchange().isEmpty)
    }

    @Test func `an unknown user's withdrawal is answered and stores nothing`() {
        var run = AlertRun()
        #expect(run.register(nil)?.ok == true)
        #expect(run.saves == 0 && run.machine.notifications.entries.isEmpty)
    }

    @Test func `a ninth device is refused until another withdraws`() {
        var run = AlertRun()
        for number in 1...NotificationRecord.deviceLimit {
            #expect(run.register(number, device: Device("phone-\(number)")!)?.ok == true)
        }
        #expect(run.register(9, device: tablet)?.error?.code == "invalid_state")
        #expect(run.register(10)?.ok == true)
        #expect(run.register(nil)?.ok == true)
        #expect(run.register(9, device: tablet)?.ok == true)
        #expect(run.disk[AlertRun.ben]?.devices.count == NotificationRecord.deviceLimit)
    }

    @Test func `a token under a new device name replaces the old one`() {
        var run = AlertRun()
        run.register(1)
        run.register(1, device: tablet)
        #expect(run.disk[AlertRun.ben]?.devices.map(\.device) == [tablet])
        run.view()
        #expect(run.exchange().map(\.device) == [tablet])
    }

    @Test func `a renamed device gets the pending alert under its id`() {
        var run = AlertRun()
        run.register(1)
        run.view()
        let first = run.exchange(.failed(reason: "503", retryAfter: nil))
        run.register(1, device: tablet)
        run.pass(60)
        let second = run.exchange()
        #expect(second.map(\.device) == [tablet] && second.map(\.id) == first.map(\.id))
    }

    @Test func `a push that ends after its shard was lost and gained is not repeated`() {
        var run = AlertRun()
        run.register(1)
        run.view()
        let push = run.send()[0]
        run.crash()
        run.end(push)
        #expect(run.exchange().isEmpty)
        #expect(run.disk[AlertRun.ben]?.alerts.map(\.pending) == [[:]])
    }

    @Test func `after all devices have withdrawn, the next one gets the alerts from meanwhile`() {
        var run = AlertRun()
        run.register(1)
        run.view(run: 1)
        #expect(run.exchange().count == 1)
        run.register(nil)
        run.view(run: 2)
        #expect(run.exchange().isEmpty)
        run.register(2, device: tablet)
        #expect(run.exchange().map(\.alert.run) == [AlertRun.run(2)])
    }

    @Test func `a user registers once a second in bursts of 30`() {
        var run = AlertRun()
        for number in 1...31 { run.register(number) }
        #expect(run.replies.map(\.ok) == Array(repeating: true, count: 30) + [false])
        #expect(run.replies.last?.error == .tooManyRegistrations)
        #expect(run.register(1, of: AlertRun.cleo)?.ok == true)
        run.pass(1)
        #expect(run.register(31)?.ok == true)
        #expect(run.disk[AlertRun.ben]?.answered.count == 31)
        run.pass(10)
        for number in 32...40 { run.register(number) }
        #expect(run.disk[AlertRun.ben]?.answered.count == NotificationRecord.answeredLimit)
    }

    @Test func `a token that APNs reports gone is removed, unless the device has registered another`() {
        var run = AlertRun()
        run.register(1)
        run.view()
        var push = run.send()[0]
        run.register(2)
        run.end(push, .tokenGone(reason: "410 Unregistered"))
        push = run.send()[0]
        #expect(push.token == ActivityMachineRun.token(2))
        // The token is gone, whatever became of the alert.
        run.view(.inviting, .accepted)
        run.end(push, .tokenGone(reason: "410 Unregistered"))
        #expect(run.disk[AlertRun.ben]?.devices == [])
        run.pass(600)
        #expect(run.exchange().isEmpty)
    }

    @Test func `a deletion of everything removes the tokens from before`() {
        var run = AlertRun()
        run.register(1)
        run.view()
        run.exchange(.failed(reason: "503", retryAfter: nil))
        run.pass(10)
        run.profile(erasedAt: run.now)
        #expect(run.disk.isEmpty && run.machine.notifications.entries.isEmpty)
        run.pass(60)
        #expect(run.exchange().isEmpty)
        // The retained profile comes again.
        run.register(2)
        run.profile(erasedAt: run.now - 60)
        #expect(run.disk[AlertRun.ben]?.devices.map(\.token.token) == [ActivityMachineRun.token(2)])
    }

    @Test func `a deletion while the process was down removes the tokens at the next profile`() {
        var run = AlertRun()
        run.register(1)
        run.crash(after: 60)
        run.profile(erasedAt: run.now - 30)
        #expect(run.disk.isEmpty)
    }

    @Test func `the users of lost shards are dropped`() {
        var run = AlertRun()
        run.register(1)
        run.register(2, of: AlertRun.cleo)
        var notifications = run.machine.notifications
        notifications.drop([AlertRun.ben.shard])
        #expect(Set(notifications.entries.keys) == [AlertRun.cleo])
    }
}
