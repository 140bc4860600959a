import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// What one account can begin, and what it can take of the engine's memory.
struct UserLimitTests {
    private static let day = 86_400.0
    private let user = User("demo")!
    private let began = Timestamp(seconds: 1_700_000_000)
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A plan of about 24 KB.
    private static let plan: WorkoutDefinition = {
        let name = String(repeating: "x", count: 80)
        let set = PlannedSet(repetitions: 8, weight: 62.5, time: 30, rest: 90)
        let item = WorkoutDefinition.Item(
            name: name, sets: [set, set], alternatives: [PlannedExercise(name: "y" + name)])
        let section = WorkoutDefinition.Section(items: Array(repeating: item, count: 12))
        return WorkoutDefinition(sections: Array(repeating: section, count: 5))
    }()

    private func command(_ action: SessionAction, at: Timestamp? = nil) -> Command {
        Command(id: CommandID(UUID()), client: Client("c")!, at: at, action: action)
    }

    private func start(_ plan: WorkoutDefinition? = nil, replaces: Bool = true, endAt: Timestamp? = nil) -> SessionStart
    {
        var start = SessionStart(activity: .running, countdown: 0)
        start.definition = plan
        start.replace = replaces
        start.endAt = endAt
        return start
    }

    private func reply(_ actions: [SessionEngineAction]) -> Reply? {
        actions.compactMap { if case .reply(_, _, let reply) = $0 { reply } else { nil } }.last
    }

    private func send(
        _ machine: inout SessionEngineMachine, _ action: SessionAction, _ key: SessionKey, _ now: Timestamp
    )
        -> Reply?
    {
        reply(machine.applyCommand(command(action), for: key, now: Moment(now)))
    }

    @Test func `32,099 starts that replace with a 24 KB plan leave 50 small records and one plan`() throws {
        var machine = SessionEngineMachine()
        var accepted = 0
        for number in 0..<32_099 {
            let key = SessionKey(user, SessionID(UUID()))
            let reply = try #require(send(&machine, .start(start(Self.plan)), key, began + Double(number) / 100))
            if reply.ok {
                accepted += 1
            } else {
                #expect(reply.error?.code == "too_many_sessions")
                #expect(reply.error?.retryAfter == (3_600 - Double(number) / 100).rounded(.up))
            }
        }
        #expect(accepted == UserLimit.sessionsAnHour)
        #expect(machine.entries.count == accepted)
        #expect(machine.entries.values.count { $0.record.session.planned != nil } == 1)
        let small = machine.entries.values.filter { $0.record.session.planned == nil }
        #expect(small.allSatisfy { JSONCoding.encode($0.record).count < 2_000 })
    }

