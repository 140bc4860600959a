import Bus
import Foundation
import MQTT
import NIOCore
import ServiceKit
import Testing
import Workouts

@testable import Dashboard

struct HubTests {
    let key = sessionKey(anna, 1)

    private func state(_ revision: Int64, _ status: SessionStatus = .active) -> String {
        #"{"revision":\#(revision),"status":"\#(status.rawValue)"}"#
    }

    @Test
    func `a stream begins with the newest of everything it shows`() throws {
        var world = HubWorld()
        try world.publish(.session(key, .state), state(5))
        try world.publish(.session(key, .state), state(7))
        try world.publish(.user(anna, .profile), #"{"revision":1}"#)
        try world.publish(.presence(service: "exporter", ProcessName("a")!), #"{"status":"online"}"#)
        let owner = try world.watch(.live(key, isOwner: true), login(anna))
        let viewer = try world.watch(.live(key, isOwner: false), login(ben, seen: [anna]))
        world.drain(owner)
        world.drain(viewer)
        #expect(world.names(owner) == ["bus", "services", "beat", "state", "profile", "ready"])
        #expect(world.last(.state, owner) == state(7))
        #expect(world.last(.services, owner) == #"{"exporter":true}"#)
        #expect(world.names(viewer) == ["bus", "services", "beat", "state", "ready"])
    }

    @Test
    func `a run's messages reach its runner alone, views and contacts each page of that person`() throws {
        var world = HubWorld()
        let run = runID(1)
        let annas = try world.watch(.virtualRun(anna, run), login(anna))
        let other = try world.watch(.virtualRun(anna, runID(2)), login(anna))
        let bens = try world.watch(.live(key, isOwner: false), login(ben, seen: [anna]))
        for topic in [UserTopic.virtualRun(run), .partners(run), .partnerPositions(run), .virtualRunPeople] {
            try world.publish(.user(anna, topic), #"{"revision":1,"s":1}"#)
        }
        try world.publish(.user(anna, .virtualRunAnnouncements(run)), #"{"kind":"lead"}"#)
        try world.publish(.session(key, .metrics), #"{"s":1}"#)
        for id in [annas, other, bens] {
            world.tick(1)
            world.drain(id)
        }
        let start = ["bus", "services", "beat", "ready"]
        #expect(
            world.names(annas).filter { !start.contains($0) }.sorted()
                == ["announcements", "metrics", "partners", "people", "positions", "view"])
        #expect(world.names(other).filter { !start.contains($0) }.sorted() == ["metrics", "people", "view"])
        #expect(world.names(bens).filter { !start.contains($0) } == ["metrics"])
    }

    @Test
    func `a stream says that it has everything retained, whenever the broker grants its topics`() throws {
        var world = HubWorld()
        world.perform(world.hub.connected(world.now))
        let first = try world.watch(.live(key, isOwner: false), login(anna))
        let changes = [world.hub.takeNeedsChange(), world.hub.takeNeedsChange()]
        #expect(changes == [true, false])
        let other = try world.watch(.live(sessionKey(ben, 2), isOwner: false), login(ben))
        _ = world.hub.takeNeedsChange()
        for _ in 0..<50 {
            world.drain(first)
            world.tick()
        }
        #expect(!world.names(first).contains("ready"))
        world.hub.needsChangeGranted(world.now)
        try world.publish(.session(key, .route), #"{"s":1,"la":47.1}"#)
        for _ in 0..<8 {
            for id in [first, other] { world.drain(id) }
            world.tick()
        }
        #expect(world.names(first).suffix(2) == ["route", "ready"])
        #expect(!world.names(other).contains("ready"))
        let second = try world.watch(.live(key, isOwner: false), login(anna))
        world.drain(second)
        #expect(world.names(second).suffix(2) == ["route", "ready"])
    }

    @Test
    func `without a connection a stream has everything at once, and with the next one after what is retained`() throws {
        var world = HubWorld()
        let before = try world.watch(.live(key, isOwner: false), login(anna))
        world.drain(before)
        #expect(world.names(before).last == "ready")
        _ = world.hub.takeNeedsChange()
        world.hub.needsChangeGranted(world.now)
        world.perform(world.hub.connected(world.now))
        let after = try world.watch(.live(key, isOwner: false), login(anna))
        world.drain(after)
        #expect(!world.names(after).contains("ready"))
        for _ in 0..<4 {
            world.tick()
            world.drain(after)
        }
        #expect(world.names(after).last == "ready")
    }

    @Test
    func `a slow viewer gets the newest of each topic and the last 16 announcements`() throws {
        var world = HubWorld()
        let id = try world.watch(.live(key, isOwner: false), login(anna))
        for number in 1...40 {
            try world.publish(.session(key, .metrics), #"{"s":\#(number)}"#)
            try world.publish(.session(key, .announcements), #"{"kind":"split","number":\#(number)}"#)
        }
        world.drain(id)
        #expect(world.last(.metrics, id) == #"{"s":40}"#)
        #expect(world.names(id).filter { $0 == "metrics" }.count == 1)
        #expect(world.names(id).filter { $0 == "announcements" }.count == 16)
        #expect(world.read[id]?.last?.contains(#""number":40"#) == true)
    }

    @Test
    func `a stream is written to at most four times a second`() throws {
        var world = HubWorld()
        let id = try world.watch(.live(key, isOwner: false), login(anna))
        world.drain(id)
        let first = world.read[id]?.count
        for number in 1...100 {
            try world.publish(.session(key, .metrics), #"{"s":\#(number)}"#)
            world.tick(0.01)
            world.drain(id)
        }
        let written = try #require(world.read[id]).count - first!
        #expect((3...4).contains(written))
        world.tick(0.3)
        #expect(world.last(.metrics, id) == #"{"s":100}"#)
    }

    @Test
    func `the messages of a batch reach a stream in one write`() throws {
        var world = HubWorld()
        let id = try world.watch(.live(key, isOwner: false), login(anna))
        world.drain(id)
        world.tick(1)
        try world.publish([
            (.session(key, .metrics), #"{"s":1}"#), (.session(key, .route), #"{"s":1}"#),
        ])
        #expect(world.names(id).suffix(2) == ["metrics", "route"])
    }

    @Test
    func `a beat goes with an event shortly before it is due, and delays none`() throws {
        var world = HubWorld()
        let busy = try world.watch(.live(key, isOwner: false), login(anna))
        let idle = try world.watch(.live(sessionKey(ben, 2), isOwner: false), login(ben))
        // Metrics come 50 ms after a tick, and a tick 50 ms after them.
        for second in 1...31 {
            for id in [busy, idle] { world.drain(id) }
            for _ in 0..<9 { world.tick() }
            world.now = world.now + 0.05
            try world.publish(.session(key, .metrics), #"{"s":\#(second)}"#)
            #expect(world.last(.metrics, busy) == #"{"s":\#(second)}"#)
            world.tick(0.05)
        }
        #expect((4...5).contains(world.names(busy).filter { $0 == "beat" }.count))
        #expect(world.names(idle).filter { $0 == "beat" }.count == 4)
    }

    @Test
    func `a lower revision is ignored, and what was cleared while watched comes back only newer`() throws {
        var world = HubWorld()
        let id = try world.watch(.live(key, isOwner: false), login(anna))
        try world.publish(.session(key, .state), state(9))
        try world.publish(.session(key, .state), state(8))
        try world.publish(.session(key, .state), "")
        try world.publish(.session(key, .state), state(7))
        world.drain(id)
        #expect(world.last(.state, id) == state(9))
    }

    @Test
    func `what was cleared is not shown to streams that begin later`() throws {
        var world = HubWorld()
        let first = try world.watch(.live(key, isOwner: false), login(anna))
        try world.publish(.session(key, .route), #"{"s":5,"la":47.1}"#)
        try world.publish(.session(key, .workout), #"{"revision":5}"#)
        try world.publish(.session(key, .route), "")
        try world.publish(.session(key, .workout), "")
        let second = try world.watch(.live(key, isOwner: false), login(anna))
        world.drain(second)
        #expect(!world.names(second).contains("route"))
        #expect(!world.names(second).contains("workout"))
        try world.publish(.session(key, .route), #"{"s":4}"#)
        try world.publish(.session(key, .route), #"{"s":6}"#)
        world.drain(first)
        world.tick(0.3)
        world.drain(first)
        #expect(world.last(.route, first) == #"{"s":6}"#)
    }

    @Test
    func `streams that open and close keep no more topics than streams may need`() throws {
        var world = HubWorld()
        for _ in 0..<(Hub.needLimit + 100) {
            let key = SessionKey(anna, SessionID(UUID()))
            try world.publish(.session(key, .state), state(1))
            world.hub.leave(try world.watch(.live(key, isOwner: false), login(anna)), world.now)
        }
        #expect(world.hub.needs.count <= Hub.needLimit)
    }

    @Test
    func `topics of a session or run that does not exist are released with their last stream`() throws {
        var world = HubWorld()
        for number in 1...3 {
            let (live, run) = (sessionKey(anna, number), runID(number))
            let ids = [
                try world.watch(.live(live, isOwner: false), login(ben, seen: [anna])),
                try world.watch(.virtualRun(ben, run), login(ben)),
            ]
            if number == 1 {
                try world.publish(.session(live, .state), state(1))
                try world.publish(.user(ben, .virtualRun(run)), #"{"revision":1}"#)
            }
            for id in ids { world.hub.leave(id, world.now) }
        }
        #expect(
            Set(world.hub.needs.keys) == [
                .session(sessionKey(anna, 1)), .run(ben, runID(1)), .views(ben), .metrics(ben),
            ]
        )
    }

    @Test
    func `a service that does not announce itself after a reconnect is offline`() throws {
        var world = HubWorld()
        let engine = Topic.presence(service: "session-engine", ProcessName("session-engine-a")!)
        world.perform(world.hub.connected(world.now))
        try world.publish(engine, #"{"status":"online"}"#)
        let id = try world.watch(.home([anna]), login(anna))
        world.perform(world.hub.disconnected(world.now))
        world.perform(world.hub.connected(world.now))
        world.tick(4)
        world.drain(id)
        #expect(world.last(.services, id)?.contains("false") != true)
        world.tick(2)
        world.drain(id)
        #expect(world.last(.services, id) == #"{"session-engine":false}"#)
    }

    @Test(arguments: ["{\n\"s\":1}", #"{"s":1"#, "[]", "{}", #"{"s":-1}"#, #"{"s":1} x"#])
    func `a payload that is no event is rejected`(payload: String) throws {
        var world = HubWorld()
        let id = try world.watch(.live(key, isOwner: false), login(anna))
        #expect(throws: PayloadError.self) { try world.publish(.session(key, .metrics), payload) }
        world.drain(id)
        #expect(!world.names(id).contains("metrics"))
    }

    @Test
    func `topics of a session are released 30 s after its last stream`() throws {
        var world = HubWorld()
        let first = try world.watch(.live(key, isOwner: false), login(anna))
        let second = try world.watch(.live(key, isOwner: false), login(anna))
        try world.publish(.session(key, .state), state(1))
        try world.publish(.session(key, .metrics), #"{"s":1}"#)
        world.hub.leave(first, world.now)
        world.tick(60)
        #expect(world.hub.frame(of: .session(key, .metrics)) != nil)
        world.hub.leave(second, world.now)
        world.tick(29)
        #expect(world.hub.needs[.session(key)] != nil)
        world.tick(1.1)
        #expect(world.hub.needs.isEmpty)
        #expect(world.hub.frame(of: .session(key, .metrics)) == nil)
        try world.publish(.session(key, .metrics), #"{"s":2}"#)
        #expect(world.hub.frame(of: .session(key, .metrics)) == nil)
    }

    @Test
    func `a stream that does not take its events for 20 s is closed, and others are not`() throws {
        var world = HubWorld()
        let stuck = try world.watch(.live(key, isOwner: false), login(anna))
        let healthy = try world.watch(.live(key, isOwner: false), login(anna))
        for _ in 0..<205 {
            world.drain(healthy)
            world.tick()
        }
        #expect(world.aborted == [stuck])
        #expect(world.hub.streams.keys.sorted() == [healthy])
        #expect(world.names(healthy).filter { $0 == "beat" }.count == 3)
    }

    @Test
    func `a login has at most 8 streams and the service 2,000`() throws {
        var world = HubWorld()
        let greedy = login(anna)
        let ids = try (0..<8).map { _ in try world.watch(.operators(OperatorView()), greedy) }
        #expect(throws: StreamLimit.ofLogin) { try world.watch(.operators(OperatorView()), greedy) }
        world.hub.leave(ids[0], world.now)
        _ = try world.watch(.operators(OperatorView()), greedy)
        for _ in 8..<2_000 { _ = try world.watch(.operators(OperatorView()), login(ben)) }
        #expect(throws: StreamLimit.ofService) { try world.watch(.operators(OperatorView()), login(ben)) }
    }

    @Test
    func `without room the account with the most streams gives way, until it has as few as the new one's`() throws {
        var world = HubWorld()
        func watch(_ user: User) throws -> Int {
            let person = login(user)
            if let crowding = world.hub.crowding(person) { world.hub.leave(crowding, world.now) }
            return try world.watch(.home([user]), person)
        }
        let greedy = try (0..<1_100).map { _ in try watch(anna) }
        for _ in 0..<899 { _ = try watch(ben) }
        #expect(world.hub.crowding(login(anna)) == nil)
        let cara = User("cara")!
        for _ in 0..<3 { _ = try watch(cara) }
        #expect(world.hub.streams.count == Hub.streamLimit)
        #expect(world.hub.streams.values.count { $0.user == cara } == 3)
        #expect(greedy.prefix { world.hub.streams[$0] == nil }.count == 2)
        #expect(world.hub.streams.values.count { $0.user == anna } == 1_098)
        #expect(throws: StreamLimit.ofService) { _ = try watch(anna) }
        _ = world.hub.close(world.now)
        #expect(world.hub.crowding(login(cara)) == nil)
    }

    @Test
    func `the end of a login ends its streams with an event`() throws {
        var world = HubWorld()
        let person = login(anna)
        let waiting = try world.watch(.home([anna]), person)
        let writing = try world.watch(.home([anna]), person)
        let other = try world.watch(.home([anna]), login(anna))
        world.drain(waiting)
        world.drain(other)
        world.perform(world.hub.end(person.id, world.now))
        for id in [waiting, writing] {
            world.drain(id)
            #expect(world.last(.end, id) == #"{"reason":"login"}"#)
        }
        #expect(world.ended == [waiting, writing])
        #expect(world.last(.end, other) == nil)
    }

    @Test
    func `a card's events name user and session, also of sessions that begin later`() throws {
        var world = HubWorld()
        let id = try world.watch(.home([anna]), login(ben, seen: [anna]))
        try world.publish(.session(key, .state), state(1))
        try world.publish(.session(key, .metrics), #"{"s":1}"#)
        try world.publish(.session(key, .route), #"{"s":1}"#)
        try world.publish(.user(anna, .current), #"{"revision":1,"session":null}"#)
        try world.publish(.user(anna, .profile), #"{"revision":1}"#)
        try world.publish(.session(sessionKey(ben, 2), .metrics), #"{"s":2}"#)
        world.drain(id)
        let source = #""user":"anna","session":"\#(key.session)""#
        #expect(world.last(.state, id) == #"{\#(source),"payload":\#(state(1))}"#)
        #expect(world.last(.metrics, id) == #"{\#(source),"payload":{"s":1}}"#)
        #expect(world.last(.current, id) == #"{"user":"anna","payload":{"revision":1,"session":null}}"#)
        // The map of all shows where a route ends.
        #expect(
            Set(world.names(id)) == [
                "seen", "bus", "services", "beat", "ready", "state", "metrics", "route", "current",
            ])
        // First, so that a page drops what it may no longer show.
        #expect(world.names(id).first == "seen")
        #expect(world.last(.seen, id) == #"{"users":["anna"],"week":"This week of anna"}"#)
    }

    @Test
    func `20 sessions of a user that are over are remembered for 48 h, the watched ones longer`() throws {
        var world = HubWorld()
        let start = world.now.wallClock.milliseconds
        let old = sessionKey(anna, 0)
        try world.publish(.session(old, .state), state(start, .completed))
        _ = try world.watch(.live(old, isOwner: true), login(anna))
        for number in 1...30 {
            let key = SessionKey(anna, SessionID("00000000-0000-4000-8000-0000000001\(number + 10)")!)
            try world.publish(.session(key, .state), state(start + Int64(number), .completed))
            try world.publish(.session(key, .workout), state(start + Int64(number)))
        }
        #expect(world.hub.sessions[anna]?.count == Hub.pastLimit + 1 - 1)
        #expect(world.hub.frame(of: .session(old, .state)) != nil)
        world.now = world.now + 49 * 3_600
        world.hub.forgetPast(world.now)
        #expect(world.hub.sessions[anna].map { Array($0.keys) } == [old.session])
        try world.publish(.session(key, .state), state(start, .completed))
        #expect(world.hub.frame(of: .session(key, .state)) == nil)
    }

    @Test
    func `all metrics are subscribed to while operators watch and 30 s more, and only known sessions are kept`() throws
    {
        var world = HubWorld()
        let other = sessionKey(ben, 2)
        try world.publish(.session(key, .state), state(5))
        try world.publish(.session(key, .metrics), #"{"c":1,"n":1,"s":1}"#)
        #expect(world.hub.frame(of: .session(key, .metrics)) == nil)
        let view = OperatorView()
        let ids = try (0..<2).map { _ in try world.watch(.operators(view), login(anna)) }
        #expect(world.hub.needs.keys.map { $0 } == [.allMetrics] && world.hub.haveNeedsChanged)
        #expect(WatchedTopics.allMetrics.subscriptions.map(\.filter) == ["pacebus/v1/+/+/+/metrics"])

        // The first metrics may be old, by the time of their newest item; more items have just come.
        let start = world.now.wallClock
        let published = (start - 3).milliseconds
        try world.publish(.session(key, .metrics), #"{"c":\#((start - 90).seconds),"n":1,"s":\#(published)}"#)
        #expect(world.hub.sessions[anna]?[key.session]?.heardAt == start - 90)
        try world.publish(.session(key, .metrics), #"{"c":\#((start - 90).seconds),"n":1,"s":\#(published + 1000)}"#)
        #expect(world.hub.sessions[anna]?[key.session]?.heardAt == start - 90)
        try world.publish(.session(key, .metrics), #"{"c":\#((start - 80).seconds),"n":2,"s":\#(published + 2000)}"#)
        #expect(world.hub.sessions[anna]?[key.session]?.heardAt == start - 1)
        try world.publish(.session(other, .metrics), #"{"c":1,"n":1,"s":1}"#)
        #expect(world.hub.frame(of: .session(other, .metrics)) == nil)

        // One page for all streams of a view; the first waits a second for retained metrics.
        #expect(world.hub.takeOverviews(world.now).isEmpty)
        world.tick(1)
        #expect(world.hub.takeOverviews(world.now) == [view])
        world.perform(world.hub.show(.json(.overview, [1]), to: view, world.now))
        for id in ids {
            world.drain(id)
            #expect(world.last(.overview, id) == "[1]" && !world.names(id).contains("metrics"))
        }
        world.tick(1.9)
        #expect(world.hub.takeOverviews(world.now).isEmpty)
        world.tick(0.1)
        #expect(world.hub.takeOverviews(world.now) == [view])
        for id in ids { world.hub.leave(id, world.now) }
        world.tick(29)
        #expect(world.hub.takeOverviews(world.now).isEmpty && world.hub.overviewsDue.isEmpty)
        #expect(world.hub.frame(of: .session(key, .metrics)) != nil)
        world.tick(1.1)
        #expect(world.hub.needs.isEmpty && world.hub.frame(of: .session(key, .metrics)) == nil)
        #expect(world.hub.sessions[anna]?[key.session]?.heardAt == nil)

        // A page without a stream.
        #expect(!world.hub.needAllMetrics(world.now) && world.hub.needAllMetrics(world.now))
        world.tick(31)
        #expect(world.hub.needs.isEmpty)
    }

    @Test
    func `a service that ended while the broker was away is not online`() throws {
        var world = HubWorld()
        let presence = { (service: String) in Topic.presence(service: service, ProcessName("a")!) }
        _ = world.hub.connected(world.now)
        try world.publish(presence("exporter"), #"{"status":"online"}"#)
        try world.publish(presence("session-engine"), #"{"status":"online"}"#)
        _ = world.hub.disconnected(world.now)
        #expect(world.hub.isOnline("exporter"))
        _ = world.hub.connected(world.now)
        try world.publish(presence("session-engine"), #"{"status":"online"}"#)
        #expect(world.hub.isOnline("session-engine"))
        #expect(!world.hub.isOnline("exporter"))
    }

    @Test
    func `a service whose only process no longer renews its presence is offline`() throws {
        var world = HubWorld()
        let presence = { (at: Int) in #"{"at":\#(at),"status":"online"}"# }
        let topic = Topic.presence(service: "exporter", ProcessName("a")!)
        let id = try world.watch(.operators(OperatorView()), login(anna))
        world.drain(id)
        world.perform(world.hub.connected(world.now))
        world.drain(id)
        try world.publish(topic, presence(1))
        world.tick(50)
        world.drain(id)
        try world.publish(topic, presence(2))
        world.tick(50)
        world.drain(id)
        try world.publish(topic, presence(2))
        #expect(world.hub.isOnline("exporter"))
        world.tick(10)
        world.drain(id)
        #expect(!world.hub.isOnline("exporter"))
        #expect(world.last(.services, id) == #"{"exporter":false}"#)
    }

    @Test
    func `the connection to the broker and the services are events`() throws {
        var world = HubWorld()
        let id = try world.watch(.operators(OperatorView()), login(anna))
        world.drain(id)
        #expect(world.last(.bus, id) == #"{"connected":false,"since":1735689600}"#)
        world.tick(1)
        world.perform(world.hub.connected(world.now))
        let presence = { (instance: String) in Topic.presence(service: "exporter", ProcessName(instance)!) }
        try world.publish(presence("a"), #"{"status":"online"}"#)
        try world.publish(presence("b"), #"{"status":"online"}"#)
        try world.publish(presence("a"), #"{"status":"offline"}"#)
        world.drain(id)
        world.tick(1)
        #expect(world.last(.bus, id) == #"{"connected":true}"#)
        #expect(world.last(.services, id) == #"{"exporter":true}"#)
        try world.publish(presence("b"), #"{"status":"offline"}"#)
        world.drain(id)
        world.tick(1)
        #expect(world.last(.services, id) == #"{"exporter":false}"#)
    }
}
