import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// The request `workouts` with `changedAfter`: a client that follows `next` keeps a copy of the history.
struct ChangesTests {
    private let start = Timestamp(seconds: 1_700_000_000)
    private let folder: TemporaryFolder
    private let clock: ManualClock
    private let user = User("demo")!

    init() throws {
        folder = try TemporaryFolder()
        clock = ManualClock(now: start)
    }

    private func command(_ key: SessionKey, _ action: SessionAction, at: Timestamp) -> MQTTMessage {
        Topic.session(key, .command).message(
            JSONCoding.encode(Command(id: CommandID(UUID()), client: Client("c")!, at: at, action: action)))
    }

    private func request(_ action: UserRequest.Action) -> MQTTMessage {
        Topic.user(user, .request).message(
            JSONCoding.encode(UserRequest(id: CommandID(UUID()), client: Client("c")!, action: action)))
    }

    private func changes(_ engine: inout Engine, after cursor: Int64) async throws -> Reply {
        try await changes(&engine, after: ChangeCursor(cursor))
    }

    private func changes(_ engine: inout Engine, after cursor: ChangeCursor) async throws -> Reply {
        clock.advance(by: .seconds(1))
        return try #require(try await engine.deliver([request(.workoutChanges(after: cursor))]).replies.first)
    }

    /// Uploads finished workouts.
    private func upload(_ engine: inout Engine, _ count: Int) async throws -> [SessionKey] {
        var keys: [SessionKey] = []
        for number in 0..<count {
            let key = SessionKey(user, SessionID(UUID()))
            let at = start - 100_000 + 100 * Double(number)
            var begin = SessionStart(activity: .running, countdown: 0)
            begin.endAt = at + 60
            _ = try await engine.deliver([
                command(key, .start(begin), at: at), command(key, .end(streams: [:]), at: at + 60),
            ])
            keys.append(key)
        }
        clock.advance(by: .seconds(11))
        for _ in 0..<3 { _ = try await engine.tick() }
        return keys
    }

    private func report(_ key: SessionKey, revision: Int64, distance: Double) -> MQTTMessage {
        var totals = MetricsSummary()
        totals.distance = distance
        let report = MetricsReport(revision: revision, state: .max >> 12, next: [:], chunks: 1, totals: totals)
        return Topic.session(key, .summaryMetrics).message(JSONCoding.encode(report))
    }

    @Test func `from 0 a client gets all workouts, and then only what changed, oldest first`() async throws {
        var engine = try await Engine(folder, clock: clock)
        #expect(try await changes(&engine, after: 0).next == .changedAfter(ChangeCursor(0)))
        let keys = try await upload(&engine, 30)
        let all = try await changes(&engine, after: 0)
        #expect(Set((all.changes ?? []).map(\.session)) == Set(keys.map(\.session)))
        #expect(all.reset == nil && all.more == nil && all.workouts == nil)
        let numbers = (all.changes ?? []).compactMap(\.changed)
        try #require(numbers.count == 30)
        #expect(numbers == Set(numbers).sorted())
        #expect(all.next == .changedAfter(ChangeCursor(numbers[29])))
        // All of them were finished in one tick.
        #expect(numbers[0] == start.milliseconds + 12_000 && numbers[29] == numbers[0] + 29)
        #expect(try await changes(&engine, after: numbers[29]).changes == [])
        _ = try await engine.deliver([
            report(keys[3], revision: 9, distance: 1_234), request(.deleteWorkout(keys[5].session)),
        ])
        clock.advance(by: .seconds(31))
        _ = try await engine.tick()
        let news = try await changes(&engine, after: numbers[29])
        #expect(news.changes?.map(\.session) == [keys[3].session, keys[5].session])
        guard case .workout(let revised) = news.changes?.first, case .deleted(_, let last) = news.changes?.last else {
            Issue.record("\(news)")
            return
        }
        #expect(revised.distance == 1_234)
        #expect(news.next == .changedAfter(ChangeCursor(last)))
        #expect(try await changes(&engine, after: 0).changes?.count == 30)
    }

