import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// The request `edit`: a finished workout changes, and every field can be undone.
struct EditTests {
    private let start = Timestamp(seconds: 1_700_000_000)
    private let folder: TemporaryFolder
    private let clock: ManualClock
    private let user = User("demo")!

    init() throws {
        folder = try TemporaryFolder()
        clock = ManualClock(now: start + 1_000)
    }

    private func command(_ key: SessionKey, _ action: SessionAction, at: Timestamp) -> MQTTMessage {
        Topic.session(key, .command).message(
            JSONCoding.encode(Command(id: CommandID(UUID()), client: Client("c")!, at: at, action: action)))
    }

    private func request(_ action: UserRequest.Action, id: CommandID = CommandID(UUID())) -> MQTTMessage {
        Topic.user(user, .request).message(
            JSONCoding.encode(UserRequest(id: id, client: Client("c")!, action: action)))
    }

    private func edit(_ key: SessionKey, _ change: (inout SessionEdit) -> Void) -> MQTTMessage {
        var edit = SessionEdit()
        change(&edit)
        return request(.edit(key.session, edit))
    }

    /// A run of 600 s with a pause from 200 to 300 s and laps at 100 and 400 s.
    private func run(_ engine: inout Engine) async throws -> SessionKey {
        let key = SessionKey(user, SessionID(UUID()))
        var begin = SessionStart(activity: .running, countdown: 0)
        begin.endAt = start + 600
        let actions: [(SessionAction, Double)] = [
            (.start(begin), 0), (.lap, 100), (.pause, 200), (.resume, 300), (.lap, 400), (.end(streams: [:]), 600),
        ]
        for (action, seconds) in actions {
            let sent = try await engine.deliver([command(key, action, at: start + seconds)])
            #expect(sent.replies.map(\.ok) == [true])
        }
        clock.advance(by: .seconds(11))
        for _ in 0..<2 { _ = try await engine.tick() }
        #expect(engine.record(key)?.workout != nil)
        return key
    }

    /// The summary of the newest state.
    private func report(_ engine: Engine, _ key: SessionKey, revision: Int64, distance: Double) -> MQTTMessage {
        var totals = MetricsSummary()
        totals.distance = distance
        let report = MetricsReport(
            revision: revision, state: engine.record(key)?.revision ?? 0, next: [:], chunks: 1, totals: totals)
        return Topic.session(key, .summaryMetrics).message(JSONCoding.encode(report))
    }

    private func payload(_ sent: [MQTTMessage], _ topic: Topic) -> [UInt8]? {
        sent.last { $0.topic == topic.name }.map { Array($0.payload) }
    }

    private func changes(_ engine: inout Engine) async throws -> [WorkoutChange] {
        try await engine.deliver([request(.workoutChanges(after: ChangeCursor(0)))]).replies.first?.changes ?? []
    }

