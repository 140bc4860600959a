import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct PendingCommandsTests {
    private let start = Moment(Timestamp(seconds: 1_700_000_000))
    private let anna = User("anna")!
    private let client = Client("c")!
    private let session = SessionID(UUID())

    private func reply(_ id: CommandID, _ refusal: Refusal? = nil) -> Reply {
        Reply(id: id, revision: nil, now: start.wallClock, error: refusal)
    }

    private func command(_ message: MQTTMessage) throws -> Command {
        try JSONCoding.decode(Command.self, from: message.payload)
    }

    @Test func `a press counts at its age, is sent after it is stored, and every 5 s until the reply`() throws {
        var presses = PendingCommands()
        let id = CommandID(UUID())
        guard case .new(let changes) = presses.post(.command(session, .pause), id: id, age: 3, by: anna, start) else {
            Issue.record("not new")
            return
        }
        #expect(changes.count == 1)
        #expect(presses.take(anna, client: client, start) == [])
        presses.stored(id, of: anna)
        let message = try #require(presses.take(anna, client: client, start).first)
        #expect(message.topic == Topic.session(SessionKey(anna, session), .command).name)
        #expect(
            try command(message) == Command(id: id, client: client, at: start.wallClock - 3, action: .pause))
        #expect(presses.take(anna, client: client, start + 4.9) == [])
        #expect(presses.take(anna, client: client, start + 5) == [message])
        // A repeated POST is older; the time stays.
        #expect(presses.post(.command(session, .pause), id: id, age: 9, by: anna, start + 6) == .pending)
        #expect(presses.received(reply(id), for: anna, start + 7).outcome == .init(user: anna, reply: reply(id)))
        #expect(presses.received(reply(id), for: anna, start + 7).outcome == nil)
        #expect(presses.take(anna, client: client, start + 20) == [])
        #expect(presses.post(.command(session, .pause), id: id, age: 9, by: anna, start + 8) == .answered(reply(id)))
    }

    @Test func `an id names one press of one user`() {
        var presses = PendingCommands()
        let id = CommandID(UUID())
        _ = presses.post(.command(session, .pause), id: id, age: 0, by: anna, start)
        #expect(presses.post(.command(session, .resume), id: id, age: 0, by: anna, start) == .conflict)
        guard case .new = presses.post(.command(session, .pause), id: id, age: 0, by: User("ben")!, start) else {
            Issue.record("another user's id is taken")
            return
        }
        #expect(presses.received(reply(id), for: User("eve")!, start).outcome == nil)
    }

    @Test func `presses of a session wait for one another, other sessions do not`() throws {
        var presses = PendingCommands()
        let ids = (0..<3).map { _ in CommandID(UUID()) }
        let other = SessionID(UUID())
        _ = presses.post(.command(session, .pause), id: ids[0], age: 0, by: anna, start)
        _ = presses.post(.command(session, .end(streams: [:])), id: ids[1], age: 0, by: anna, start)
        _ = presses.post(.command(other, .lap), id: ids[2], age: 0, by: anna, start)
        for id in ids { presses.stored(id, of: anna) }
        let sent = try presses.take(anna, client: client, start).map(command)
        #expect(sent.map(\.id) == [ids[0], ids[2]])
        _ = presses.received(reply(ids[0]), for: anna, start)
        #expect(try presses.take(anna, client: client, start).map(command).map(\.id) == [ids[1]])
    }

    @Test func `a refusal answers the press, unless it says when to try again`() throws {
        var presses = PendingCommands()
        let id = CommandID(UUID())
        _ = presses.post(.command(session, .lap), id: id, age: 0, by: anna, start)
        presses.stored(id, of: anna)
        _ = presses.take(anna, client: client, start)
        let later = reply(id, Refusal(code: "limited", message: "", retryAfter: 20))
        #expect(presses.received(later, for: anna, start).outcome == nil)
        #expect(presses.take(anna, client: client, start + 19) == [])
        #expect(presses.take(anna, client: client, start + 20).count == 1)
        let final = reply(id, .sessionNotFound)
        #expect(presses.received(final, for: anna, start + 20).outcome?.reply == final)
    }

    @Test func `a user's presses are bounded, and answered ones make room`() {
        var presses = PendingCommands()
        var deleted = 0
        func post() -> PendingCommands.Posted {
            presses.post(.command(session, .lap), id: CommandID(UUID()), age: 0, by: anna, start)
        }
        for _ in 0..<PendingCommands.unfinishedLimit { _ = post() }
        #expect(post() == .full)
        for press in presses.unfinished(of: anna) {
            presses.stored(press.id, of: anna)
            _ = presses.received(reply(press.id), for: anna, start)
        }
        for _ in 0..<1_000 {
            let id = CommandID(UUID())
            guard case .new(let changes) = presses.post(.command(session, .lap), id: id, age: 0, by: anna, start)
            else { continue }
            deleted += changes.count { $0.value == nil }
            presses.stored(id, of: anna)
            _ = presses.received(reply(id), for: anna, start)
        }
        #expect(deleted == 1_000 + PendingCommands.unfinishedLimit - PendingCommands.limit)
    }

    @Test func `a press without a reply is given up after two days, and its record goes a day later`() {
        var presses = PendingCommands()
        let id = CommandID(UUID())
        _ = presses.post(.command(session, .lap), id: id, age: 0, by: anna, start)
        presses.stored(id, of: anna)
        #expect(presses.expire(start + 172_799).outcomes == [])
        #expect(presses.expire(start + 172_800).outcomes.map(\.reply.error?.code) == ["expired"])
        #expect(!presses.hasUnfinished(anna))
        #expect(presses.expire(start + 259_200).changes.map(\.value) == [nil])
        #expect(presses.users == [])
    }

    @Test func `requests keep their content over a restart`() throws {
        var presses = PendingCommands()
        let run = RunID(UUID())
        let posted: [Press] = [
            .request(.deletePlan(PlanID(UUID()))), .virtualRun(run, .confirm), .virtualRun(nil, .runs(RunsQuery())),
            .command(session, .start(SessionStart(activity: .running, countdown: 0))),
            .command(session, .plan(.skipExercise(item: "a"))),
        ]
        for press in posted {
            guard case .new(let changes) = presses.post(press, id: CommandID(UUID()), age: 1, by: anna, start) else {
                continue
            }
            let stored = try JSONCoding.decode(PendingCommand.self, from: changes[0].value ?? [], now: start + 60)
            #expect(stored.press == press)
            #expect(stored.message(client: nil) == presses.unfinished(of: anna).last?.message(client: nil))
        }
    }

    /// A service like session-engine: it applies an id once, in the order of arrival, and stores its replies.
    private struct Engine {
        var applied: [Command] = []
        var replies: [CommandID: Reply] = [:]

        mutating func receive(_ command: Command, _ now: Moment) -> Reply {
            if let reply = replies[command.id] { return reply }
            applied.append(command)
            let reply = Reply(id: command.id, revision: nil, now: now.wallClock)
            replies[command.id] = reply
            return reply
        }
    }

    @Test func `any losses, repetitions and restarts apply each press once, at the press, in order`() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            var presses = PendingCommands()
            var disk: [RecordChange.Key: [UInt8]] = [:]
            var engine = Engine()
            var now = start
            var pressed: [(id: CommandID, action: SessionAction, at: Timestamp)] = []
            var answered: [CommandID: Reply] = [:]
            func store(_ changes: [RecordChange]) { for change in changes { disk[change.key] = change.value } }
            /// The page posts again what has no answer, with the age by its own clock.
            func post(_ press: (id: CommandID, action: SessionAction, at: Timestamp)) {
                let age = now.wallClock.seconds(since: press.at)
                switch presses.post(.command(session, press.action), id: press.id, age: age, by: anna, now) {
                case .new(let changes):
                    // Killed before the commit: the page posts again.
                    guard Int.random(in: 0..<5, using: &random) > 0 else {
                        presses = PendingCommands()
                        return restart()
                    }
                    store(changes)
                    presses.stored(press.id, of: anna)
                case .answered(let reply): answered[press.id] = reply
                case .pending, .full: break
                case .conflict: Issue.record("conflict")
                }
            }
            func restart() {
                presses = PendingCommands()
                for value in disk.values {
                    guard let press = try? JSONCoding.decode(PendingCommand.self, from: value, now: now) else {
                        Issue.record("unreadable")
                        continue
                    }
                    presses.load(press, now)
                }
            }
            var rounds = 0
            while rounds < 60 || pressed.contains(where: { answered[$0.id] == nil }) {
                rounds += 1
                let isCalm = rounds > 60
                now = now + Double.random(in: 0...4, using: &random)
                if !isCalm, pressed.count < 12, Int.random(in: 0..<4, using: &random) == 0 {
                    // The page sends one press at a time.
                    if let last = pressed.last, !engine.applied.contains(where: { $0.id == last.id }) { continue }
                    let action = [SessionAction.pause, .resume, .lap].randomElement(using: &random)!
                    pressed.append(
                        (CommandID(UUID()), action, now.wallClock - Double.random(in: 0...2, using: &random)))
                    post(pressed.last!)
                }
                if !isCalm, Int.random(in: 0..<6, using: &random) == 0 { restart() }
                if Int.random(in: 0..<3, using: &random) == 0,
                    let open = pressed.first(where: { answered[$0.id] == nil })
                {
                    post(open)
                }
                if Int.random(in: 0..<5, using: &random) == 0 { presses.connected(anna) }
                for message in presses.take(anna, client: client, now) {
                    let copies = isCalm ? 1 : Int.random(in: 0...2, using: &random)
                    for _ in 0..<copies {
                        let reply = engine.receive(try command(message), now)
                        guard isCalm || Bool.random(using: &random) else { continue }
                        store(presses.received(reply, for: anna, now).changes)
                    }
                }
                guard rounds < 10_000 else {
                    Issue.record("a press stays without an answer")
                    break
                }
            }
            #expect(engine.applied.map(\.id) == pressed.map(\.id))
            for (applied, press) in zip(engine.applied, pressed) {
                #expect(abs(applied.at?.seconds(since: press.at) ?? 1) < 1e-5)
                #expect(applied.action == press.action)
            }
        }
    }
}
