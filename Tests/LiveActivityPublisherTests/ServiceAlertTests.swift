import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// Alerts of the running service, with an APNs server on loopback that accepts documented requests only.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"))
struct ServiceAlertTests {
    private let folder: TemporaryFolder
    private let anna = User("anna")!
    private let ben = User("ben")!
    private let id = RunID(UUID())

    init() throws {
        folder = try TemporaryFolder()
    }

    private func registration(_ token: Int? = 1, id: CommandID = CommandID(UUID())) -> MQTTMessage {
        let action: NotificationRegistration.Action =
            token.map { .register(token: ServiceSession.token($0), environment: .sandbox) } ?? .withdraw
        let registration = NotificationRegistration(
            id: id, client: ServiceSession.client, device: ServiceSession.phone, action: action)
        return Topic.user(ben, .notificationsRegister).message(JSONCoding.encode(registration))
    }

    /// Ben's retained view of Anna's run.
    private func view(_ status: RunStatus, _ own: ParticipantStatus, _ now: Timestamp) -> MQTTMessage {
        var settings = RunSettings()
        settings.goal = .distance(5_000)
        var view = VirtualRunView(
            run: id, user: ben, revision: now.milliseconds, status: status, host: anna, settings: settings,
            createdAt: now,
            participants: [
                .init(user: anna, status: .accepted, at: now, sharing: .all),
                .init(user: ben, status: own, at: now, sharing: .all),
            ])
        if own == .invited { view.expiresAt = now + 86_400 }
        if status == .confirming { view.confirmBy = now + 60 }
        return Topic.user(ben, .virtualRun(id)).message(JSONCoding.encode(view))
    }

