import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

/// A device's way into a virtual run, against a scripted virtual-run.
@Suite struct RunEntryTests {
    private let clock = ManualClock()
    private let ann = User("ann")!
    private let ben = User("ben")!
    private let virtualRun: FakeVirtualRun

    init() {
        virtualRun = FakeVirtualRun([ann, ben], clock: clock)
    }

    private func entry(_ user: User, accepts: Bool = true, way: RunEntry.Way = .show) -> RunEntry {
        var entry = RunEntry(
            user: user, run: virtualRun.run, accepts: accepts, way: way, client: Client("device-1")!,
            newID: { CommandID(UUID()) })
        entry.connected()
        return entry
    }

    /// Sends what an entry has to send and delivers the answers to all entries, until nothing is left.
    private func settle(_ entries: inout [RunEntry], users: [User]) {
        while true {
            var answers: [MQTTMessage] = []
            for index in entries.indices {
                answers += entries[index].takeOutgoing(clock.moment).flatMap(virtualRun.answer)
            }
            guard !answers.isEmpty else { return }
            deliver(answers, to: &entries, users: users)
        }
    }

    private func deliver(_ messages: [MQTTMessage], to entries: inout [RunEntry], users: [User]) {
        for message in messages {
            for (index, user) in users.enumerated() where message.topic.contains("/\(user)/") {
                #expect(entries[index].receive(message, clock.moment) == nil)
            }
        }
    }

    private func begun(_ entry: RunEntry) -> RunTicket? {
        guard case .begins(let ticket) = entry.outcome else { return nil }
        return ticket
    }

