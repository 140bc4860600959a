import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

struct MachineAlertTests {
    private let tablet = Device("tablet-1")!

    @Test func `an invitation goes to each registered device, until its own end`() {
        var run = AlertRun()
        run.register(1)
        run.register(2, device: tablet)
        run.register(3, of: AlertRun.cleo)
        run.view(name: "Sunday run")
        let pushes = run.exchange()
        #expect(pushes.map(\.token) == [ActivityMachineRun.token(1), ActivityMachineRun.token(2)])
        #expect(Set(pushes.map(\.id)).count == 2)
        for push in pushes {
            #expect(push.owner == .user(AlertRun.ben) && push.priority == 10)
            #expect(push.expiration == run.now + 3_600)
            #expect(push.collapseID == "\(AlertRun.run())")
            #expect(push.alert.run == AlertRun.run() && push.alert.kind == .invitation)
            #expect(push.alert.aps.alert == .init(title: "Sunday run", body: "Anna invites you to run 5 km"))
        }
        run.pass(60)
        #expect(run.exchange().isEmpty)
    }

    @Test func `the start of confirming alerts until confirmBy, also after an invitation`() {
        var run = AlertRun()
        run.register()
        run.view()
        #expect(run.exchange().map(\.alert.kind) == [.invitation])
        run.view(.inviting, .accepted)
        #expect(run.exchange().isEmpty)
        run.view(.confirming, .accepted)
        let pushes = run.exchange()
        #expect(pushes.map(\.alert.kind) == [.confirm] && pushes.map(\.expiration) == [run.now + 60])
        #expect(pushes.map(\.text) == ["Run with Anna starts: confirm within 1 minute"])
        #expect(pushes.first?.alert.aps.alert.title == "Virtual run")
    }

    @Test(arguments: [
        (RunStatus.inviting, ParticipantStatus.accepted), (.inviting, .declined), (.confirming, .confirmed),
        (.confirming, .declined), (.starting, .confirmed), (.starting, .accepted), (.running, .accepted),
        (.running, .running), (.finished, .invited), (.canceled, .invited), (.canceled, .accepted), (.running, .left),
    ])
    func `whoever has nothing to answer or to confirm gets no alert`(status: RunStatus, own: ParticipantStatus) {
        var run = AlertRun()
        run.register()
        run.view(status, own)
        #expect(run.exchange().isEmpty)
        #expect(run.disk[AlertRun.ben]?.alerts == [])
    }

    @Test(arguments: [RunStatus.inviting, .confirming, .starting, .running])
    func `an invitee gets the invitation at any time before the run is over`(status: RunStatus) {
        var run = AlertRun()
        run.register()
        run.view(status)
        #expect(run.exchange().map(\.alert.kind) == [.invitation])
    }

    @Test func `a repeated view, a new revision and a restart alert no second time`() {
        var run = AlertRun()
        run.register()
        run.view(.confirming, .accepted)
        #expect(run.exchange().count == 1)
        let view = run.newestView(of: AlertRun.ben, run: AlertRun.run())!
        run.receive(view)
        #expect(run.exchange().isEmpty)
        run.view(.confirming, .accepted, others: [AlertRun.anna: .confirmed])
        #expect(run.exchange().isEmpty)
        run.crash()
        #expect(run.exchange().isEmpty)
        run.crash(after: 1, stepping: -30)
        #expect(run.exchange().isEmpty)
        run.register(2)
        run.register(3, device: tablet)
        run.crash()
        #expect(run.exchange().isEmpty)
    }

    @Test(arguments: [ParticipantStatus.declined, .invited])
    func `an invitation to the same run again is a new alert`(between: ParticipantStatus) {
        var run = AlertRun()
        run.register()
        run.view()
        let first = run.exchange()
        run.pass(10)
        if between != .invited { run.view(.inviting, between) }
        run.pass(10)
        run.view(isAgain: true)
        let second = run.exchange()
        #expect(second.map(\.alert.kind) == [.invitation] && second.map(\.id) != first.map(\.id))
        run.crash()
        #expect(run.exchange().isEmpty)
        run.view(.confirming, .accepted)
        #expect(run.exchange().map(\.alert.kind) == [.confirm])
        run.pass(10)
        run.view(.inviting, .invited)
        #expect(run.exchange().count == 1)
        run.pass(10)
        run.view(.confirming, .accepted)
        #expect(run.exchange().map(\.alert.kind) == [.confirm])
    }

    @Test func `an older view after a newer one changes nothing`() {
        var run = AlertRun()
        run.register()
        run.view(.inviting, .accepted)
        var old = run.newestView(of: AlertRun.ben, run: AlertRun.run())!
        old.revision -= 1
        old.participants = [.init(user: AlertRun.ben, status: .invited, at: run.now, sharing: .all)]
        run.receive(old)
        #expect(run.exchange().isEmpty)
    }

