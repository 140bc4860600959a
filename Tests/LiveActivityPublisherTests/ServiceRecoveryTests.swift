import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// The service is killed or stopped, and another continues from its disk.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"))
struct ServiceRecoveryTests {
    private let folder: TemporaryFolder
    private let broker = InMemoryBroker()
    private let clock = RunningPublisher.clock()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func run(
        _ server: APNsServer, ending: RunningPublisher.Ending = .drain,
        _ body: (RunningPublisher) async throws -> Void
    ) async throws {
        try await RunningPublisher.run(in: folder, server, broker: broker, clock: clock, ending: ending, body)
    }

    /// Waits for this number of requests, without responses.
    private func expectRequests(_ count: Int, _ publisher: RunningPublisher, _ server: APNsServer) async throws {
        try await publisher.expectEventually { try server.requests.count == count }
    }

    /// Replaces a record with an invalid value.
    private func corrupt(_ key: SessionKey) async throws {
        let shards = Set([key.session.shard])
        let store = try await RunningService.opened { () throws(StoreError) in
            try SQLiteStore(path: folder.file("activities.sqlite"), schema: ActivityRecord.schema, shards: shards)
        }
        var changes = store.ownership.makeAsyncIterator()
        guard case .gained(let epochs)? = await changes.next(), let epoch = epochs[key.session.shard] else {
            throw RunningPublisher.NotInTime()
        }
        let change = StoreWrite.Change.put(key: "\(key)", value: Array("{".utf8))
        _ = try await store.commit([
            StoreWrite(
                shard: key.session.shard, epoch: epoch, collection: ActivityRecord.activities, change: change)
        ])
    }

    @Test func `after a kill, the next update carries the newest snapshot within two seconds`() async throws {
        let server = try await APNsServer("{}")
        var session = ServiceSession(at: clock.now)
        try await run(server, ending: .kill) { publisher in
            try await publisher.send(session.message, session.register(.start, 1))
            try await publisher.rest()
            try await publisher.send(
                session.register(.activity, 2), session.metrics(distance: 10, now: clock.now))
            try await publisher.pass(4)
            #expect(try server.events == ["start", "update"])
        }
        try await broker.client().send([session.metrics(distance: 20, now: clock.now)])
        try await run(server) { publisher in
            try await publisher.pass(2)
            let update = try #require(try server.requests.last?.payload?.aps)
            #expect(try server.events == ["start", "update", "update"])
            #expect(update.contentState.distance == 20)
            #expect(update.timestamp <= Int(clock.now.seconds))
            try await publisher.expect(.active, of: session.key)
        }
    }

