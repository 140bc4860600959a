import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Requests of viewers, requests without a client, and the filters of the history.
struct EngineViewerTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private let user = User("anna")!
    private let viewer = User("ben")!
    private let clock = ManualClock(now: start)
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// An engine with finished workouts that began at these seconds.
    private func engine(_ starts: [Double]) async throws -> (Engine, [SessionKey]) {
        var engine = try await Engine(folder, clock: clock)
        clock.advance(by: .seconds(10_000))
        let keys = starts.map { _ in SessionKey(user, SessionID(UUID())) }
        for (key, seconds) in zip(keys, starts) {
            for (action, at) in [
                (.start(SessionStart(activity: .running, countdown: 0)), seconds), (.end(streams: [:]), seconds + 60),
            ] as [(SessionAction, Double)] {
                let command = Command(id: CommandID(UUID()), client: nil, at: Self.start + at, action: action)
                let sent = try await engine.deliver([Topic.session(key, .command).message(JSONCoding.encode(command))])
                // The commands count without a client, and get no reply.
                #expect(sent.replies.isEmpty && !sent.isEmpty)
            }
        }
        clock.advance(by: .seconds(11))
        _ = try await engine.tick()
        #expect(keys.allSatisfy { engine.session($0)?.statusName == .completed })
        return (engine, keys)
    }

    private func request(_ action: ViewerRequest.Action, _ client: String? = "c") -> MQTTMessage {
        let request = ViewerRequest(id: CommandID(UUID()), client: client.flatMap { Client($0) }, action: action)
        return Topic.user(user, .viewerRequest(viewer)).message(JSONCoding.encode(request))
    }

    @Test func `a viewer reads the history on the viewer's own replies`() async throws {
        var (engine, keys) = try await engine([0, 100, 200])
        let sent = try await engine.deliver([request(.workouts(HistoryQuery(limit: 2)))])
        #expect(sent.map(\.topic) == [Topic.user(viewer, .replies(Client("c")!)).name])
        #expect(sent.replies.first?.workouts?.map(\.session) == [keys[2], keys[1]].map(\.session))
        #expect(try await engine.deliver([request(.workouts(HistoryQuery()), nil)]).isEmpty)
    }

    @Test func `a viewer's request for chunks publishes the record again, also of a cleared session`() async throws {
        var (engine, keys) = try await engine([0])
        for _ in 0..<2 {
            let sent = try await engine.deliver([request(.chunks(keys[0].session))])
            #expect(sent.map(\.topic) == [Topic.session(keys[0], .workout).name])
            clock.advance(by: .seconds(49 * 3_600))
            _ = try await engine.tick()
        }
    }

    @Test func `viewers may send nothing else`() async throws {
        var (engine, keys) = try await engine([0])
        let key = keys[0]
        for body in [
            #""type":"deleteEverything""#, #""type":"deleteWorkout","session":"\#(key.session)""#,
            #""type":"setProfile","profile":{}"#,
        ] {
            let text = #"{"id":"\#(CommandID(UUID()))","client":"c",\#(body)}"#
            let message = Topic.user(user, .viewerRequest(viewer)).message(Array(text.utf8))
            let sent = try await engine.deliver([message])
            #expect(sent.replies.map(\.error?.code) == ["invalid_command"])
            #expect(sent.contains { $0.topic == Topic.user(viewer, .replies(Client("c")!)).name })
        }
        #expect(engine.session(key)?.statusName == .completed)
    }

    @Test func `a viewer has one request a second in bursts of ten`() async throws {
        var (engine, _) = try await engine([0])
        let requests = (0..<30).map { _ in request(.workouts(HistoryQuery())) }
        #expect(try await engine.deliver(requests).replies.count(where: \.ok) == 10)
        clock.advance(by: .seconds(2))
        let later = try await engine.deliver(requests).replies
        #expect(later.count(where: \.ok) == 2)
        #expect(Set(later.compactMap(\.error?.code)) == ["too_many_requests"])
        // Another viewer is not affected.
        let other = ViewerRequest(id: CommandID(UUID()), client: Client("d"), action: .workouts(HistoryQuery()))
        let message = Topic.user(user, .viewerRequest(User("carl")!)).message(JSONCoding.encode(other))
        #expect(try await engine.deliver([message]).replies.map(\.ok) == [true])
    }

    @Test func `the history can be limited to a span of time`() async throws {
        let starts = [0.0, 100, 200, 300]
        var (engine, keys) = try await engine(starts)
        var random = SeededRandom()
        for _ in 0..<60 {
            let bounds = (0..<2).map { _ in Double(Int.random(in: -1...4, using: &random)) * 100 }
            let from = Bool.random(using: &random) ? bounds[0] : nil
            let to = Bool.random(using: &random) ? bounds[1] : nil
            let before = Bool.random(using: &random) ? Int.random(in: 0..<4, using: &random) : nil
            let query = HistoryQuery(
                before: before.map { HistoryPlace(at: Self.start + starts[$0], session: keys[$0].session) },
                from: from.map { Self.start + $0 }, to: to.map { Self.start + $0 }, limit: 10)
            let request = UserRequest(id: CommandID(UUID()), client: Client("c"), action: .workouts(query))
            let sent = try await engine.deliver([Topic.user(user, .request).message(JSONCoding.encode(request))])
            let expected = starts.indices.reversed().filter { index in
                starts[index] >= from ?? -1 && starts[index] < to ?? 1_000 && index < before ?? 4
            }
            #expect(sent.replies.first?.workouts?.map(\.session) == expected.map { keys[$0].session })
            clock.advance(by: .seconds(1))
        }
    }

    @Test func `the deletion of an unknown workout names it`() async throws {
        var (engine, _) = try await engine([])
        let session = SessionID(UUID())
        let request = UserRequest(id: CommandID(UUID()), client: Client("c"), action: .deleteWorkout(session))
        let sent = try await engine.deliver([Topic.user(user, .request).message(JSONCoding.encode(request))])
        #expect(sent.replies.first?.error?.code == "session_not_found")
        #expect(sent.replies.first?.error?.message.hasPrefix("workout \(session) not found; ") == true)
    }

    @Test func `units and time zone can change during a session and after it`() async throws {
        var (engine, keys) = try await engine([0])
        let update = SessionUpdate(units: .imperial, timeZone: "Japan")
        let command = Command(id: CommandID(UUID()), client: Client("c"), at: clock.now, action: .update(update))
        let sent = try await engine.deliver([Topic.session(keys[0], .command).message(JSONCoding.encode(command))])
        #expect(sent.replies.map(\.ok) == [true])
        #expect(engine.session(keys[0])?.units == .imperial && engine.session(keys[0])?.timeZone == "Japan")
        clock.advance(by: .seconds(31))
        _ = try await engine.tick()
        #expect(engine.record(keys[0])?.workout?.timeZone == "Japan")
        // The rest stays.
        let zone = Command(
            id: CommandID(UUID()), client: Client("c"), action: .update(SessionUpdate(timeZone: "Europe/Berlin")))
        _ = try await engine.deliver([Topic.session(keys[0], .command).message(JSONCoding.encode(zone))])
        #expect(engine.session(keys[0])?.units == .imperial && engine.session(keys[0])?.timeZone == "Europe/Berlin")
    }
}