    @Test func `an invitation and the start of confirming are alerts as Apple documents them`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            let (began, registered) = (publisher.clock.now, CommandID(UUID()))
            try await publisher.send(registration(id: registered))
            #expect(try await publisher.reply(to: registered, of: ben).ok)
            try await publisher.send(view(.inviting, .invited, began))
            try await publisher.rest()
            try await publisher.pass(1)
            let confirming = publisher.clock.now
            try await publisher.send(view(.confirming, .accepted, confirming))
            try await publisher.pass(5)
            let requests = try server.requests
            #expect(requests.map(\.device) == [ServiceSession.token(1), ServiceSession.token(1)])
            #expect(requests.allSatisfy { $0.status == 200 && $0.error == nil && $0.payload == nil })
            for (request, end) in zip(requests, [began + 86_400, confirming + 60]) {
                var headers = request.headers.filter { $0.key.hasPrefix("apns-") }
                #expect(UUID(uuidString: headers.removeValue(forKey: "apns-id") ?? "") != nil)
                #expect(
                    headers == [
                        "apns-push-type": "alert", "apns-topic": "org.example.workouts", "apns-priority": "10",
                        "apns-expiration": "\(Int(end.seconds))", "apns-collapse-id": "\(id)",
                    ])
            }
            let notifications = requests.compactMap(\.notification)
            #expect(notifications.map(\.kind) == ["invitation", "confirm"])
            #expect(notifications.allSatisfy { $0.run == "\(id)" && $0.aps.interruptionLevel == "time-sensitive" })
            #expect(
                notifications.map(\.aps.alert.body) == [
                    "Anna invites you to run 5 km", "Run with Anna starts: confirm within 1 minute",
                ])
            #expect(publisher.value("notification_devices") == 1)
            let text = publisher.metrics.render()
            for kind in ["invitation", "confirm"] {
                #expect(
                    text.contains("pacebus_live_activity_pushes_total{event=\"\(kind)\",outcome=\"delivered\"} 1"))
            }
        }
    }

    @Test func `after a restart the retained view alerts no second time, after a kill during the push it does`()
        async throws
    {
        let server = try await APNsServer(#"{"kind":"hang"}"#)
        let (broker, clock) = (InMemoryBroker(), RunningPublisher.clock())
        try await RunningPublisher.run(in: folder, server, broker: broker, clock: clock, ending: .kill) { publisher in
            try await publisher.send(registration(), view(.inviting, .invited, clock.now))
            try await publisher.expectEventually { try server.requests.count == 1 }
        }
        try server.script("{}")
        for _ in 0..<2 {
            try await RunningPublisher.run(in: folder, server, broker: broker, clock: clock) { publisher in
                try await publisher.expectEventually { try server.requests.count == 2 }
                try await publisher.rest()
            }
        }
        let requests = try server.requests
        #expect(requests.count == 2 && Set(requests.map { $0.headers["apns-id"] }).count == 1)
    }

    @Test func `a user's first device gets the alert of an invitation from before`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            try await publisher.send(view(.inviting, .invited, publisher.clock.now))
            try await publisher.rest()
            try await publisher.send(registration())
            try await publisher.pass(1)
            #expect(try server.requests.compactMap(\.notification?.kind) == ["invitation"])
            try await publisher.send(registration(nil), registration(2))
            try await publisher.pass(Notifications.greeting + 1)
            #expect(try server.requests.count == 1)
        }
    }

    @Test func `an invalid registration is refused without publishing its token, and a foreign view is rejected`()
        async throws
    {
        let server = try await APNsServer("{}")
        let secret = ServiceSession.token(7)
        try await RunningPublisher.run(in: folder, server) { publisher in
            let id = CommandID(UUID())
            let bad =
                #"{"id":"\#(id)","client":"tests","device":"p","enabled":true,"token":"\#(secret)","environment":1}"#
            let other = view(.inviting, .invited, publisher.clock.now).payload
            try await publisher.send(
                registration(), Topic.user(ben, .notificationsRegister).message(Array(bad.utf8)),
                Topic.user(ben, .virtualRun(RunID(UUID()))).message(Array(other)),
                // Nobody registered for this user.
                Topic.user(anna, .virtualRun(self.id)).message(Array("{".utf8)))
            #expect(try await publisher.reply(to: id, of: ben).error?.code == "invalid_command")
            try await publisher.rest()
            let reports = publisher.broker.published.filter { $0.topic.contains("rejected") }
                .map { String(decoding: $0.payload, as: UTF8.self) }
            #expect(reports.count == 3 && reports.allSatisfy { !$0.contains(secret) }, "\(reports)")
            #expect(publisher.log.lines.allSatisfy { !$0.contains(secret) })
            #expect(try server.requests.isEmpty)
        }
    }

    @Test func `the profile's deletion of everything removes the record from the disk`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            try await publisher.send(registration())
            try await publisher.rest()
            var records = try await publisher.store.records(
                in: NotificationRecord.notifications, shards: [ben.shard])
            #expect(records.map(\.key) == ["ben"])
            let profile = UserProfile(revision: 1, profile: Profile(), erasedAt: publisher.clock.now)
            try await publisher.send(
                Topic.user(ben, .profile).message(JSONCoding.encode(profile)),
                view(.inviting, .invited, publisher.clock.now))
            try await publisher.rest()
            records = try await publisher.store.records(in: NotificationRecord.notifications, shards: [ben.shard])
            #expect(records.isEmpty)
            #expect(try server.requests.isEmpty)
        }
    }

    @Test func `while writes fail no alert is sent and no registration confirmed, and both follow later`() async throws
    {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            try await publisher.send(registration())
            try await publisher.rest()
            publisher.store.refuse(true)
            try await publisher.send(view(.inviting, .invited, publisher.clock.now))
            try await publisher.expectLogged("commit failed, retrying")
            #expect(try server.requests.isEmpty)
            publisher.store.refuse(false)
            try await publisher.clock.waitForSleepers()
            publisher.clock.advance(by: .seconds(2))
            try await publisher.expectEventually { try server.requests.count == 1 }
            let id = CommandID(UUID())
            try await publisher.send(registration(nil, id: id))
            #expect(try await publisher.reply(to: id, of: ben).ok)
        }
    }
}

extension RunningPublisher {
    /// Waits for a log line while the disk accepts no writes.
    fileprivate func expectLogged(_ text: String) async throws {
        guard await eventually({ log.lines.contains { $0.contains(text) } }) else { throw NotInTime() }
    }
}