    @Test func `a view whose end has passed never alerts`() {
        var run = AlertRun()
        run.register()
        run.view(expiresIn: 0)
        run.view(.confirming, .accepted, run: 2, confirmIn: -1)
        run.view(run: 3, expiresIn: nil)
        #expect(run.exchange().isEmpty)
    }

    @Test func `failed pushes are retried with backoff under the same id, never after the end`() {
        var run = AlertRun()
        run.register()
        run.view(.confirming, .accepted)
        let confirmBy = run.now + 60
        var ids: [UUID] = []
        var times: [Timestamp] = []
        for _ in 0..<1_000 {
            for push in run.exchange(.failed(reason: "503", retryAfter: nil)) {
                ids.append(push.id)
                times.append(run.now)
            }
            run.pass(0.25)
        }
        #expect((4...7).contains(ids.count) && Set(ids).count == 1)
        #expect(times.allSatisfy { $0 < confirmBy })
    }

    @Test func `a refused push is retried after a minute, and at doubling intervals`() {
        var run = AlertRun()
        run.register()
        run.view(expiresIn: 86_400)
        let began = run.now
        var times: [Double] = []
        for _ in 0..<900 {
            times += run.exchange(.refused(reason: "400 BadTopic")).map { _ in run.now.seconds(since: began) }
            run.pass(1)
        }
        #expect(times == [0, 60, 120, 240, 480])
    }

    @Test func `an alert that waits for its commit until it expires is not sent`() {
        var run = AlertRun()
        run.register()
        run.view(.confirming, .accepted)
        #expect(run.send(commitTakes: 60).isEmpty)
        #expect(run.send().isEmpty)
    }

    @Test func `the text tells the time that is left when it is sent`() {
        var run = AlertRun()
        run.register()
        run.view(.confirming, .accepted, others: [AlertRun.anna: .confirmed, AlertRun.cleo: .accepted])
        #expect(run.send(commitTakes: 20).map(\.text) == ["Run with Anna and Cleo starts: confirm within 40 seconds"])
    }

    @Test func `an answer ends the retries`() {
        var run = AlertRun()
        run.register()
        run.view()
        let push = run.send()[0]
        run.view(.inviting, .accepted)
        run.end(push, .failed(reason: "503", retryAfter: nil))
        run.pass(60)
        #expect(run.exchange().isEmpty)
        #expect(run.disk[AlertRun.ben]?.alerts.map(\.pending) == [[:]])
    }

    @Test func `a cleared view ends the retries`() {
        var run = AlertRun()
        run.register()
        run.view()
        run.exchange(.failed(reason: "503", retryAfter: nil))
        run.clearView()
        run.pass(60)
        #expect(run.exchange().isEmpty)
    }

    @Test func `after a kill during a push it is repeated under its id, unless the user has answered`() {
        var run = AlertRun()
        run.register()
        run.view()
        let first = run.send()
        run.crash(receivesRetained: false)
        #expect(run.exchange().isEmpty)
        run.crash()
        let second = run.send()
        #expect(second.map(\.id) == first.map(\.id) && second.count == 1)
        run.crash(receivesRetained: false)
        run.view(.inviting, .accepted)
        #expect(run.exchange().isEmpty)
    }

    @Test func `a time to confirm that is extended extends the retries`() {
        var run = AlertRun()
        run.register()
        run.view(.confirming, .accepted, confirmIn: 30)
        run.exchange(.failed(reason: "503", retryAfter: 40))
        run.pass(20)
        run.view(.confirming, .accepted, confirmIn: 60)
        run.pass(20)
        #expect(run.exchange().map(\.expiration) == [run.now + 40])
    }

    @Test func `a wall clock that stepped backwards extends no alert`() {
        var run = AlertRun()
        run.register()
        run.view(.confirming, .accepted)
        run.exchange(.failed(reason: "503", retryAfter: 30))
        run.step(by: -3_600)
        run.pass(61)
        #expect(run.exchange().isEmpty)
        run.crash(stepping: -86_400)
        #expect(run.disk[AlertRun.ben]?.alerts.count == 1)
        let expiresAt = run.machine.notifications.entries[AlertRun.ben]!.record.alerts[0].expiresAt
        #expect(expiresAt <= run.moment + 120)
    }