    @Test func `a page of the history shows the number of each workout's last change`() async throws {
        var engine = try await Engine(folder, clock: clock)
        _ = try await upload(&engine, 3)
        let page = try await engine.deliver([request(.workouts(HistoryQuery()))]).replies.first?.workouts
        let all = try await changes(&engine, after: 0).changes
        #expect(page.map { Set($0.map(WorkoutChange.workout)) } == all.map(Set.init))
    }

    @Test func `a cursor that is ahead, or that no process issued, is reset`() async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        let keys = try await upload(&engine!, 2)
        guard case .changedAfter(let latest) = try await changes(&engine!, after: 0).next else { return }
        engine = nil
        engine = try await Engine(folder, clock: clock)
        for cursor in [latest.changed + 1, latest.changed + 1_000_000, 1] {
            let reply = try await changes(&engine!, after: cursor)
            #expect(reply.reset == true && reply.changes?.count == 2 && reply.next == .changedAfter(latest))
        }
        _ = try await engine!.deliver([request(.deleteWorkout(keys[0].session))])
        // Between the last change of the former process and the first of this one.
        #expect(try await changes(&engine!, after: latest.changed + 1).reset == true)
        let reply = try await changes(&engine!, after: latest)
        #expect(reply.reset == nil && reply.changes?.count == 1)
    }

    @Test func `a cursor older than the removed tombstones is reset`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let keys = try await upload(&engine, 23)
        guard case .changedAfter(let before) = try await changes(&engine, after: 0).next else { return }
        _ = try await engine.deliver([keys[0], keys[22]].map { request(.deleteWorkout($0.session)) })
        guard case .changedAfter(let deleted) = try await changes(&engine, after: before).next else { return }
        clock.advance(by: .seconds(89 * 86_400))
        for _ in 0..<3 { _ = try await engine.tick() }
        #expect(try await changes(&engine, after: before).changes?.count == 2)
        clock.advance(by: .seconds(2 * 86_400))
        for _ in 0..<3 { _ = try await engine.tick() }
        let reply = try await changes(&engine, after: before)
        #expect(reply.reset == true && reply.changes?.count == 21)
        #expect(try await changes(&engine, after: deleted).reset == nil)
        #expect(try await changes(&engine, after: 0).reset == nil)
    }

    @Test func `a client that reads all workouts reaches the end, although deletions are forgotten`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let keys = try await upload(&engine, 230)
        let middle = try await changes(&engine, after: 0)
        for key in keys[0..<10] {
            clock.advance(by: .seconds(1))
            _ = try await engine.deliver([request(.deleteWorkout(key.session))])
        }
        clock.advance(by: .seconds(91 * 86_400))
        for _ in 0..<3 { _ = try await engine.tick() }
        var (page, found) = (try await changes(&engine, after: 0), 0)
        while let next = page.next?.changedAfter {
            #expect(page.reset == nil)
            found += page.changes?.count ?? 0
            guard page.more == true else { break }
            #expect(next.since > next.changed)
            page = try await changes(&engine, after: next)
        }
        #expect(found == 220)
        // One that stopped in between for 91 days begins again.
        #expect(try await changes(&engine, after: try #require(middle.next?.changedAfter)).reset == true)
    }

    @Test func `after everything is deleted a client drops its copy, and no change is left`() async throws {
        var engine = try await Engine(folder, clock: clock)
        _ = try await upload(&engine, 30)
        guard case .changedAfter(let latest) = try await changes(&engine, after: 0).next else { return }
        _ = try await engine.deliver([request(.deleteEverything)])
        for _ in 0..<3 { _ = try await engine.tick() }
        let reply = try await changes(&engine, after: latest)
        #expect(reply.reset == true && reply.changes == [])
        #expect(try await engine.store.records(in: SessionRecord.changes, shards: [user.shard]).isEmpty)
        guard case .changedAfter(let next) = reply.next else { return }
        #expect(try await changes(&engine, after: next).reset == nil)
        let later = try await upload(&engine, 1)
        #expect(try await changes(&engine, after: next).changes?.map(\.session) == later.map(\.session))
    }

    @Test func `a viewer follows the changes of a user`() async throws {
        var engine = try await Engine(folder, clock: clock)
        _ = try await upload(&engine, 2)
        let viewer = User("coach")!
        let message = Topic.user(user, .viewerRequest(viewer)).message(
            JSONCoding.encode(
                ViewerRequest(
                    id: CommandID(UUID()), client: Client("v")!, action: .workoutChanges(after: ChangeCursor(0)))))
        let sent = try await engine.deliver([message])
        #expect(sent.map(\.topic) == [Topic.user(viewer, .replies(Client("v")!)).name])
        #expect(sent.replies.first?.changes?.count == 2)
    }

    @Test(arguments: [
        (#""changedAfter":5,"limit":7"#, "changedAfter: not together with before, from, to or limit"),
        (#""changedAfter":-1"#, "changedAfter: 0, or next of the previous reply"),
        (#""changedAfter":1.5"#, "changedAfter: not a whole number"), (#""changedAfter":"x""#, "changedAfter"),
        (#""changedAfter":{"changed":3}"#, "changedAfter.since: missing"),
        (#""changedAfter":{"changed":3,"since":3}"#, "changedAfter.latest: missing"),
        (#""changedAfter":{"changed":3,"since":3,"latest":-1}"#, "changedAfter: 0, or next of the previous reply"),
    ])
    func `an invalid cursor is refused with the allowed values`(fields: String, message: String) async throws {
        var engine = try await Engine(folder, clock: clock)
        let text = #"{"id":"7b0d4c1e-6a3f-4b55-9d0c-0f6f0a1b2c3d","client":"c","type":"workouts",\#(fields)}"#
        let sent = try await engine.deliver([Topic.user(user, .request).message(Array(text.utf8))])
        let error = try #require(sent.replies.first?.error)
        #expect(error.code == "invalid_command" && error.message.hasPrefix(message), "\(error.message)")
    }

    @Test func `a page of 20,000 changes reads a page`() async throws {
        var engine = try await Engine(folder, clock: clock)
        _ = try await upload(&engine, 1)
        let line = try #require(try await changes(&engine, after: 0).changes?.first)
        guard case .workout(var workout) = line, let first = workout.changed else { return }
        let writes = (1..<20_000).map { number -> StoreWrite in
            workout.changed = first - Int64(number)
            return StoreWrite(
                shard: user.shard, epoch: Epoch(1), collection: SessionRecord.changes,
                change: .put(
                    key: SessionRecord.changeKey(user, first - Int64(number)),
                    value: JSONCoding.encode(WorkoutChange.workout(workout))))
        }
        _ = try await engine.store.commit(writes)
        let before = engine.store.reads[SessionRecord.changes] ?? 0
        let clock = ContinuousClock()
        let began = clock.now
        let page = try await changes(&engine, after: 0)
        let took = clock.now - began
        print("a page of 100 of 20,000 changes: \(took)")
        #expect(page.changes?.count == 100 && page.more == true)
        #expect(engine.store.reads[SessionRecord.changes] == before + 101)
    }

    @Test func `large overviews share pages that fit a payload`() async throws {
        var engine = try await Engine(folder, clock: clock)
        _ = try await upload(&engine, 1)
        guard case .changedAfter(let first) = try await changes(&engine, after: 0).next else { return }
        let writes = (Int64(1)...100).map { number -> StoreWrite in
            // A line of a later version has fields that this one does not know.
            let line = WorkoutChange.deleted(SessionID(UUID()), changed: first.changed - number)
            let text = String(decoding: JSONCoding.encode(line), as: UTF8.self).dropLast()
            let padded = text + #","padding":"\#(String(repeating: "x", count: 4_000))"}"#
            return StoreWrite(
                shard: user.shard, epoch: Epoch(1), collection: SessionRecord.changes,
                change: .put(key: SessionRecord.changeKey(user, first.changed - number), value: Array(padded.utf8)))
        }
        _ = try await engine.store.commit(writes)
        var (cursor, found, pages) = (ChangeCursor(0), 0, 0)
        repeat {
            let page = try await changes(&engine, after: cursor)
            found += page.changes?.count ?? 0
            pages += 1
            guard case .changedAfter(let next) = page.next else { break }
            cursor = next
            if page.more != true { break }
        } while pages < 10
        #expect(found == 101 && pages == 2)
    }
}

extension WorkoutChange {
    var changed: Int64? {
        switch self {
        case .workout(let workout): workout.changed
        case .deleted(_, let changed): changed
        }
    }
}
