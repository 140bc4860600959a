import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Dashboard

private func totals(_ revision: Int64, start: Double = 0, zone: String? = nil, distance: Double? = 1000)
    -> WorkoutTotals
{
    let text = #"{"revision":0,"activity":"running","name":"Run","activeDuration":600}"#
    var totals = try! WorkoutTotals(Array(text.utf8))
    totals.revision = revision
    totals.startedAt = Timestamp(seconds: start)
    totals.timeZone = zone
    totals.distance = distance
    return totals
}

@Suite(.timeLimit(.minutes(60))) struct WorkoutIndexTests {
    private enum Message: Hashable {
        case record(SessionKey, revision: Int64, start: Double)
        case deletion(SessionKey)
        case erasure(User, at: Int64)
    }

    /// An index, and what is on disk; a kill loses what is not.
    private struct World {
        var index: WorkoutIndex
        var disk: [String: [UInt8]] = [:]
        var uncommitted: [RecordChange] = []
        let limit: Int

        init(limit: Int) {
            self.limit = limit
            index = WorkoutIndex(limit: limit)
        }

        mutating func take(_ message: Message) {
            switch message {
            case .record(let key, let revision, let start):
                uncommitted += index.receive(key, totals(revision, start: start))
            case .deletion(let key): uncommitted += index.delete(key)
            case .erasure(let user, let at):
                uncommitted += index.erase(user, at: Timestamp(microseconds: at * 1000))
            }
        }

        mutating func commit() {
            for change in uncommitted { disk[change.key.key] = change.value }
            uncommitted = []
        }

        mutating func kill() throws {
            uncommitted = []
            index = WorkoutIndex(limit: limit)
            for (name, value) in disk { index.load(try #require(SessionKey(name)), try WorkoutTotals(value)) }
        }
    }

    @Test func `of deleted sessions only the last hundred are remembered`() {
        var index = WorkoutIndex()
        let keys = (0...WorkoutIndex.limit).map { _ in SessionKey(anna, SessionID(UUID())) }
        for key in keys { #expect(index.delete(key) == []) }
        #expect(index.receive(keys[1], totals(1)) == [])
        #expect(index.receive(keys[0], totals(1)).count == 1)
    }

    @Test func `any order, repetition and kill leaves the newest revision of each workout that is not deleted`() throws
    {
        var random = SeededRandom()
        let keys = [anna, ben].flatMap { user in (0..<6).map { sessionKey(user, $0) } }
        for _ in 0..<300 {
            var messages: [Message] = []
            for (number, key) in keys.enumerated() {
                for revision in 0..<Int64.random(in: 0...3, using: &random) {
                    messages.append(.record(key, revision: 100 * Int64(number % 6) + revision, start: Double(number)))
                }
                if Int.random(in: 0..<4, using: &random) == 0 { messages.append(.deletion(key)) }
            }
            if Bool.random(using: &random) {
                messages.append(.erasure(anna, at: Int64.random(in: 0...600, using: &random)))
            }

            var expected: [SessionKey: Int64] = [:]
            for case .record(let key, let revision, _) in messages { expected[key] = max(expected[key] ?? 0, revision) }
            for message in messages {
                switch message {
                case .deletion(let key): expected[key] = nil
                case .erasure(let user, let at):
                    expected = expected.filter { $0.key.user != user || $0.value > at }
                case .record: break
                }
            }

            var world = World(limit: 100)
            for message in (messages + messages.prefix(4)).shuffled(using: &random) {
                world.take(message)
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1: world.commit()
                case 2: try world.kill()
                default: break
                }
            }
            // After a kill the broker sends what it retains again.
            for message in messages.shuffled(using: &random) { world.take(message) }
            world.commit()
            try world.kill()
            var found: [SessionKey: Int64] = [:]
            for user in [anna, ben] {
                for (session, totals) in world.index.workouts(of: user) {
                    found[SessionKey(user, session)] = totals.revision
                }
            }
            #expect(found == expected)
            #expect(Set(world.disk.keys) == Set(expected.keys.map(\.description)), "the disk has others")
        }
    }

    @Test func `a user has the latest workouts up to the limit, in memory as on disk`() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            var world = World(limit: 4)
            let messages = (0..<9).map { number in
                Message.record(sessionKey(anna, number), revision: Int64(number + 1), start: Double(number))
            }
            for message in (messages + messages).shuffled(using: &random) {
                world.take(message)
                #expect(world.index.workouts(of: anna).count <= 4)
                if Bool.random(using: &random) { world.commit() }
            }
            world.commit()
            try world.kill()
            #expect(Set(world.index.workouts(of: anna).values.map(\.revision)) == [6, 7, 8, 9])
            #expect(world.disk.count == 4)
        }
    }

    @Test func `messages of the bus fill and purge the index, and a restart keeps it`() async throws {
        let store = MemoryStore.owningAll()
        let (key, other) = (sessionKey(anna, 1), sessionKey(anna, 2))
        let now = Timestamp(seconds: 1_795_238_100)
        func record(_ key: SessionKey, _ revision: Int64) -> MQTTMessage {
            let text =
                #"{"revision":\#(revision),"activity":"cycling","name":"Ride","activeDuration":600,"distance":5000,"#
                + #""startedAt":1795238000,"timeZone":"Europe/Berlin","laps":[]}"#
            return Topic.session(key, .workout).message(Array(text.utf8))
        }
        try await Site.run(store: store) { site in
            let history = site.parts.history
            #expect(history.receive([record(key, 2), record(other, 3), record(key, 1)]).isEmpty)
            let broken = Topic.session(key, .workout).message(Array(#"{"revision":9}"#.utf8))
            #expect(history.receive([broken]).map(\.message) == [broken])
            let recent = history.recent([anna, ben], now: now)
            #expect(recent.count == 2 && recent.distance == 10_000 && recent.duration == 1200 && recent.revision == 3)
            let deleted = #"{"revision":4,"status":"deleted"}"#
            _ = history.receive([Topic.session(other, .state).message(Array(deleted.utf8)), record(other, 3)])
            #expect(history.recent([anna], now: now).latest.map(\.totals.revision) == [2])
            // Cleared after two days, which deletes nothing.
            _ = history.receive([Topic.session(key, .workout).message([])])
            #expect(history.recent([ben], now: now).latest.isEmpty)
            try await site.parts.records.committed()
        }
        store.gain(Set(Shard.all))
        try await Site.run(store: store) { site in
            #expect(site.parts.history.recent([anna], now: now).latest.map(\.totals.revision) == [2])
            let page = try await Browser.with("coach", site).open("/").text()
            #expect(page.contains("anna · Cycling · Ride") && page.contains("5.00 km"))
            #expect(page.contains("This week of anna") && page.contains(#"<a href="/live/anna/"#))
            let json = try await Browser.with("coach", site).fetch("/recent").text()
            #expect(json.contains(#""user":"anna""#))
            #expect(!(try await Browser.with("ben", site).fetch("/recent").text()).contains("anna"))
        }
    }
}

struct HistoryErasureTests {
    @Test func `the deletion of everything removes the user's presses from the store`() async throws {
        try await Site.run { site in
            let records = site.parts.records
            let annas = login(anna)
            let answer = Task {
                await site.parts.connections.perform(
                    .request(.deletePlan(PlanID(UUID()))), id: CommandID(UUID()), age: 0, for: annas)
            }
            try #require(
                await eventually { try await !records.values(PendingCommand.self, in: .presses).isEmpty })
            let profile = UserProfile(revision: 2, profile: Profile(), erasedAt: site.clock.now)
            #expect(
                site.parts.history.receive([Topic.user(anna, .profile).message(JSONCoding.encode(profile))]).isEmpty)
            #expect(await answer.value == .refused(PendingCommands.erased))
            try await records.committed()
            #expect(try await records.values(PendingCommand.self, in: .presses).isEmpty)
        }
    }
}

