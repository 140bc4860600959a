import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// A client that follows `next` ends with exactly the workouts that the pages list, whatever happens between its requests.
struct ChangesStormTests {
    /// A client's copy.
    private struct Copy {
        var workouts: [SessionID: WorkoutOverview] = [:]
        var cursor = ChangeCursor(0)

        mutating func take(_ reply: Reply) {
            if reply.reset == true { workouts = [:] }
            for change in reply.changes ?? [] {
                switch change {
                case .workout(let workout): workouts[workout.session] = workout
                case .deleted(let session, _): workouts[session] = nil
                }
            }
            if case .changedAfter(let next) = reply.next { cursor = next }
        }
    }

    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let user = User("demo")!

    init() throws {
        folder = try TemporaryFolder()
    }

    private func command(_ key: SessionKey, _ action: SessionAction, at: Timestamp) -> MQTTMessage {
        Topic.session(key, .command).message(
            JSONCoding.encode(Command(id: CommandID(UUID()), client: Client("c")!, at: at, action: action)))
    }

    private func request(_ action: UserRequest.Action) -> MQTTMessage {
        Topic.user(user, .request).message(
            JSONCoding.encode(UserRequest(id: CommandID(UUID()), client: Client("c")!, action: action)))
    }

    private func files(_ name: String) throws -> [URL] {
        let all = try FileManager.default.contentsOfDirectory(
            at: URL(filePath: folder.file("")), includingPropertiesForKeys: nil)
        return all.filter { $0.lastPathComponent.hasPrefix(name) }
    }

    /// Ends a process: what is not on disk is lost.
    private func stop(_ engine: inout Engine?) async {
        await engine?.store.close()
        engine = nil
    }

    /// Copies the store's files; the engine must be stopped.
    private func copy(from old: String, to new: String) throws {
        for file in try files(new) { try FileManager.default.removeItem(at: file) }
        for file in try files(old) {
            let name = new + file.lastPathComponent.dropFirst(old.count)
            try FileManager.default.copyItem(at: file, to: URL(filePath: folder.file(name)))
        }
    }

    /// A workout that ended long ago, uploaded now.
    private func upload(_ engine: inout Engine, _ key: SessionKey, at: Timestamp) async throws {
        var begin = SessionStart(activity: .running, countdown: 0)
        begin.endAt = at + 60
        _ = try await engine.deliver([
            command(key, .start(begin), at: at), command(key, .end(streams: [:]), at: at + 60),
        ])
    }

    /// A late item, which revises a finished record.
    private func revision(_ key: SessionKey, _ revision: Int64) -> MQTTMessage {
        var totals = MetricsSummary()
        totals.distance = Double(revision)
        return Topic.session(key, .summaryMetrics).message(
            JSONCoding.encode(
                MetricsReport(revision: revision, state: .max >> 12, next: [:], chunks: 1, totals: totals)))
    }

    /// Reads one or all pages of changes.
    private func sync(_ copy: inout Copy, _ engine: inout Engine, pages: Int = .max) async throws {
        var left = pages
        while left > 0 {
            clock.advance(by: .milliseconds(150))
            let reply = try await engine.deliver([request(.workoutChanges(after: copy.cursor))]).replies.first
            // While writes fail there are no replies.
            guard let reply else { return }
            try #require(reply.ok)
            copy.take(reply)
            if reply.more != true { return }
            left -= 1
        }
    }

