import Bus
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
        #expect(world.names(owner) == ["bus", "services", "beat", "state", "profile"])
        #expect(world.last(.state, owner) == state(7))
        #expect(world.last(.services, owner) == #"{"exporter":true}"#)
        #expect(world.names(viewer) == ["bus", "services", "beat", "state"])
    }

    @Test
    func `a run's messages reach its runner alone, a view each page of that person`() throws {
        var world = HubWorld()
        let run = runID(1)
        let annas = try world.watch(.virtualRun(anna, run), login(anna))
        let other = try world.watch(.virtualRun(anna, runID(2)), login(anna))
        let bens = try world.watch(.live(key, isOwner: false), login(ben, seen: [anna]))
        for topic in [UserTopic.virtualRun(run), .partners(run), .partnerPositions(run)] {
            try world.publish(.user(anna, topic), #"{"revision":1,"s":1}"#)
        }
        try world.publish(.user(anna, .virtualRunAnnouncements(run)), #"{"kind":"lead"}"#)
        try world.publish(.session(key, .metrics), #"{"s":1}"#)
        for id in [annas, other, bens] {
            world.tick(1)
            world.drain(id)
        }
        let start = ["bus", "services", "beat"]
        #expect(
            world.names(annas).filter { !start.contains($0) }.sorted()
                == ["announcements", "metrics", "partners", "positions", "view"])
        #expect(world.names(other).filter { !start.contains($0) }.sorted() == ["metrics", "view"])
        #expect(world.names(bens).filter { !start.contains($0) } == ["metrics"])
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
        let ids = try (0..<8).map { _ in try world.watch(.operators, greedy) }
        #expect(throws: StreamLimit.ofLogin) { try world.watch(.operators, greedy) }
        world.hub.leave(ids[0], world.now)
        _ = try world.watch(.operators, greedy)
        for _ in 8..<2_000 { _ = try world.watch(.operators, login(ben)) }
        #expect(throws: StreamLimit.ofService) { try world.watch(.operators, login(ben)) }
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
        #expect(Set(world.names(id)) == ["bus", "services", "beat", "state", "metrics", "current"])
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
    func `the connection to the broker and the services are events`() throws {
        var world = HubWorld()
        let id = try world.watch(.operators, login(anna))
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