    @Test func `an unconfirmed start is sent again with the same id 30 seconds after a kill`()
        async throws
    {
        let server = try await APNsServer(#"{"kind":"hang"}"#)
        let session = ServiceSession(at: clock.now)
        try await run(server, ending: .kill) { publisher in
            try await publisher.send(session.message, session.register(.start, 1))
            try await expectRequests(1, publisher, server)
        }
        try server.script("{}")
        try await run(server) { publisher in
            try await publisher.expect(.pending, of: session.key)
            try await publisher.pass(29.5)
            #expect(try server.requests.count == 1)
            try await publisher.pass(0.5)
            try await publisher.expect(.active, of: session.key)
            #expect(try server.events == ["start", "start"])
            #expect(Set(try server.requests.map { $0.headers["apns-id"] }).count == 1)
            #expect(try server.requests.last?.payload?.aps.timestamp == Int(clock.now.seconds))
        }
    }

    @Test(arguments: [RunningPublisher.Ending.kill, .drain])
    func `a confirmed start is not sent again`(ending: RunningPublisher.Ending) async throws {
        let server = try await APNsServer("{}")
        let session = ServiceSession(at: clock.now)
        try await run(server, ending: ending) { publisher in
            try await publisher.send(session.message, session.register(.start, 1))
            try await publisher.rest()
        }
        try await run(server) { publisher in
            try await publisher.pass(70)
            try await publisher.expect(.stale, of: session.key)
            #expect(try server.events == ["start"])
            try await publisher.send(session.register(.activity, 2))
            try await publisher.pass(2)
            #expect(try server.events == ["start", "update"])
        }
    }

    @Test func `shutdown awaits a start in flight, and the next process does not repeat it`() async throws {
        let server = try await APNsServer("{}")
        let session = ServiceSession(at: clock.now)
        try await run(server) { publisher in
            try await publisher.send(session.message, session.register(.start, 1))
            // After the second batch the push of the first is in flight.
            try await publisher.settle()
            try await publisher.settle()
        }
        #expect(try server.events == ["start"])
        try await run(server) { publisher in
            try await publisher.pass(31)
            #expect(try server.events == ["start"])
        }
    }

    @Test func `an end due at a kill is sent with the same id after the restart`() async throws {
        let server = try await APNsServer("{}")
        var session = ServiceSession(at: clock.now)
        try await run(server, ending: .kill) { publisher in
            try await publisher.send(session.message, session.register(.activity, 1))
            try await publisher.pass(2)
            try server.script(#"{"kind":"hang"}"#)
            try await publisher.send(session.become(.saving, now: clock.now))
            try await expectRequests(2, publisher, server)
        }
        try server.script("{}")
        try await run(server) { publisher in
            try await publisher.pass(2)
            try await publisher.expect(.ended, of: session.key)
            let requests = try server.requests
            #expect(try server.events == ["update", "end", "end"])
            #expect(requests[1].headers["apns-id"] == requests[2].headers["apns-id"])
            #expect(requests[2].payload?.aps.contentState.isFinished == true)
        }
    }

    @Test func `a session that ended during the downtime ends its activity`() async throws {
        let server = try await APNsServer("{}")
        var session = ServiceSession(at: clock.now)
        try await run(server, ending: .kill) { publisher in
            try await publisher.send(session.message, session.register(.activity, 1))
            try await publisher.pass(2)
        }
        try await broker.client().send([session.become(.completed, now: clock.now)])
        try await run(server) { publisher in
            try await publisher.pass(2)
            try await publisher.expect(.ended, of: session.key)
            #expect(try server.events == ["update", "end"])
            try await publisher.pass(60)
            try await publisher.expect(.dismissed, of: session.key)
        }
        try await run(server) { publisher in
            try await publisher.pass(5)
            try await publisher.expect(.dismissed, of: session.key)
            #expect(try server.events == ["update", "end"])
        }
    }

    @Test func `a corrupt record is logged and skipped, and its phone registers again`() async throws {
        let server = try await APNsServer("{}")
        let sessions = [ServiceSession(at: clock.now), ServiceSession("bert", at: clock.now)]
        try await run(server) { publisher in
            for session in sessions { try await publisher.send(session.message, session.register(.activity, 1)) }
            try await publisher.rest()
        }
        try await corrupt(sessions[0].key)
        try await run(server) { publisher in
            #expect(publisher.count(logged: "error corrupt record ignored record=activities/\(sessions[0].key)") == 1)
            try await publisher.pass(2)
            #expect(try server.requests.count == 3)
            try await publisher.send(sessions[0].register(.activity, 1))
            try await publisher.pass(2)
            #expect(try server.requests.count == 4)
            try await publisher.expect(.active, of: sessions[0].key)
        }
    }

    @Test func `a broker without retained messages receives the statuses again, and older ones are replaced`()
        async throws
    {
        let server = try await APNsServer("{}")
        let sessions = [ServiceSession(at: clock.now), ServiceSession("bert", at: clock.now)]
        try await run(server) { publisher in
            for session in sessions { try await publisher.send(session.message, session.register(.activity, 1)) }
            try await publisher.rest()
            for session in sessions { try await publisher.expect(.active, of: session.key) }
            let before = try sessions.map { try publisher.retainedStatus(of: $0.key) }
            broker.kill()
            broker.start()
            try await publisher.expectEventually {
                try sessions.map { try publisher.retainedStatus(of: $0.key) } == before
            }

            let topic = Topic.session(sessions[0].key, .activity)
            var old = try #require(before[0])
            old.status = .dismissed
            old.revision = 5
            try await publisher.send(topic.message(JSONCoding.encode(old)))
            try await publisher.expectEventually { try publisher.retainedStatus(of: sessions[0].key) == before[0] }
            old.revision = (before[0]?.revision ?? 0) + 1_000
            try await publisher.send(topic.message(JSONCoding.encode(old)))
            try await publisher.expectEventually {
                guard let now = try publisher.retainedStatus(of: sessions[0].key) else { return false }
                return now.revision > old.revision && now.status == .active
            }
        }
    }

    @Test func `sessions of other owners' shards are ignored`() async throws {
        let server = try await APNsServer("{}")
        let shards = try #require(ShardSelection("00-7f"))
        try await RunningPublisher.run(in: folder, server, broker: broker, clock: clock, shards: shards) { publisher in
            let session = "0b7ac6a5-64bd-4e2d-8f12-0d3f5a1c9e"
            let other = ServiceSession(session: SessionID("\(session)80")!, at: clock.now)
            let own = ServiceSession(session: SessionID("\(session)7f")!, at: clock.now)
            for session in [other, own] {
                try await publisher.send(session.message, session.register(.activity, 1))
            }
            try await publisher.rest()
            try await publisher.expect(.active, of: own.key)
            #expect(try publisher.retainedStatus(of: other.key) == nil)
            #expect(try server.requests.count == 1)
        }
    }
}