    @Test func `name, note and exertion change the record at once, and viewers read the name alone`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await run(&engine)
        let before = try #require(engine.record(key)?.workout)
        let sent = try await engine.deliver([
            edit(key) {
                ($0.name, $0.note, $0.exertion) = (.set("Hills"), .set("Windy.\nKnee fine."), .set(7))
            }
        ])
        #expect(sent.replies.map(\.ok) == [true])
        let bytes = try #require(payload(sent, .session(key, .workout)))
        let workout = try JSONCoding.decode(WorkoutRecord.self, from: bytes)
        #expect(workout.name == "Hills" && workout.revision > before.revision && workout.edited == nil)
        #expect(workout.incomplete == before.incomplete)
        for message in sent {
            switch Topic(message.topic) {
            case .session(_, .profile), .user(_, .replies): break
            default: #expect(!String(decoding: message.payload, as: UTF8.self).contains("Windy"))
            }
        }
        let profile = try SessionProfile(try #require(payload(sent, .session(key, .profile))))
        #expect(profile.edit?.note == "Windy.\nKnee fine." && profile.edit?.exertion == 7)
        #expect(profile.recorded?.name == "Outdoor Running" && profile.profile == Profile())
        let state = try SessionState(try #require(payload(sent, .session(key, .state))))
        #expect(state.name == "Hills" && state.profileRevision == profile.revision)
        #expect(sent.replies.first?.revision == state.revision)
        guard case .workout(let mine) = try await changes(&engine).first else { return }
        #expect(mine.name == "Hills" && mine.note == "Windy.\nKnee fine." && mine.exertion == 7)
        for action in [ViewerRequest.Action.workouts(HistoryQuery()), .workoutChanges(after: ChangeCursor(0))] {
            let message = Topic.user(user, .viewerRequest(User("coach")!)).message(
                JSONCoding.encode(ViewerRequest(id: CommandID(UUID()), client: Client("v")!, action: action)))
            let reply = try await engine.deliver([message])
            let text = reply.map { String(decoding: $0.payload, as: UTF8.self) }.joined()
            #expect(text.contains("Hills") && !text.contains("Windy") && !text.contains("exertion"))
        }
    }

    @Test func `trims cut segments and laps, the record follows the summaries, and an undo restores both`() async throws
    {
        var engine = try await Engine(folder, clock: clock)
        let key = try await run(&engine)
        _ = try await engine.deliver([report(engine, key, revision: 5, distance: 2_000)])
        clock.advance(by: .seconds(31))
        _ = try await engine.tick()
        let recorded = try #require(engine.record(key)?.workout)
        #expect(recorded.distance == 2_000)
        var sent = try await engine.deliver([
            edit(key) { ($0.trimStart, $0.trimEnd) = (.set(start + 150), .set(start + 500)) }
        ])
        let state = try SessionState(try #require(payload(sent, .session(key, .state))))
        #expect(
            state.segments == [
                Segment(start: start + 150, end: start + 200), Segment(start: start + 300, end: start + 500),
            ])
        #expect(state.laps == [start + 400] && state.edited == true)
        #expect(state.startedAt == start + 150 && state.endedAt == start + 500)
        #expect(payload(sent, .session(key, .workout)) == nil)
        sent = try await engine.deliver([report(engine, key, revision: 6, distance: 900)])
        let bytes = try #require(payload(sent, .session(key, .workout)))
        let workout = try JSONCoding.decode(WorkoutRecord.self, from: bytes)
        #expect(workout.distance == 900 && workout.activeDuration == 250 && workout.elapsedDuration == 350)
        #expect(workout.edited == true && workout.incomplete == nil)
        guard case .workout(let line) = try await changes(&engine).first else { return }
        #expect(line.startedAt == start + 150 && line.activeDuration == 250)
        #expect(try await changes(&engine).count == 1)
        let page = try await engine.deliver([request(.workouts(HistoryQuery()))]).replies.first?.workouts
        #expect(page == [line])
        _ = try await engine.deliver([edit(key) { ($0.trimStart, $0.trimEnd) = (.undo, .undo) }])
        sent = try await engine.deliver([report(engine, key, revision: 7, distance: 2_000)])
        let undone = try JSONCoding.decode(
            WorkoutRecord.self, from: try #require(payload(sent, .session(key, .workout))))
        #expect(undone.segments == recorded.segments && undone.laps == recorded.laps && undone.edited == nil)
        #expect(undone.startedAt == recorded.startedAt && undone.endedAt == recorded.endedAt)
    }

    @Test func `without summaries an edited record follows after ten seconds as incomplete, also after a crash`()
        async throws
    {
        var engine: Engine? = try await Engine(folder, clock: clock)
        let key = try await run(&engine!)
        _ = try await engine!.deliver([report(engine!, key, revision: 5, distance: 2_000)])
        clock.advance(by: .seconds(31))
        _ = try await engine!.tick()
        #expect(engine!.record(key)?.workout?.incomplete == nil)
        _ = try await engine!.deliver([edit(key) { $0.activity = .set(.walking) }])
        engine = nil
        engine = try await Engine(folder, clock: clock)
        clock.advance(by: .seconds(11))
        var sent = try await engine!.tick()
        var workout = try JSONCoding.decode(
            WorkoutRecord.self, from: try #require(payload(sent, .session(key, .workout))))
        #expect(workout.activity == .walking && workout.incomplete == true && workout.name == "Outdoor Walking")
        sent = try await engine!.deliver([report(engine!, key, revision: 6, distance: 1_900)])
        workout = try JSONCoding.decode(WorkoutRecord.self, from: try #require(payload(sent, .session(key, .workout))))
        #expect(workout.incomplete == nil && workout.distance == 1_900)
    }

    @Test func `weight and maximum heart rate go to the session's profile alone`() async throws {
        var engine = try await Engine(folder, clock: clock)
        var profile = Profile()
        (profile.weight, profile.sex) = (70, .female)
        _ = try await engine.deliver([request(.setProfile(profile))])
        let key = try await run(&engine)
        var sent = try await engine.deliver([
            edit(key) { ($0.weight, $0.maximumHeartRate) = (.set(65.5), .set(191)) }
        ])
        var copy = try SessionProfile(try #require(payload(sent, .session(key, .profile))))
        #expect(copy.profile.weight == 65.5 && copy.profile.maximumHeartRate == 191 && copy.profile.sex == .female)
        let state = try SessionState(try #require(payload(sent, .session(key, .state))))
        #expect(state.profileRevision == copy.revision && state.edited == nil)
        #expect(engine.profile(user)?.weight == 70)
        sent = try await engine.deliver([edit(key) { ($0.weight, $0.maximumHeartRate) = (.undo, .undo) }])
        copy = try SessionProfile(try #require(payload(sent, .session(key, .profile))))
        #expect(copy.profile == profile && copy.edit == WorkoutEdit())
    }

    @Test func `an old workout is loaded, published again and cleared again`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await run(&engine)
        clock.advance(by: .seconds(300 * 86_400))
        for _ in 0..<2 { _ = try await engine.tick() }
        #expect(engine.record(key) == nil)
        var sent = try await engine.deliver([edit(key) { $0.note = .set("A year ago") }])
        for topic in [SessionTopic.state, .profile, .workout] {
            #expect(payload(sent, .session(key, topic))?.isEmpty == false)
        }
        clock.advance(by: .seconds(49 * 3_600))
        sent = try await engine.tick()
        for topic in [SessionTopic.state, .profile, .workout] {
            #expect(payload(sent, .session(key, topic))?.isEmpty == true)
        }
        #expect(engine.record(key) == nil)
        let chunks = SessionRequest(id: CommandID(UUID()), client: Client("c")!, action: .chunks)
        sent = try await engine.deliver([Topic.session(key, .request).message(JSONCoding.encode(chunks))])
        let profile = try SessionProfile(try #require(payload(sent, .session(key, .profile))))
        #expect(profile.edit?.note == "A year ago")
    }

    @Test func `a repeated edit counts once, and one without effect changes nothing`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await run(&engine)
        let id = CommandID(UUID())
        var change = SessionEdit()
        change.name = .set("One")
        let message = request(.edit(key.session, change), id: id)
        _ = try await engine.deliver([message])
        let revision = engine.record(key)?.revision
        #expect(try await engine.deliver([message]).replies.first?.revision == revision)
        _ = try await engine.deliver([edit(key) { $0.name = .set("One") }])
        #expect(engine.record(key)?.revision == revision)
    }

    @Test func `an edit of another status is refused`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = SessionKey(user, SessionID(UUID()))
        let rename = edit(key) { $0.name = .set("x") }
        #expect(try await engine.deliver([rename]).replies.first?.error?.code == "session_not_found")
        _ = try await engine.deliver([
            command(key, .start(SessionStart(activity: .running, countdown: 0)), at: clock.now)
        ])
        let active = try await engine.deliver([edit(key) { $0.name = .set("x") }]).replies.first?.error
        #expect(active?.message == "edit is not possible while the session is active; allowed: completed")
        _ = try await engine.deliver([command(key, .discard, at: clock.now)])
        #expect(
            try await engine.deliver([edit(key) { $0.name = .set("x") }]).replies.first?.error?.code == "invalid_state")
        let done = try await run(&engine)
        _ = try await engine.deliver([request(.deleteWorkout(done.session))])
        #expect(
            try await engine.deliver([edit(done) { $0.name = .set("x") }]).replies.first?.error?.code
                == "session_not_found")
    }

    @Test func `trims outside of the workout or without active time are refused`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await run(&engine)
        let cases: [(SessionEdit.Trims, String)] = [
            ((-1, nil), "trimStart: 1699999999.0 is outside of the workout; allowed: 1700000000.0 to 1700000600.0"),
            ((nil, 601), "trimEnd: 1700000601.0 is outside of the workout; allowed: 1700000000.0 to 1700000600.0"),
            ((400, 300), "trimEnd: 1700000300.0 is not after trimStart, 1700000400.0"),
            ((210, 290), "trimStart: no active time of the workout would be left"),
        ]
        for ((from, to), message) in cases {
            let sent = try await engine.deliver([
                edit(key) {
                    if let from { $0.trimStart = .set(start + from) }
                    if let to { $0.trimEnd = .set(start + to) }
                }
            ])
            #expect(sent.replies.first?.error?.message == message)
        }
    }

    @Test(arguments: [
        (#""exertion":11"#, "exertion: a whole number from 1 to 10"),
        (#""exertion":6.5"#, "exertion: a whole number from 1 to 10"),
        (#""weight":500"#, "weight: 20 to 400 kg"), (#""maximumHeartRate":10"#, "maximumHeartRate: 80 to 250"),
        (#""name":"""#, "name: 1 to 200 bytes"), (#""note":"a\u0007""#, "note: at most 4000 characters"),
        (#""activity":"flying""#, "activity"), (#""units":"metric""#, "name: an edit has at least one of"),
    ])
    func `an invalid edit names the field with the allowed values`(field: String, message: String) async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await run(&engine)
        let text =
            #"{"id":"7b0d4c1e-6a3f-4b55-9d0c-0f6f0a1b2c3d","client":"c","type":"edit","session":"\#(key.session)",\#(field)}"#
        let sent = try await engine.deliver([Topic.user(user, .request).message(Array(text.utf8))])
        let error = try #require(sent.replies.first?.error)
        #expect(error.code == "invalid_command" && error.message.hasPrefix(message), "\(error.message)")
    }

    @Test func `a user has a number of edits an hour`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await run(&engine)
        let sent = try await engine.deliver(
            (0...UserLimit.editsAnHour).map { number in edit(key) { $0.name = .set("Run \(number)") } })
        #expect(sent.replies.filter(\.ok).count == UserLimit.editsAnHour)
        let refused = sent.replies.compactMap(\.error)
        #expect(refused.map(\.code) == ["too_many_commands"] && refused[0].retryAfter == 3_600)
        clock.advance(by: .seconds(3_600))
        #expect(try await engine.deliver([edit(key) { $0.name = .set("Later") }]).replies.map(\.ok) == [true])
    }

    @Test func `a deletion removes the edit`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let key = try await run(&engine)
        _ = try await engine.deliver([edit(key) { $0.note = .set("a secret") }])
        let sent = try await engine.deliver([request(.deleteWorkout(key.session))])
        #expect(payload(sent, .session(key, .profile))?.isEmpty == true)
        for collection in [SessionRecord.sessions, SessionRecord.changes, SessionRecord.overviews] {
            let records = try await engine.store.records(in: collection, shards: [user.shard])
            #expect(!records.contains { String(decoding: $0.value, as: UTF8.self).contains("secret") })
        }
    }
}

extension SessionEdit {
    fileprivate typealias Trims = (Double?, Double?)
}