struct RecentWorkoutsTests {
    private func recent(_ workouts: [WorkoutTotals], _ now: Double) -> RecentWorkouts {
        RecentWorkouts(
            workouts.map { RecentWorkouts.Workout(user: anna, session: SessionID(UUID()), totals: $0) },
            now: Timestamp(seconds: now))
    }

    @Test func `a week begins on Monday in the workout's zone`() {
        // Monday 23 November 2026, 00:00 in Berlin, is Sunday 23:00 in London.
        let midnight = 1_795_388_400.0
        let before = totals(1, start: midnight - 1, zone: "Europe/Berlin")
        let after = totals(2, start: midnight, zone: "Europe/Berlin")
        let london = totals(3, start: midnight, zone: "Europe/London")
        #expect(
            recent([before, after, london], midnight - 60).count == 2, "Sunday: Berlin's last second, and London's")
        #expect(recent([before, after, london], midnight + 60).count == 2, "Monday in Berlin, Sunday in London")
        #expect(recent([before, after, london], midnight + 3600).count == 1)
        #expect(recent([before, after, london], midnight + 6 * 86_400).count == 1)
        #expect(recent([before, after, london], midnight + 7 * 86_400).count == 0)
    }

    @Test func `weeks agree with the calendar at any time in any zone`() {
        var random = SeededRandom()
        let zones = [
            "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Chatham", "Africa/Casablanca", nil,
        ]
        for _ in 0..<500 {
            let zone = zones.randomElement(using: &random)!
            var calendar = Calendar(identifier: .iso8601)
            calendar.timeZone = zone.flatMap { TimeZone(identifier: $0) } ?? .gmt
            let now = Double.random(in: 946_684_800...4e9, using: &random)
            let other = now + Double.random(in: -10 * 86_400...10 * 86_400, using: &random)
            let dates = [now, other].map { Date(timeIntervalSince1970: $0) }
            let (a, b) = (Timestamp(seconds: now), Timestamp(seconds: other))
            #expect(
                (a.localWeek(zone) == b.localWeek(zone))
                    == calendar.isDate(dates[0], equalTo: dates[1], toGranularity: .weekOfYear), "\(now) \(other)")
            #expect(
                (a.localDay(zone) == b.localDay(zone)) == calendar.isDate(dates[0], inSameDayAs: dates[1]),
                "\(now) \(other)")
        }
    }

    @Test func `the five latest come first, and an unknown distance is not 0`() {
        let workouts = (1...7).map { totals(Int64($0), start: Double(1000 * $0), distance: nil) }
        let found = recent(workouts.shuffled(), 10_000)
        #expect(found.latest.map(\.totals.revision) == [7, 6, 5, 4, 3])
        #expect(found.count == 7 && found.distance == nil)
        #expect(recent(workouts + [totals(8, start: 1, distance: 5)], 10_000).distance == 5)
    }
}
