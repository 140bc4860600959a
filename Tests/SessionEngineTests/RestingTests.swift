import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Sessions that only the store has, while their topics are retained, and the removal of a user's data.
struct RestingTests {
    private static let count = 45
    private let start = Timestamp(seconds: 1_700_000_000)
    private let folder: TemporaryFolder
    private let clock: ManualClock
    private let user = User("demo")!
    private let other = User("ann")!

    init() throws {
        folder = try TemporaryFolder()
        clock = ManualClock(now: start)
    }

    private func message(_ key: SessionKey, _ action: SessionAction, at: Timestamp, id: CommandID = CommandID(UUID()))
        -> MQTTMessage
    {
        Topic.session(key, .command).message(
            JSONCoding.encode(Command(id: id, client: Client("c")!, at: at, action: action)))
    }

    private func request(_ action: UserRequest.Action, of user: User) -> MQTTMessage {
        Topic.user(user, .request).message(
            JSONCoding.encode(UserRequest(id: CommandID(UUID()), client: Client("c")!, action: action)))
    }

    private func pastStart(_ number: Int) -> SessionAction {
        var start = SessionStart(activity: .running, countdown: 0)
        start.endAt = time(number) + 60
        return .start(start)
    }

    private func time(_ number: Int) -> Timestamp { start - 100_000 + 100 * Double(number) }

    /// Uploads finished workouts, oldest first.
    private func upload(_ engine: inout Engine, _ count: Int = count, of user: User? = nil) async throws -> [SessionKey]
    {
        var keys: [SessionKey] = []
        for number in 0..<count {
            let key = SessionKey(user ?? self.user, SessionID(UUID()))
            let sent = try await engine.deliver([
                message(key, pastStart(number), at: time(number)),
                message(key, .end(streams: [:]), at: time(number) + 60),
            ])
            #expect(sent.replies.map(\.ok) == [true, true])
            keys.append(key)
            if number % 15 == 14 { try await settle(&engine) }
        }
        try await settle(&engine)
        return keys
    }

    /// Waits until ended sessions are finished and surplus ones rest.
    private func settle(_ engine: inout Engine) async throws {
        clock.advance(by: .seconds(11))
        for _ in 0..<3 { _ = try await engine.tick() }
    }

    private func resting(_ engine: Engine, _ keys: [SessionKey]) -> [SessionKey] {
        keys.filter { engine.record($0) == nil }
    }