    @Test func `alerts are bounded, and remembered until an hour after their end`() {
        var run = AlertRun()
        run.register()
        for number in 1...NotificationRecord.alertLimit + 1 {
            var view = VirtualRunView(
                run: RunID(UUID()), user: AlertRun.ben, revision: Int64(number), status: .inviting, host: AlertRun.anna,
                settings: RunSettings(), createdAt: run.now,
                participants: [.init(user: AlertRun.ben, status: .invited, at: run.now, sharing: .all)])
            view.expiresAt = run.now + 60
            run.receive(view)
        }
        #expect(run.exchange().count == NotificationRecord.alertLimit)
        run.pass(3_659)
        run.view()
        #expect(run.exchange().isEmpty)
        run.pass(1)
        run.view()
        #expect(run.exchange().count == 1)
        #expect(run.disk[AlertRun.ben]?.alerts.count == 1)
    }

    @Test func `canceled invitations take no room, and open ones none from the start of confirming`() {
        var run = AlertRun()
        run.register()
        for number in 1...NotificationRecord.alertLimit + 1 {
            run.view(run: number, expiresIn: 86_400)
            #expect(run.exchange().count == 1)
            run.view(.canceled, .invited, run: number)
        }
        #expect(run.disk[AlertRun.ben]?.alerts.count == NotificationRecord.alertLimit)
        for number in 201...200 + NotificationRecord.alertLimit { run.view(run: number, expiresIn: 86_400) }
        #expect(run.exchange().count == NotificationRecord.alertLimit && run.drops == 0)
        run.view(run: 301, expiresIn: 86_400)
        #expect(run.exchange().isEmpty && run.drops == 1)
        run.view(.confirming, .accepted, run: 302)
        #expect(run.exchange().map(\.alert.kind) == [.confirm])
    }

    @Test func `the views of a user are bounded`() {
        var run = AlertRun()
        run.register()
        for number in 1...Notifications.viewLimit + 10 {
            run.receive(
                VirtualRunView(
                    run: RunID(UUID()), user: AlertRun.ben, revision: Int64(number), status: .finished,
                    host: AlertRun.anna, settings: RunSettings(), createdAt: run.now, participants: []))
        }
        #expect(run.machine.notifications.entries[AlertRun.ben]?.views.count == Notifications.viewLimit)
        #expect(run.saves == 1)
    }

    @Test func `without a key nothing is pushed`() {
        var notifications = Notifications(canPush: false)
        var run = AlertRun()
        run.register()
        notifications.load(run.disk[AlertRun.ben]!, of: AlertRun.ben, now: run.moment)
        run.view()
        _ = notifications.receiveView(run.newestView(of: AlertRun.ben, run: AlertRun.run())!, now: run.moment)
        #expect(notifications.pushes(now: run.moment, room: 10).isEmpty)
    }

    // MARK: Texts

    @Test(
        arguments: [
            (.distance(5_000), .metric, "run 5 km"), (.distance(42_195), .metric, "run 42.195 km"),
            (.distance(800), .metric, "run 800 m"), (.distance(5_000), .imperial, "run 3.11 miles"),
            (.distance(1_609.344), .imperial, "run 1 mile"), (.duration(1_800), .imperial, "run for 30 minutes"),
            (.duration(3_600), .metric, "run for 1 hour"), (.duration(90), .metric, "run for 90 seconds"),
            (nil, .metric, "run"),
        ] as [(RunGoal?, Units, String)])
    func `an invitation names the goal in the reader's units`(goal: RunGoal?, units: Units, text: String) {
        var run = AlertRun()
        run.profile(units: units)
        run.register()
        run.view(goal: goal)
        #expect(run.exchange().map(\.text) == ["Anna invites you to \(text)"])
    }

    @Test(arguments: [
        ([] as [String], "Your run"), (["anna"], "Run with Anna"), (["anna", "cleo"], "Run with Anna and Cleo"),
        (["anna", "cleo", "dora"], "Run with Anna, Cleo and Dora"),
        (["anna", "cleo", "dora", "emil"], "Run with Anna, Cleo and 2 others"),
    ])
    func `the start of confirming names those who take part`(names: [String], text: String) {
        var run = AlertRun()
        run.register()
        let others = Dictionary(uniqueKeysWithValues: names.map { (User($0)!, ParticipantStatus.accepted) })
        run.view(.confirming, .accepted, others: others.merging([User("zoe")!: .declined]) { $1 })
        #expect(run.exchange().map(\.text) == ["\(text) starts: confirm within 1 minute"])
    }

    @Test func `the longest texts fit into a push`() {
        var run = AlertRun()
        run.register()
        run.view(name: String(repeating: "\"", count: RunSettings.nameLimit))
        let push = run.exchange()[0]
        #expect(push.payload.count < PushPayload.sizeLimit / 2)
        #expect(push.alert.aps.alert.title.hasPrefix("\"\"\""))
    }
}