    @Test func `a start is accepted when retryAfter has passed, and not before`() throws {
        var machine = SessionEngineMachine()
        var now = began
        var begun = 0
        while begun < UserLimit.sessionsADay {
            let key = SessionKey(user, SessionID(UUID()))
            guard let refusal = send(&machine, .start(start()), key, now)?.error else {
                begun += 1
                continue
            }
            #expect(send(&machine, .start(start()), key, now + (try #require(refusal.retryAfter) - 1))?.ok == false)
            now = now + (try #require(refusal.retryAfter))
        }
        #expect(now.seconds(since: began) == 3 * 3_600)
        let wait = send(&machine, .start(start()), SessionKey(user, SessionID(UUID())), now)?.error?.retryAfter
        #expect(wait == Self.day - 3 * 3_600)
        #expect(send(&machine, .start(start()), SessionKey(user, SessionID(UUID())), began + Self.day)?.ok == true)
    }

    @Test func `another user is not affected`() {
        var machine = SessionEngineMachine()
        for _ in 0..<60 { _ = send(&machine, .start(start()), SessionKey(user, SessionID(UUID())), began) }
        #expect(send(&machine, .start(start()), SessionKey(User("ann")!, SessionID(UUID())), began)?.ok == true)
    }

    @Test func `past sessions have a limit of their own, and a limit on the bytes of their plans`() throws {
        var machine = SessionEngineMachine()
        func upload(_ plan: WorkoutDefinition?, _ now: Timestamp) -> Reply? {
            let key = SessionKey(user, SessionID(UUID()))
            let past = start(plan, endAt: began - 1)
            let actions = machine.applyCommand(command(.start(past), at: began - 60), for: key, now: Moment(now))
            _ = machine.applyCommand(command(.end(streams: [:]), at: began - 1), for: key, now: Moment(now))
            _ = machine.advance(to: Moment(now + 11))
            for case .rest(let key) in machine.advance(to: Moment(now + 12)) { _ = machine.messages(for: .rest(key)) }
            return reply(actions)
        }
        _ = machine.connected(now: Moment(began))
        for number in 0..<100 { #expect(upload(nil, began + 20 * Double(number))?.ok == true) }
        #expect(machine.entries.count <= UserLimit.restingSessions + 1)
        var quota = UserQuota()
        for _ in 0..<UserLimit.pastSessionsADay {
            #expect(quota.reached(isPast: true, planBytes: { 0 }, Moment(began)) == nil)
            quota.begin(isPast: true, planBytes: 0, Moment(began))
        }
        #expect(quota.reached(isPast: true, planBytes: { 0 }, Moment(began + 60))?.0 == .past)
        #expect(quota.reached(isPast: true, planBytes: { 0 }, Moment(began + 60))?.1 == Self.day - 60)
        #expect(quota.reached(isPast: false, planBytes: { 0 }, Moment(began + 60)) == nil)
        #expect(quota.reached(isPast: false, planBytes: { UserLimit.planBytesADay }, Moment(began)) == nil)
        quota.begin(isPast: false, planBytes: UserLimit.planBytesADay, Moment(began))
        #expect(quota.reached(isPast: false, planBytes: { 1 }, Moment(began))?.0 == .plans)
    }

    @Test func `20 sessions can be unfinished or expired`() throws {
        var machine = SessionEngineMachine()
        _ = machine.connected(now: Moment(began))
        func begin(_ number: Int, _ now: Timestamp) -> Reply? {
            let at = began - 100_000 + Double(number) * 100
            let past = start(replaces: false, endAt: at + 50)
            let key = SessionKey(user, SessionID(UUID()))
            return reply(machine.applyCommand(command(.start(past), at: at), for: key, now: Moment(now)))
        }
        for number in 0..<UserLimit.openSessions { #expect(begin(number, began)?.ok == true) }
        #expect(begin(90, began)?.error?.code == "too_many_sessions")
        _ = machine.advance(to: Moment(began + Session.expiry + 61))
        #expect(machine.table.statusCounts[.canceled] == UserLimit.openSessions)
        let refusal = begin(91, began + Session.expiry + 61)?.error
        #expect(refusal?.code == "too_many_sessions")
        let later = began + Session.expiry + 61 + (try #require(refusal?.retryAfter))
        _ = machine.advance(to: Moment(later))
        #expect(begin(92, later)?.ok == true)
    }

    @Test func `replies of all sessions together are bounded, and a session can always be ended`() throws {
        var machine = SessionEngineMachine()
        var key = SessionKey(user, SessionID(UUID()))
        var refused: Refusal?
        for _ in 0..<6 where refused == nil {
            key = SessionKey(user, SessionID(UUID()))
            _ = send(&machine, .start(start()), key, began)
            for number in 0..<1_990 where refused == nil {
                refused = send(&machine, number.isMultiple(of: 2) ? .pause : .resume, key, began)?.error
            }
        }
        #expect(refused?.code == "too_many_commands")
        let replies = machine.entries.values.reduce(0) { $0 + $1.replies.count }
        #expect(replies <= UserLimit.replies + 10)
        #expect(send(&machine, .end(streams: [:]), key, began)?.ok == true)
    }

    @Test func `whatever a user sends, memory stays within the limits, and every refusal says when to try again`()
        throws
    {
        var random = SeededRandom()
        for _ in 0..<6 {
            var machine = SessionEngineMachine()
            var now = began
            _ = machine.connected(now: Moment(now))
            var keys: [SessionKey] = []
            var begunAt: [Timestamp] = []
            for _ in 0..<1_500 {
                now = now + Double.random(in: 0...400, using: &random)
                // Surplus sessions rest with the next tick.
                for _ in 0..<2 {
                    for action in machine.advance(to: Moment(now)) { _ = machine.messages(for: action) }
                }
                let resting = machine.entries.values.count { $0.canRest }
                #expect(resting <= UserLimit.restingSessions, "seed \(random.seed)")
                let isNew = keys.isEmpty || Bool.random(using: &random)
                let key = isNew ? SessionKey(user, SessionID(UUID())) : keys.randomElement(using: &random)!
                let end = now - Double.random(in: -100...4_000, using: &random)
                let actions: [SessionAction] = [
                    .start(start(replaces: Bool.random(using: &random))), .start(start(replaces: false, endAt: end)),
                    .discard, .recover, .end(streams: [:]), .pause, .suspend,
                ]
                let action =
                    isNew ? actions[Int.random(in: 0...1, using: &random)] : actions.randomElement(using: &random)!
                let isOld = if case .start(let start) = action { start.endAt != nil } else { false }
                let command = command(action, at: isOld ? end - 60 : nil)
                let done = machine.applyCommand(command, for: key, now: Moment(now))
                for action in done { _ = machine.messages(for: action) }
                let answer = try #require(self.reply(done))
                if answer.error?.code.hasPrefix("too_many") == true {
                    #expect(answer.error?.retryAfter ?? 0 >= 1, "seed \(random.seed)")
                }
                if case .start(let start) = action, answer.ok {
                    keys.append(key)
                    if start.endAt.map({ $0 > now }) ?? true { begunAt.append(now) }
                }
                let records = machine.entries.values.map(\.record.session)
                #expect(records.count <= UserLimit.sessionsInMemory, "seed \(random.seed)")
                let expired = records.count {
                    if case .canceled(.expired, _) = $0.status { true } else { $0.isUnfinished }
                }
                #expect(expired <= UserLimit.openSessions, "seed \(random.seed)")
            }
            // A window begins with its first session, so two may meet within any hour.
            for at in begunAt {
                let hour = begunAt.count { (0..<3_600).contains($0.seconds(since: at)) }
                #expect(hour <= 2 * UserLimit.sessionsAnHour, "seed \(random.seed)")
                let day = begunAt.count { (0..<Self.day).contains($0.seconds(since: at)) }
                #expect(day <= 2 * UserLimit.sessionsADay, "seed \(random.seed)")
            }
        }
    }

    @Test func `the limits outlast a restart, and operators see them`() async throws {
        let clock = ManualClock(now: began)
        let log = LogRecorder()
        var engine: Engine? = try await Engine(folder, clock: clock, logger: log.logger)
        func begin(_ count: Int) async throws -> [Reply] {
            let messages = (0..<count).map { _ in
                Topic.session(SessionKey(user, SessionID(UUID())), .command)
                    .message(JSONCoding.encode(command(.start(start(Self.plan)))))
            }
            return try await engine?.deliver(messages).replies ?? []
        }
        let first = try await begin(55)
        #expect(first.count { $0.ok } == UserLimit.sessionsAnHour)
        engine = nil
        clock.advance(by: .seconds(1_800))
        engine = try await Engine(folder, clock: clock, logger: log.logger)
        let second = try await begin(3)
        #expect(second.map { $0.error?.retryAfter } == [1_800, 1_800, 1_800])
        clock.advance(by: .seconds(1_800))
        #expect(try await begin(1).map(\.ok) == [true])
        #expect(log.lines.contains("warning limit reached count=1 limit=sessions_hour user=demo"))
        // One plan for the session in progress, none for those that it replaced.
        let stored = try await engine?.store.records(in: SessionRecord.sessions, shards: [user.shard]) ?? []
        #expect(stored.count == UserLimit.sessionsAnHour + 1)
        #expect(stored.count { $0.value.count > 10_000 } == 1)
    }
}