    @Test func `the newest five finished sessions are in memory, and all of them in the history`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let keys = try await upload(&engine)
        #expect(resting(engine, keys).count == Self.count - UserLimit.restingSessions)
        #expect(Set(keys.prefix(15)).isSubset(of: resting(engine, keys)))
        let page = try await engine.deliver([request(.workouts(HistoryQuery(before: nil, limit: 100)), of: user)])
            .replies.first
        #expect(page?.workouts?.map(\.session) == keys.reversed().map(\.session))
    }

    @Test func `a broker that lost everything gets all sessions again, a part at a time`() async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        let keys = try await upload(&engine!)
        engine = nil
        engine = try await Engine(folder, clock: clock)
        for isFirst in [true, false] {
            var sent = isFirst ? [] : try await engine!.connect()
            sent += try await engine!.tick()
            for key in keys where !isFirst || engine?.record(key) == nil {
                for topic in [SessionTopic.state, .workout] {
                    #expect(sent.contains { $0.topic == Topic.session(key, topic).name && !$0.payload.isEmpty })
                }
            }
        }
        #expect(resting(engine!, keys).count == keys.count - UserLimit.restingSessions)
    }

    @Test func `echoes of resting sessions change nothing, and an older or newer revision is replaced`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let keys = try await upload(&engine)
        let retained = try await engine.connect() + engine.tick()
        let echoes = retained.filter { message in
            if case .session(_, let topic) = Topic(message.topic) {
                topic == .state || topic == .workout
            } else {
                false
            }
        }
        #expect(echoes.count == 2 * keys.count)
        #expect(try await engine.deliver(echoes).isEmpty)
        #expect(resting(engine, keys).count == keys.count - UserLimit.restingSessions)
        let (older, newer) = (keys[0], keys[1])
        let revision = clock.now.milliseconds + 5_000
        let sent = try await engine.deliver([
            Topic.session(older, .state).message(Array(#"{"revision":7}"#.utf8)),
            Topic.session(newer, .workout).message(Array(#"{"revision":\#(revision)}"#.utf8)),
        ])
        #expect(sent.contains { $0.topic == Topic.session(older, .state).name })
        let again = try #require(sent.first { $0.topic == Topic.session(newer, .workout).name })
        #expect(try JSONCoding.decode(SeenRevision.self, from: again.payload).revision > revision)
    }

    @Test func `a late summary revises a resting session, and an old one does not load it`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await upload(&engine)[0]
        var totals = MetricsSummary()
        totals.distance = 1_234
        let report = MetricsReport(revision: 9, state: .max >> 12, next: [:], chunks: 1, totals: totals)
        let late = Topic.session(key, .summaryMetrics).message(JSONCoding.encode(report))
        var sent = try await engine.deliver([late])
        #expect(engine.record(key) != nil)
        clock.advance(by: .seconds(31))
        sent += try await engine.tick()
        #expect(sent.contains { $0.topic == Topic.session(key, .workout).name })
        for _ in 0..<3 { _ = try await engine.tick() }
        _ = try await upload(&engine, 21)
        #expect(engine.record(key) == nil)
        #expect(try await engine.deliver([late]).isEmpty)
        #expect(engine.record(key) == nil)
        let page = try await engine.deliver([request(.workouts(HistoryQuery(before: nil, limit: 100)), of: user)])
            .replies.first
        #expect(page?.workouts?.first { $0.session == key.session }?.distance == 1_234)
        #expect(page?.workouts?.count == Self.count + 21)
    }

    @Test func `a repeated start of a resting session gets its stored reply, and a deletion its effect`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let id = CommandID(UUID())
        let key = SessionKey(user, SessionID(UUID()))
        let begin = message(key, pastStart(0), at: time(0), id: id)
        let first = try await engine.deliver([begin, message(key, .end(streams: [:]), at: time(0) + 60)]).replies.first
        try await settle(&engine)
        let keys = try await upload(&engine)
        #expect(engine.record(key) == nil)
        let again = try await engine.deliver([begin]).replies.first
        #expect(again?.ok == true && again?.revision == first?.revision)
        #expect(engine.record(key) == nil)
        let deleted = try await engine.deliver([request(.deleteWorkout(keys[0].session), of: user)])
        #expect(deleted.replies.map(\.ok) == [true])
        #expect(deleted.contains { $0.topic == Topic.session(keys[0], .workout).name && $0.payload.isEmpty })
    }

    @Test func `topics of resting sessions are cleared after 48 hours, and deleted ones leave the store after 90 days`()
        async throws
    {
        var engine: Engine? = try await Engine(folder, clock: clock)
        let keys = try await upload(&engine!)
        _ = try await engine!.deliver([request(.deleteEverything, of: user)])
        for _ in 0..<3 { _ = try await engine!.tick() }
        let others = try await upload(&engine!, of: other)
        clock.advance(by: .seconds(49 * 3_600))
        var sent: [MQTTMessage] = []
        for _ in 0..<4 {
            sent += try await engine!.tick()
            clock.advance(by: .seconds(61))
        }
        for key in others {
            #expect(sent.last { $0.topic == Topic.session(key, .workout).name }?.payload.isEmpty == true)
            #expect(sent.last { $0.topic == Topic.session(key, .state).name }?.payload.isEmpty == true)
        }
        #expect(!sent.contains { $0.topic == Topic.session(keys[0], .state).name })
        engine = nil
        clock.advance(by: .seconds(90 * 86_400))
        engine = try await Engine(folder, clock: clock)
        sent = []
        for _ in 0..<4 {
            sent += try await engine!.tick()
            clock.advance(by: .seconds(61))
        }
        for key in keys { #expect(sent.contains { $0.topic == Topic.session(key, .state).name && $0.payload.isEmpty }) }
        for collection in [SessionRecord.sessions, SessionRecord.history] {
            let left = try await engine!.store.records(in: collection, shards: [user.shard]).map(\.key)
            #expect(!left.contains { $0.hasPrefix("\(user)/") })
        }
    }

    // MARK: Bounds

    @Test func `a page of 35,000 workouts reads a page, and equal requests read it once`() async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        let lines = (0..<35_000).map { number -> StoreWrite in
            let session = SessionID(UUID())
            let line =
                #"{"session":"\#(session)","name":"Run","activity":"running","environment":"outdoor","#
                + #""startedAt":\#(1_600_000_000 + number),"activeDuration":0,"elapsedDuration":0}"#
            let key = SessionRecord.overviewKey(
                user, HistoryPlace(at: Timestamp(seconds: Double(1_600_000_000 + number)), session: session))
            return StoreWrite(
                shard: user.shard, epoch: Epoch(1), collection: SessionRecord.overviews,
                change: .put(key: key, value: Array(line.utf8)))
        }
        #expect(try await engine!.store.commit(lines).lostShards.isEmpty)
        let before = engine!.store.reads
        let requests = (0..<60).map { _ in request(.workouts(HistoryQuery(before: nil, limit: 20)), of: user) }
        let pages = try await engine!.deliver(requests).replies
        #expect(pages.count == 60)
        #expect(pages.allSatisfy { $0.workouts?.count == 20 && $0.next != nil })
        #expect(engine!.store.reads[SessionRecord.overviews] == (before[SessionRecord.overviews] ?? 0) + 21)
        #expect(engine!.store.reads[SessionRecord.history] == before[SessionRecord.history])
        let flood = (0..<400).map { _ in request(.workouts(HistoryQuery(before: nil, limit: 20)), of: user) }
        let refused = try await engine!.deliver(flood).replies.compactMap(\.error)
        #expect(refused.count == 360)
        #expect(refused.allSatisfy { $0.code == "too_many_requests" && $0.retryAfter == 5 })
        engine = nil
    }

    @Test func `pages of any size list every workout once, newest first`() async throws {
        var random = SeededRandom()
        var engine = try await Engine(folder, clock: clock)
        let writes = (0..<200).map { _ -> (WorkoutOverview, StoreWrite) in
            let at = start + Double(Int.random(in: 0..<60, using: &random))
            let begin = SessionStart(activity: .running, countdown: 0)
            let session = Session(key: SessionKey(user, SessionID(UUID())), start: begin, at: at, now: start)
            let line = WorkoutOverview(WorkoutRecord(session, metrics: nil, isComplete: true, revision: 1))
            let change = StoreWrite.Change.put(
                key: SessionRecord.overviewKey(user, line.place), value: JSONCoding.encode(line))
            return (
                line,
                StoreWrite(
                    shard: user.shard, epoch: Epoch(1), collection: SessionRecord.overviews, change: change)
            )
        }
        _ = try await engine.store.commit(writes.map(\.1))
        let sorted = writes.map(\.0).sorted { $0.place > $1.place }
        for limit in [7, 60, 100] {
            var found: [WorkoutOverview] = []
            var place: HistoryPlace?
            repeat {
                clock.advance(by: .seconds(1))
                let page = try await engine.deliver([
                    request(.workouts(HistoryQuery(before: place, limit: limit)), of: user)
                ])
                let reply = try #require(page.replies.first)
                #expect(reply.workouts?.count ?? 0 <= limit, "seed \(random.seed)")
                found += reply.workouts ?? []
                place = reply.next?.place
            } while place != nil && found.count < 300
            #expect(found == sorted, "seed \(random.seed)")
        }
    }

    @Test func `a page of large workouts fits a payload and the next one continues`() async throws {
        var engine = try await Engine(folder, clock: clock)
        var totals = MetricsSummary()
        try totals.fill()
        let lines = (0..<100).map { number in
            var begin = SessionStart(activity: .running, countdown: 0)
            begin.name = String(repeating: "\"", count: 200)
            let at = start + Double(number)
            let session = Session(key: SessionKey(user, SessionID(UUID())), start: begin, at: at, now: start)
            let report = MetricsReport(revision: 1, state: 1, next: [:], chunks: 1, totals: totals)
            return WorkoutOverview(WorkoutRecord(session, metrics: report, isComplete: true, revision: 1))
        }
        let writes = lines.map { line in
            let change = StoreWrite.Change.put(
                key: SessionRecord.overviewKey(user, line.place), value: JSONCoding.encode(line))
            return StoreWrite(
                shard: user.shard, epoch: Epoch(1), collection: SessionRecord.overviews, change: change)
        }
        _ = try await engine.store.commit(writes)
        let first = try await engine.deliver([request(.workouts(HistoryQuery(limit: 100)), of: user)])
        let reply = try #require(first.replies.first)
        let found = try #require(reply.workouts)
        #expect(found.count < 100)
        #expect((200 * 1_024...256 * 1_024 - 512).contains(JSONCoding.encode(reply).count))
        clock.advance(by: .seconds(1))
        let second = try await engine.deliver([
            request(.workouts(HistoryQuery(before: reply.next?.place, limit: 100)), of: user)
        ])
        let rest = try #require(second.replies.first)
        #expect(rest.next == nil)
        #expect(found + (rest.workouts ?? []) == lines.sorted { $0.place > $1.place })
    }

    // MARK: Purge

    private var purgeFolder: String { folder.file("purge") }

    private func order(_ user: User) throws {
        try FileManager.default.createDirectory(atPath: purgeFolder, withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: "\(purgeFolder)/\(user)"))
    }

    @Test(arguments: [false, true]) func `an operator's purge removes a user's data, running or at the start`(
        isRunning: Bool
    ) async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        var profile = Profile()
        profile.weight = 71.25
        _ = try await engine!.deliver([request(.setProfile(profile), of: user)])
        let keys = try await upload(&engine!)
        let others = try await upload(&engine!, 3, of: other)
        let live = SessionKey(user, SessionID(UUID()))
        let begin = SessionAction.start(SessionStart(activity: .running, countdown: 0))
        _ = try await engine!.deliver([message(live, begin, at: clock.now)])
        if !isRunning { engine = nil }
        try order(user)
        clock.advance(by: .seconds(2))
        if !isRunning { engine = try await Engine(folder, clock: clock) }
        for _ in 0..<3 { _ = try await engine!.tick() }
        #expect(!FileManager.default.fileExists(atPath: "\(purgeFolder)/\(user)"))
        let retained = try await engine!.connect() + engine!.tick()
        for key in keys + [live] {
            let state = retained.last { $0.topic == Topic.session(key, .state).name }
            #expect(try state.map { try SessionState($0.payload).status } == .deleted)
        }
        #expect(engine!.profile(user) == Profile())
        let page = try await engine!.deliver([request(.workouts(HistoryQuery(before: nil, limit: 100)), of: user)])
            .replies.first
        #expect(page?.workouts?.isEmpty == true)
        let kept = try await engine!.deliver([request(.workouts(HistoryQuery(before: nil, limit: 100)), of: other)])
            .replies.first
        #expect(kept?.workouts?.count == others.count)
        // The account goes on.
        let next = SessionKey(user, SessionID(UUID()))
        #expect(try await engine!.deliver([message(next, begin, at: clock.now)]).replies.map(\.ok) == [true])
        for _ in 0..<3 { _ = try await engine!.tick() }
        #expect(engine!.session(next)?.statusName == .active)
    }

    @Test func `a removal continues after a crash at any step`() async throws {
        var random = SeededRandom()
        var engine: Engine? = try await Engine(folder, clock: clock)
        let keys = try await upload(&engine!)
        _ = try await engine!.deliver([request(.deleteEverything, of: user)])
        for _ in 0..<3 {
            for _ in 0..<Int.random(in: 0...2, using: &random) { _ = try await engine!.tick() }
            engine = nil
            engine = try await Engine(folder, clock: clock)
        }
        for _ in 0..<3 { _ = try await engine!.tick() }
        let retained = try await engine!.connect() + engine!.tick()
        for key in keys {
            let state = retained.last { $0.topic == Topic.session(key, .state).name }
            #expect(try state.map { try SessionState($0.payload).status } == .deleted, "seed \(random.seed)")
        }
    }
}
