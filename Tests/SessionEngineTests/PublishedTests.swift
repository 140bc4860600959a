import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// The messages about a session and its user.
struct PublishedTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))
    private let key = SessionKey(User("demo")!, SessionID(UUID()))

    init() throws {
        folder = try TemporaryFolder()
    }

    private func message(_ action: SessionAction) -> MQTTMessage {
        let command = Command(id: CommandID(UUID()), client: Client("c")!, at: clock.now, action: action)
        return Topic.session(key, .command).message(JSONCoding.encode(command))
    }

    private func request(_ action: UserRequest.Action) -> MQTTMessage {
        let request = UserRequest(id: CommandID(UUID()), client: Client("c")!, action: action)
        return Topic.user(key.user, .request).message(JSONCoding.encode(request))
    }

    private func state(_ messages: [MQTTMessage]) throws -> SessionState? {
        try messages.last { $0.topic == Topic.session(key, .state).name }.map { try SessionState($0.payload) }
    }

    private func current(_ messages: [MQTTMessage]) throws -> CurrentSession? {
        try messages.last { $0.topic == Topic.user(key.user, .current).name }
            .map { try JSONCoding.decode(CurrentSession.self, from: $0.payload) }
    }

    @Test func `current is the unfinished or suspended session, and none after its end`() async throws {
        var engine = try await Engine(folder, clock: clock)
        var revision: Int64 = 0
        let start = SessionAction.start(SessionStart(activity: .rowing, countdown: 0))
        for (action, status) in [
            (start, .active), (.pause, .paused), (.suspend, .suspended), (.resume, .active), (.end(streams: [:]), nil),
        ] as [(SessionAction, SessionStatus?)] {
            clock.advance(by: .seconds(5))
            let sent = try await engine.deliver([message(action)])
            let published = try #require(try current(sent))
            #expect(published.session == (status == nil ? nil : key.session))
            #expect(published.details?.status == status)
            #expect(published.revision > revision)
            revision = published.revision
        }
        let sent = try await engine.deliver([message(.start(SessionStart(activity: .running)))])
        #expect(sent.replies.map(\.error?.code) == ["invalid_state"])
    }

    @Test func `current and its revision survive the session's retention and a restart`()
        async throws
    {
        var engine: Engine? = try await Engine(folder, clock: clock)
        _ = try await engine?.deliver([message(.start(SessionStart(activity: .running, countdown: 0)))])
        _ = try await engine?.deliver([message(.end(streams: [:]))])
        clock.advance(by: .seconds(11))
        let finished = try #require(try current(try await engine?.tick() ?? []))
        clock.advance(by: .seconds(49 * 3_600))
        _ = try await engine?.tick()
        #expect(engine?.session(key) == nil)
        engine = nil
        engine = try await Engine(folder, clock: clock)
        let published = try #require(try current(try await engine?.connect() ?? []))
        #expect(published.session == nil)
        #expect(published.revision == finished.revision)
        // An older revision from the broker is answered with this one.
        let old = Topic.user(key.user, .current).message(Array("{\"revision\":\(finished.revision - 1)}".utf8))
        let answer = try await engine?.deliver([old]) ?? []
        #expect(try current(answer)?.revision == finished.revision)
    }

    @Test func `revisions rise over a restart even if the clock stepped backwards`()
        async throws
    {
        var engine: Engine? = try await Engine(folder, clock: clock)
        let started = try await engine?.deliver([message(.start(SessionStart(activity: .running, countdown: 0)))]) ?? []
        let first = try #require(try state(started)?.revision)
        engine = nil
        clock.step(by: .seconds(-3_600))
        engine = try await Engine(folder, clock: clock)
        let sent = try await engine?.deliver([message(.pause)]) ?? []
        #expect(try state(sent)?.revision == first + 1)
        #expect(try current(sent)?.revision == first + 1)
        #expect(sent.replies.map(\.revision) == [first + 1])
    }

    @Test func `during a countdown the state has its end and no segment`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let sent = try await engine.deliver([message(.start(SessionStart(activity: .running)))])
        let published = try #require(try state(sent))
        #expect(published.status == .preparing && published.segments.isEmpty && published.startedAt == nil)
        #expect(published.countdownEndsAt == clock.now + 3)
        clock.advance(by: .seconds(3))
        let later = try #require(try state(try await engine.tick()))
        #expect(later.status == .active && later.countdownEndsAt == nil)
        #expect(later.segments == [Segment(start: clock.now, end: nil)] && later.startedAt == clock.now)
    }

    @Test func `the state contains the start's fields and the profile of that time`() async throws {
        var engine = try await Engine(folder, clock: clock)
        var profile = Profile()
        profile.weight = 70
        profile.timeZone = "Europe/Berlin"
        _ = try await engine.deliver([request(.setProfile(profile))])
        var start = SessionStart(activity: .hiking, environment: .outdoor, name: "Up", countdown: 0)
        start.place = Place(la: 47, lo: 11)
        start.permissions = Permissions(heartRate: true, workouts: false)
        start.run = RunID(UUID())
        let started = try await engine.deliver([message(.start(start))])
        let copies = started.filter { $0.topic == Topic.session(key, .profile).name }
        let copy = try SessionProfile(try #require(copies.first).payload)
        #expect(copies.map(\.retain) == [true] && copy.profile == profile)
        let names = started.map(\.topic)
        let (profileAt, stateAt) = (
            names.firstIndex(of: copies[0].topic), names.firstIndex(of: Topic.session(key, .state).name)
        )
        #expect(try #require(profileAt) > (try #require(stateAt)))
        var other = profile
        other.weight = 80
        _ = try await engine.deliver([request(.setProfile(other))])
        let sent = try await engine.deliver([message(.lap)])
        let published = try #require(try state(sent))
        #expect(published.profileRevision == copy.revision)
        #expect(published.activity == .hiking && published.environment == .outdoor && published.name == "Up")
        #expect(published.symbol == "figure.hiking" && published.healthKitActivityType == 24)
        #expect(
            published.place == start.place && published.permissions == start.permissions && published.run == start.run)
        #expect(published.timeZone == "Europe/Berlin" && published.units == .metric && published.mode == .phone)
        #expect(published.startedAt == published.segments.first?.start && published.laps == [clock.now])
        let streams = [StreamName("samples/watch-1")!: 7]
        let ended = try #require(try state(try await engine.deliver([message(.end(streams: streams))])))
        #expect(ended.streams == streams && ended.endedAt == clock.now && ended.endReason == "ended")
    }

    @Test func `after a broker outage no session expires before retained reports can arrive`() async throws {
        var engine = try await Engine(folder, clock: clock)
        _ = try await engine.deliver([message(.start(SessionStart(activity: .running, countdown: 0)))])
        try await engine.disconnect()
        for _ in 0..<7 {
            clock.advance(by: .seconds(3_600))
            _ = try await engine.tick()
        }
        _ = try await engine.connect()
        clock.advance(by: .seconds(59))
        _ = try await engine.tick()
        #expect(engine.session(key)?.statusName == .active)
        clock.advance(by: .seconds(2))
        _ = try await engine.tick()
        #expect(engine.session(key)?.statusName == .canceled)
    }

    @Test func `rejections reach operators and sender even while writes fail`()
        async throws
    {
        var engine = try await Engine(folder, clock: clock)
        _ = try await engine.deliver([message(.start(SessionStart(activity: .running, countdown: 0)))])
        engine.store.refuse(true)
        _ = try await engine.deliver([message(.pause)])
        let junk = Topic.session(key, .command).message(Array(#"{"id":7}"#.utf8))
        let sent = try await engine.deliver([junk])
        let reports = [Topic.rejected(service: "session-engine").name, Topic.user(key.user, .rejected).name]
        #expect(sent.map(\.topic) == reports)
        // The next commit also fails.
        clock.advance(by: .seconds(2))
        #expect(try await engine.deliver([junk]).map(\.topic) == reports)
        engine.store.refuse(false)
        clock.advance(by: .seconds(2))
        #expect(try await engine.tick().allSatisfy { !reports.contains($0.topic) })
    }

    @Test func `an unreadable command with a readable sender gets a reply and is rejected`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let fields = #""id":"6f9619ff-8b86-4011-b42d-00c04fc964ff","client":"tests""#
        let command = Topic.session(key, .command).message(Array("{\(fields),\"type\":\"fly\"}".utf8))
        let sent = try await engine.deliver([command])
        let reply = try #require(sent.payloads(.user(key.user, .replies(Client("tests")!))).first)
        #expect(try JSONCoding.decode(Reply.self, from: reply).error?.code == "invalid_command")
        let rejected = try #require(sent.payloads(.user(key.user, .rejected)).first)
        #expect(try JSONCoding.decode(Rejection.self, from: rejected).reason == "malformed")
        // So are requests, of a session too.
        for topic in [Topic.session(key, .request), .user(key.user, .request)] {
            let request = topic.message(Array("{\(fields),\"type\":\"fly\"}".utf8))
            let sent = try await engine.deliver([request])
            #expect(sent.replies.map(\.error?.code) == ["invalid_command"])
            #expect(sent.payloads(.user(key.user, .rejected)).count == 1)
        }
        // One that can be read is refused by the reply alone.
        let lap = Topic.session(key, .command).message(Array("{\(fields),\"type\":\"lap\"}".utf8))
        #expect(try await engine.deliver([lap]).payloads(.user(key.user, .rejected)).isEmpty)
    }

    @Test func `weather and route arrive by the bus and survive a restart`() async throws {
        var engine: Engine? = try await Engine(folder, clock: clock)
        let solo = SoloMachine()
        _ = try await engine?.deliver([message(.start(SessionStart(activity: .running, countdown: 0)))])
        clock.advance(by: .seconds(60))
        let presence = Topic.presence(service: "route-builder", ProcessName("one")!)
        let online = presence.message(Array(#"{"status":"online"}"#.utf8))
        let weather = Topic.session(key, .weather).message(JSONCoding.encode(solo.weather(9, revision: 3)))
        let live = Topic.session(key, .heard(.locations)).message(
            Heard(12, newest: Timestamp(seconds: 1_700_000_030)).payload)
        _ = try await engine?.deliver([online, weather, live])
        #expect(engine?.record(key)?.newest == Timestamp(seconds: 1_700_000_030))
        engine = nil
        engine = try await Engine(folder, clock: clock)
        clock.advance(by: .seconds(30))
        let streams = [solo.samples: 10, solo.locations: 12]
        _ = try await engine?.deliver([online, message(.end(streams: streams))])
        let state = try #require(engine?.record(key)?.endRevision)
        let metrics = Topic.session(key, .summaryMetrics).message(
            JSONCoding.encode(solo.metrics(10, revision: 1, state: state, route: 1, distance: 1_000)))
        #expect(try await engine?.deliver([metrics]).isEmpty == true)
        let route = Topic.session(key, .summaryRoute).message(
            JSONCoding.encode(solo.route(12, revision: 1, state: state)))
        let sent = try await engine?.deliver([route]) ?? []
        let published = try #require(sent.first { $0.topic == Topic.session(key, .workout).name })
        let workout = try JSONCoding.decode(WorkoutRecord.self, from: published.payload)
        #expect(workout.weather == solo.weather(9, revision: 3))
        #expect(workout.distance == 1_000 && workout.ascent == 12 && workout.incomplete == nil)
    }

    @Test func `totals without the route leave a finished workout its distance`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let solo = SoloMachine()
        _ = try await engine.deliver([message(.start(SessionStart(activity: .running, countdown: 0)))])
        clock.advance(by: .seconds(60))
        _ = try await engine.deliver([message(.end(streams: [solo.samples: 10, solo.locations: 12]))])
        let state = try #require(engine.record(key)?.endRevision)
        func distances(_ sent: [MQTTMessage]) throws -> [Double?] {
            try sent.payloads(.session(key, .workout)).map {
                try JSONCoding.decode(WorkoutRecord.self, from: $0).distance
            }
        }
        func metrics(_ report: MetricsReport) -> MQTTMessage {
            Topic.session(key, .summaryMetrics).message(JSONCoding.encode(report))
        }
        let route = Topic.session(key, .summaryRoute).message(
            JSONCoding.encode(solo.route(12, revision: 1, state: state)))
        // No route-builder is online, so that nothing joins the route.
        var sent = try await engine.deliver([route, metrics(solo.metrics(10, revision: 1, state: state))])
        #expect(try distances(sent) == [1_000])
        sent = try await engine.deliver([metrics(solo.metrics(11, revision: 2, state: state))])
        clock.advance(by: .seconds(30))
        sent += try await engine.tick()
        #expect(try distances(sent) == [1_000])
        let joined = solo.metrics(11, revision: 3, state: state, route: 1, distance: 1_001)
        #expect(try distances(try await engine.deliver([metrics(joined)])) == [1_001])
    }

    @Test(arguments: [#"{"status":"offline"}"#, ""])
    func `an offline route-builder is not awaited`(payload: String) async throws {
        var engine = try await Engine(folder, clock: clock)
        let solo = SoloMachine()
        clock.advance(by: .seconds(60))
        let presence = Topic.presence(service: "route-builder", ProcessName("one")!)
        _ = try await engine.deliver([
            presence.message(Array(#"{"status":"online"}"#.utf8)), presence.message(Array(payload.utf8)),
            Topic.presence(service: "exporter", ProcessName("two")!).message(Array(#"{"status":"online"}"#.utf8)),
            message(.start(SessionStart(activity: .running, countdown: 0))),
            message(.end(streams: [solo.samples: 10, solo.locations: 12])),
        ])
        let report = solo.metrics(10, revision: 1, state: try #require(engine.record(key)?.endRevision))
        let metrics = Topic.session(key, .summaryMetrics).message(JSONCoding.encode(report))
        let sent = try await engine.deliver([metrics])
        #expect(sent.contains { $0.topic == Topic.session(key, .workout).name })
    }

    @Test func `a route-builder that does not renew its presence is not awaited`() async throws {
        var engine = try await Engine(folder, clock: clock)
        let solo = SoloMachine()
        let presence = Topic.presence(service: "route-builder", ProcessName("one")!)
        // The broker restored it from an old save. A repeated delivery renews nothing.
        let old = presence.message(Array(#"{"at":1700000000,"status":"online"}"#.utf8))
        _ = try await engine.deliver([old, message(.start(SessionStart(activity: .running, countdown: 0)))])
        clock.advance(by: .seconds(59))
        _ = try await engine.deliver([old])
        clock.advance(by: .seconds(1))
        _ = try await engine.tick()
        _ = try await engine.deliver([message(.end(streams: [solo.samples: 10, solo.locations: 12]))])
        let report = solo.metrics(10, revision: 1, state: try #require(engine.record(key)?.endRevision))
        let metrics = Topic.session(key, .summaryMetrics).message(JSONCoding.encode(report))
        let sent = try await engine.deliver([metrics])
        #expect(sent.contains { $0.topic == Topic.session(key, .workout).name })
    }
}