    /// The workouts that the pages list.
    private func listed(_ engine: inout Engine) async throws -> [SessionID: WorkoutOverview] {
        var found: [SessionID: WorkoutOverview] = [:]
        var place: HistoryPlace?
        repeat {
            clock.advance(by: .milliseconds(150))
            let page = try #require(
                try await engine.deliver([request(.workouts(HistoryQuery(before: place, limit: 100)))]).replies.first)
            for workout in page.workouts ?? [] { found[workout.session] = workout }
            place = page.next?.place
        } while place != nil
        return found
    }

    @Test(arguments: [0, 1])
    func `after a restore, a page read before it is no place to go on`(known: Int) async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        var copy = Copy()
        let keys = (0..<140).map { _ in SessionKey(user, SessionID(UUID())) }
        for (number, key) in keys.enumerated() {
            if number == known { try await sync(&copy, &engine!) }
            try await upload(&engine!, key, at: clock.now - 100_000)
            clock.advance(by: .seconds(31))
            _ = try await engine!.tick()
        }
        await stop(&engine)
        try self.copy(from: "engine.sqlite", to: "backup.sqlite")
        engine = try await Engine(folder, clock: clock)
        // Of the oldest changes, the page then lacks these two: one is later, one is gone.
        _ = try await engine!.deliver([revision(keys[2], 9), request(.deleteWorkout(keys[3].session))])
        clock.advance(by: .seconds(31))
        _ = try await engine!.tick()
        try await sync(&copy, &engine!, pages: 1)
        #expect(copy.workouts[keys[2].session] == nil && copy.workouts[keys[3].session] == nil)
        await stop(&engine)
        try self.copy(from: "backup.sqlite", to: "engine.sqlite")
        clock.advance(by: .seconds(60))
        engine = try await Engine(folder, clock: clock)
        try await sync(&copy, &engine!)
        #expect(try await copy.workouts == listed(&engine!))
    }

    @Test(arguments: 0..<Tier.runs(4, nightly: 24))
    func `copies equal the listed workouts after any changes, crashes, clock steps and restores`(run: Int) async throws
    {
        var random = SeededRandom()
        var engine: Engine? = try await Engine(folder, clock: clock)
        var copies = Array(repeating: Copy(), count: 3)
        var keys: [SessionKey] = []
        var hasBackup = false
        var wasRestored = false
        /// The largest cursor that any client may have.
        var issued: Int64 = 0
        var revision: Int64 = 1
        for _ in 0..<220 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<30:
                // Several workouts finish in one tick.
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    let key = SessionKey(user, SessionID(UUID()))
                    let at = clock.now - Double(Int.random(in: 1...9, using: &random)) * 100_000
                    try await upload(&engine!, key, at: at)
                    keys.append(key)
                }
            case 30..<36:
                let key = SessionKey(user, SessionID(UUID()))
                _ = try await engine!.deliver([
                    command(key, .start(SessionStart(activity: .hiking, countdown: 0)), at: clock.now),
                    command(key, .discard, at: clock.now), command(key, .recover, at: clock.now),
                ])
                keys.append(key)
            case 36..<50:
                // Late items revise finished records, several in one batch.
                let some = (0..<3).compactMap { _ in keys.randomElement(using: &random) }
                _ = try await engine!.deliver(
                    some.map { key in
                        revision += 1
                        return self.revision(key, revision)
                    })
            case 50..<58:
                let some = (0..<2).compactMap { _ in keys.randomElement(using: &random) }
                _ = try await engine!.deliver(some.map { request(.deleteWorkout($0.session)) })
            case 58: _ = try await engine!.deliver([request(.deleteEverything)])
            case 59..<63: clock.advance(by: .seconds(49 * 3_600))
            case 63: clock.advance(by: .seconds(91 * 86_400))
            case 64..<68:
                let step = Double(Int.random(in: -7_200...7_200, using: &random))
                // After a restore the clock shows no earlier time than before it.
                let earliest = wasRestored ? Double(issued + 1 - clock.now.milliseconds) / 1_000 : -.infinity
                clock.step(by: .seconds(max(step, earliest)))
            case 68..<72: engine!.store.refuse(Bool.random(using: &random))
            case 72..<78:
                await stop(&engine)
                engine = try await Engine(folder, clock: clock)
            case 78:
                await stop(&engine)
                try copy(from: "engine.sqlite", to: "backup.sqlite")
                hasBackup = true
                engine = try await Engine(folder, clock: clock)
            case 79..<81 where hasBackup:
                await stop(&engine)
                try copy(from: "backup.sqlite", to: "engine.sqlite")
                // A restore takes minutes.
                wasRestored = true
                let ahead = Double(issued - clock.now.milliseconds) / 1_000
                clock.step(by: .seconds(max(0, ahead) + 60))
                engine = try await Engine(folder, clock: clock)
            case 81..<90:
                clock.advance(by: .seconds(Int.random(in: 1...40, using: &random)))
            default:
                let number = Int.random(in: 0..<3, using: &random)
                try await sync(&copies[number], &engine!, pages: Bool.random(using: &random) ? 1 : .max)
            }
            if Bool.random(using: &random) { _ = try await engine!.tick() }
            issued = copies.map(\.cursor.latest).reduce(issued, max)
        }
        engine!.store.refuse(false)
        for _ in 0..<8 {
            clock.advance(by: .seconds(61))
            _ = try await engine!.tick()
        }
        let listed = try await listed(&engine!)
        for number in copies.indices {
            try await sync(&copies[number], &engine!)
            let copy = copies[number].workouts
            let wrong = Set(copy.keys).union(listed.keys).filter { copy[$0] != listed[$0] }
            #expect(wrong.isEmpty, "seed \(random.seed), client \(number)")
        }
    }
}