    @Test func `an invited device accepts and confirms, and both begin at the same time`() throws {
        var entries = [entry(ann), entry(ben)]
        settle(&entries, users: [ann, ben])
        let tickets = try entries.map { try #require(begun($0)) }
        #expect(Set(tickets.map(\.startAt)) == [clock.now + 1 + 3])
        #expect(tickets[0].session != tickets[1].session)
        #expect(virtualRun.requests.map(\.action.name) == ["show", "show", "accept", "confirm", "confirm"])
    }

    @Test func `without --accept it waits until the user accepts elsewhere`() throws {
        var entries = [entry(ann), entry(ben, accepts: false)]
        settle(&entries, users: [ann, ben])
        #expect(entries[1].outcome == nil)
        #expect(entries[1].awaited(clock.now).contains("--accept"))
        let request = VirtualRunRequest(
            id: CommandID(UUID()), client: nil, run: virtualRun.run, action: .accept(Sharing.Change()))
        let answers = virtualRun.answer(Topic.user(ben, .virtualRunRequest).message(JSONCoding.encode(request)))
        deliver(answers, to: &entries, users: [ann, ben])
        settle(&entries, users: [ann, ben])
        #expect(entries.allSatisfy { begun($0) != nil })
    }

    @Test func `it names those who have not confirmed and the time left`() throws {
        var entries = [entry(ann)]
        deliver(
            virtualRun.change { view in
                view.status = .confirming
                view.confirmBy = clock.now + 47
                view.participants[1].status = .accepted
            }, to: &entries, users: [ann])
        settle(&entries, users: [ann])
        #expect(entries[0].awaited(clock.now) == "ben to confirm 0:47")
        deliver(
            virtualRun.change { $0.participants[1].status = .confirmed }, to: &entries, users: [ann])
        #expect(entries[0].awaited(clock.now) == "the start")
    }

    @Test func `an unfinished session is named before the device accepts`() throws {
        let session = SessionID(UUID())
        var state = Session(
            key: SessionKey(ben, session), start: SessionStart(activity: .running, countdown: 0), at: clock.now,
            now: clock.now
        ).state(revision: 1)
        state.status = .paused
        let current = Topic.user(ben, .current).message(JSONCoding.encode(CurrentSession(revision: 1, state: state)))
        var entries = [entry(ann), entry(ben)]
        deliver([current], to: &entries, users: [ann, ben])
        settle(&entries, users: [ann, ben])
        let text = "session \(session), Outdoor Running, is paused; end or discard it first"
        #expect(entries[1].outcome == .failed(.busy(text)))
        #expect(virtualRun.requests.map(\.action.name) == ["show", "show"])

        let none = Topic.user(ben, .current).message(JSONCoding.encode(CurrentSession(revision: 2, state: nil)))
        entries = [entry(ann), entry(ben)]
        deliver([none, current], to: &entries, users: [ann, ben])
        settle(&entries, users: [ann, ben])
        #expect(entries.allSatisfy { begun($0) != nil })
    }

    @Test func `a lost reply repeats the request under the same id after 5 s`() throws {
        virtualRun.loseReplies(1)
        var entries = [entry(ann)]
        settle(&entries, users: [ann])
        clock.advance(by: .milliseconds(4_900))
        settle(&entries, users: [ann])
        #expect(virtualRun.requests.count == 1)
        clock.advance(by: .milliseconds(100))
        settle(&entries, users: [ann])
        #expect(virtualRun.requests.count == 2 && Set(virtualRun.requests.map(\.id)).count == 1)
    }

    @Test func `a view that does not follow its reply is requested again`() throws {
        var entries = [entry(ann), entry(ben)]
        // The reply to `accept` arrives, and the view does not.
        for _ in 0..<2 {
            for index in 0..<2 {
                let answers = entries[index].takeOutgoing(clock.moment).flatMap(virtualRun.answer)
                let isAccepted = virtualRun.requests.last?.action.name == "accept"
                deliver(
                    answers.filter { !isAccepted || $0.topic.contains("replies") }, to: &entries, users: [ann, ben])
            }
        }
        #expect(virtualRun.requests.last?.action.name == "accept")
        settle(&entries, users: [ann, ben])
        #expect(virtualRun.requests.last?.action.name == "accept")
        clock.advance(by: .seconds(5))
        settle(&entries, users: [ann, ben])
        #expect(entries.allSatisfy { begun($0) != nil })
    }

    @Test func `a host begins once no invitation is open`() throws {
        let cleo = User("cleo")!
        let virtualRun = FakeVirtualRun([ann, ben, cleo], clock: clock)
        let users = [ann, ben, cleo]
        var entries = users.map { user in
            var entry = RunEntry(
                user: user, run: virtualRun.run, accepts: user != cleo, client: Client("device-1")!,
                newID: { CommandID(UUID()) })
            entry.connected()
            return entry
        }
        func settle() {
            while true {
                let answers = entries.indices.flatMap {
                    entries[$0].takeOutgoing(clock.moment).flatMap(virtualRun.answer)
                }
                guard !answers.isEmpty else { return }
                deliver(answers, to: &entries, users: users)
            }
        }
        settle()
        #expect(!virtualRun.requests.contains { $0.action.name == "begin" })
        deliver(
            virtualRun.change { view in view.participants[2].status = .declined }, to: &entries, users: users)
        settle()
        #expect(virtualRun.requests.count { $0.action.name == "begin" } == 1)
        #expect(begun(entries[0]) != nil && begun(entries[1]) != nil)
        #expect(entries[2].outcome == .failed(.out(.declined, reason: nil)))
    }

    @Test(arguments: [4.9, 5.1])
    func `who learns of the start over 5 s late begins by a countdown of their own`(late: Double) throws {
        var first = [entry(ann), entry(ben)]
        settle(&first, users: [ann, ben])
        let startsAt = try #require(virtualRun.view.startsAt)
        clock.advance(by: .seconds(startsAt.seconds(since: clock.now) + late))
        var again = [entry(ben)]
        settle(&again, users: [ben])
        let ticket = try #require(begun(again[0]))
        #expect(ticket.startAt == (late < 5 ? startsAt : clock.now + 3))
        #expect(ticket.gun == startsAt)
    }

    @Test(arguments: [-90.0, 0, 600])
    func `the start is at the services' time, whatever the device's clock says`(ahead: Double) throws {
        let clock = ManualClock(now: self.clock.now - ahead)
        var entries = [entry(ann), entry(ben)]
        while true {
            let answers = entries.indices.flatMap {
                entries[$0].takeOutgoing(clock.moment).flatMap(virtualRun.answer)
            }
            guard !answers.isEmpty else { break }
            for message in answers {
                for (index, user) in [ann, ben].enumerated() where message.topic.contains("/\(user)/") {
                    _ = entries[index].receive(message, clock.moment)
                }
            }
        }
        let ticket = try #require(begun(entries[1]))
        #expect(ticket.startAt == virtualRun.view.startsAt)
        #expect(ticket.offset == ahead)
    }

    @Test func `a run that is over, a refusal and a declined invitation end it with the reason`() {
        let gone = Refusal(code: "run_not_found", message: "no such run")
        virtualRun.refuse("show", gone)
        var entries = [entry(ann)]
        settle(&entries, users: [ann])
        #expect(entries[0].outcome == .failed(.refused(gone)))
        virtualRun.refuse("show", nil)
        _ = virtualRun.change {
            $0.status = .canceled
            $0.reason = "expired"
        }
        entries = [entry(ann)]
        settle(&entries, users: [ann])
        #expect(entries[0].outcome == .failed(.over(.canceled, reason: "expired")))
        #expect("\(RunEntryFailure.over(.canceled, reason: "expired"))" == "the virtual run is canceled (expired)")
    }

    @Test func `an older view changes nothing`() throws {
        var entries = [entry(ann), entry(ben)]
        let old = virtualRun.change { _ in }
        settle(&entries, users: [ann, ben])
        let outcome = entries[0].outcome
        deliver(old, to: &entries, users: [ann, ben])
        settle(&entries, users: [ann, ben])
        #expect(entries[0].outcome == outcome)
    }
}
