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

    @Test func `the page's time of a press counts before its age, within the last two days`() throws {
        func sent(at: Double) throws -> Double? {
            var presses = PendingCommands()
            let id = CommandID(UUID())
            _ = presses.post(.command(session, .lap), id: id, age: 3, at: start.wallClock + at, by: anna, start)
            presses.stored(id, of: anna)
            let message = try #require(presses.take(anna, client: client, start).first)
            return try command(message).at?.seconds(since: start.wallClock)
        }
        // A minute on the way, a page ahead, a page that knows nothing.
        #expect(try sent(at: -63) == -63)
        #expect(try sent(at: 5) == 0)
        #expect(try sent(at: -1e9) == -PendingCommands.lifetime)
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
        guard case .full(let refusal) = post() else {
            Issue.record("the press is accepted")
            return
        }
        #expect(refusal.code == "too_many_presses" && refusal.message.hasPrefix("50 presses of "))
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

    @Test(arguments: [true, false])
    func `the bytes of a user's presses are bounded, also after a restart, and answered ones make room`(
        isAnswered: Bool
    ) throws {
        var presses = PendingCommands()
        var disk: [RecordChange.Key: RecordChange] = [:]
        var accepted = 0
        func post(_ user: User) -> Bool {
            let others = (0..<4).map { PlannedExercise(name: "\($0)" + String(repeating: "x", count: 80)) }
            let items = (0..<60).map { WorkoutDefinition.Item(name: "Exercise \($0)", alternatives: others) }
            let definition = WorkoutDefinition(sections: [WorkoutDefinition.Section(items: items)])
            let id = CommandID(UUID())
            let press = Press.request(.savePlan(PlanID(UUID()), definition))
            guard case .new(let changes) = presses.post(press, id: id, age: 0, by: user, start) else { return false }
            presses.stored(id, of: user)
            let answered = isAnswered ? presses.received(reply(id), for: user, start).changes : []
            for change in changes + answered { disk[change.key] = change.value == nil ? nil : change }
            return true
        }
        // 25 KiB each.
        for count in [45, 5] {
            for _ in 0..<count where post(anna) { accepted += 1 }
            // Replies are short.
            #expect(disk.values.reduce(0) { $0 + $1.bytes } <= PendingCommands.byteLimit * 101 / 100)
            presses = PendingCommands()
            for change in disk.values {
                presses.load(try JSONCoding.decode(PendingCommand.self, from: change.value ?? [], now: start), start)
            }
        }
        #expect(isAnswered ? accepted == 50 : (30..<45).contains(accepted))
        #expect(post(ben))
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

    @Test func `presses have the words of their buttons`() {
        let presses: [(Press, String)] = [
            (.command(session, .suspend), "Save for later"),
            (.command(session, .plan(.completeSet(SetCompletion()))), "Complete set"),
            (.command(session, .plan(.adjustDifficulty(item: nil, .harder))), "Harder"),
            (.command(session, .plan(.setPresentationMode(.list))), "Show all exercises"),
            (.request(.deletePlan(PlanID(UUID()))), "Delete plan"),
            (.virtualRun(RunID(UUID()), .confirm), "Go"), (.virtualRun(nil, .block(anna)), "Block anna"),
            (.virtualRun(RunID(UUID()), .keepWaiting), "Keep Waiting"),
        ]
        for (press, words) in presses { #expect(press.words == words) }
    }

    @Test func `a discarded press outlives answered ones`() {
        var presses = PendingCommands()
        let id = CommandID(UUID())
        _ = presses.post(.command(session, .lap), id: id, age: 0, by: anna, start)
        #expect(presses.discard(anna, start).outcomes.map(\.reply.error) == [PendingCommands.discarded])
        #expect(!presses.hasUnfinished(anna))
        for _ in 0..<2 * PendingCommands.limit {
            let id = CommandID(UUID())
            _ = presses.post(.command(session, .lap), id: id, age: 0, by: anna, start)
            _ = presses.received(reply(id), for: anna, start)
        }
        #expect(
            presses.post(.command(session, .lap), id: id, age: 0, by: anna, start)
                == .answered(reply(id, PendingCommands.discarded)))
    }

    @Test func `the deletion of everything removes the user's earlier presses, and refuses them when they come again`()
    {
        var presses = PendingCommands()
        let ids = (0..<4).map { _ in CommandID(UUID()) }
        func post(_ index: Int, age: Double = 0, by user: User, _ now: Moment) -> PendingCommands.Posted {
            presses.post(.command(session, .lap), id: ids[index], age: age, by: user, now)
        }
        _ = post(0, by: anna, start)
        _ = presses.received(reply(ids[0]), for: anna, start)
        _ = post(1, by: anna, start + 1)
        _ = post(2, by: anna, start + 3)
        _ = post(3, by: User("ben")!, start)
        let (outcomes, changes) = presses.erase(anna, at: start.wallClock + 2, start + 4)
        #expect(outcomes.map(\.reply.id) == [ids[1]])
        #expect(changes.map(\.key.key) == ids[...1].map { "anna/\($0)" } && changes.allSatisfy { $0.value == nil })
        #expect(presses.unfinished(of: anna).map(\.id) == [ids[2]] && presses.hasUnfinished(User("ben")!))
        #expect(post(1, age: 4, by: anna, start + 5) == .refused(PendingCommands.erased))
        // The retained profile repeats it, and an earlier time does not undo it.
        #expect(presses.erase(anna, at: start.wallClock - 9, start + 5).changes.isEmpty)
        #expect(post(0, age: 5, by: anna, start + 5) == .refused(PendingCommands.erased))
        guard case .new = post(0, by: anna, start + 5) else {
            Issue.record("a later press is refused")
            return
        }
        // By a clock that is ahead.
        #expect(presses.erase(anna, at: start.wallClock + 900, start + 6).changes.count == 2)
        guard case .new = post(1, by: anna, start + 7) else {
            Issue.record("a press after the deletion is refused")
            return
        }
    }

    @Test func `a press that is loaded after the deletion of everything leaves the store within a minute`() throws {
        var (stored, presses) = (PendingCommands(), PendingCommands())
        guard
            case .new(let changes) = stored.post(
                .command(session, .lap), id: CommandID(UUID()), age: 0, by: anna, start)
        else {
            Issue.record("not new")
            return
        }
        #expect(presses.erase(anna, at: start.wallClock, start).changes.isEmpty)
        presses.load(try JSONCoding.decode(PendingCommand.self, from: changes[0].value ?? [], now: start), start)
        #expect(presses.expire(start + 1).changes.map(\.value) == [nil])
        #expect(presses.users == [])
    }

    @Test func `a discard withdraws a start without reply, whichever comes first, and is sent itself`() throws {
        func started() throws -> SessionAction {
            let body = #"{"id":"0b9f6d1e-1f1a-4c58-9a55-3f0c1de0aa07","type":"start","activity":"running"}"#
            return try JSONCoding.decode(Command.self, from: Array(body.utf8)).action
        }
        let start = Press.command(session, try started())
        for isFirst in [true, false] {
            var presses = PendingCommands()
            let (begin, discard) = (CommandID(UUID()), CommandID(UUID()))
            if isFirst {
                _ = presses.post(start, id: begin, age: 0, by: anna, self.start)
                presses.stored(begin, of: anna)
                #expect(presses.take(anna, client: client, self.start).count == 1)
            }
            guard
                case .new(let changes) = presses.post(
                    .command(session, .discard), id: discard, age: 0, by: anna, self.start)
            else {
                Issue.record("not new")
                return
            }
            #expect(changes.count == (isFirst ? 2 : 1))
            presses.stored(discard, of: anna)
            let answer = presses.post(start, id: begin, age: 20, by: anna, self.start + 20)
            #expect(
                answer
                    == (isFirst
                        ? .answered(reply(begin, PendingCommands.withdrawn)) : .refused(PendingCommands.withdrawn)))
            let sent = try presses.take(anna, client: client, self.start + 20).map { try command($0).action }
            #expect(sent == [.discard])
            // The service had the start: nothing follows from its reply.
            #expect(presses.received(reply(begin), for: anna, self.start + 21).outcome == nil)
        }
    }

    @Test func `a press that another browser posts after a discard counts once, at its time`() throws {
        var presses = PendingCommands()
        let (named, late) = (CommandID(UUID()), CommandID(UUID()))
        _ = presses.post(.command(session, .lap), id: named, age: 0, by: anna, start)
        presses.stored(named, of: anna)
        #expect(presses.discard(anna, start + 10).outcomes.map(\.reply.id) == [named])
        guard case .new = presses.post(.command(session, .pause), id: late, age: 30, by: anna, start + 20) else {
            Issue.record("not new")
            return
        }
        presses.stored(late, of: anna)
        let messages = presses.take(anna, client: client, start + 20)
        #expect(try messages.map { try command($0).id } == [late])
        #expect(try messages.map { try command($0).at } == [start.wallClock - 10])
        #expect(presses.post(.command(session, .pause), id: late, age: 40, by: anna, start + 30) == .pending)
    }

    @Test func `after a discard no repeated POST, lost commit, late reply or restart sends the press`() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            var presses = PendingCommands()
            var disk: [RecordChange.Key: [UInt8]] = [:]
            var now = start
            var pressed: [CommandID] = []
            var discarded: Set<CommandID> = []
            func store(_ changes: [RecordChange]) { for change in changes { disk[change.key] = change.value } }
            for _ in 0..<100 {
                now = now + Double.random(in: 0...600, using: &random)
                switch Int.random(in: 0..<7, using: &random) {
                case 0...2:
                    let isNew = pressed.isEmpty || Bool.random(using: &random)
                    let id = isNew ? CommandID(UUID()) : pressed.randomElement(using: &random)!
                    let posted = presses.post(.command(session, .lap), id: id, age: 0, by: anna, now)
                    if isNew { pressed.append(id) }
                    if case .answered(let reply) = posted, reply.error == PendingCommands.discarded { break }
                    #expect(!discarded.contains(id))
                    guard case .new(let changes) = posted else { break }
                    // The disk may be full.
                    if Int.random(in: 0..<4, using: &random) == 0 {
                        store(presses.abandon(id, of: anna))
                    } else {
                        store(changes)
                        if Bool.random(using: &random) { presses.stored(id, of: anna) }
                    }
                case 3:
                    let ids = presses.unfinished(of: anna).map(\.id)
                    let (outcomes, changes) = presses.discard(anna, now)
                    #expect(outcomes.map(\.reply.id) == ids)
                    discarded.formUnion(ids)
                    store(changes)
                    // The failure of a commit that began before.
                    for id in ids { store(presses.abandon(id, of: anna)) }
                case 4:
                    presses = PendingCommands()
                    for value in disk.values.compactMap(\.self) {
                        presses.load(try JSONCoding.decode(PendingCommand.self, from: value, now: now), now)
                    }
                case 5:
                    if let id = pressed.randomElement(using: &random) {
                        store(presses.received(reply(id), for: anna, now).changes)
                    }
                default:
                    presses.connected(anna)
                    let sent = try presses.take(anna, client: client, now).map(command).map(\.id)
                    #expect(discarded.isDisjoint(with: sent))
                }
            }
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
                case .conflict, .refused: Issue.record("conflict")
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
