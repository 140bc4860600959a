import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// The Live Activity of a simulated run, through the whole system, with a kill of the publisher.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"))
struct LiveActivityTests {
    @Test func `a phone is updated until the end despite kills of the publisher`() async throws {
        let server = try await APNsServer("{}")
        defer { server.stop() }
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let installation = try await Installation()
        var publisher = try installation.publishPushes(to: server)
        defer { publisher.end(SIGKILL) }
        let token = String(repeating: "a1", count: 32)
        let status = try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try Installation.run(
                "device",
                [
                    "simulate", "--duration", "8", "--user", "\(key.user)", "--session", "\(key.session)",
                    "--queue-folder", installation.folder.file("queue"), "--mqtt-url",
                    "mqtt://127.0.0.1:\(installation.broker.port)",
                ], log: installation.folder.file("device.log"))
            try await register(token, key, observer)
            let isShown = try await eventually { try server.requests.count >= 3 }
            #expect(isShown)
            publisher.end(SIGKILL)
            let seen = try server.requests.count
            publisher = try installation.publishPushes(to: server)
            let hasContinued = try await eventually { try server.requests.count > seen }
            #expect(hasContinued)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            let payload = try await observer.wait(for: Topic.session(key, .activity).name) { payload in
                (try? JSONCoding.decode(ActivityStatus.self, from: payload))?.status == .ended
            }
            return try JSONCoding.decode(ActivityStatus.self, from: payload)
        }
        #expect(status.devices == [.init(device: try #require(Device("phone-1")), status: .ended)])
        let requests = try server.requests
        #expect(requests.allSatisfy { $0.status == 200 && $0.error == nil && $0.device == token })
        let pushes = requests.compactMap { $0.payload?.aps }
        #expect(pushes.map(\.event).dropLast().allSatisfy { $0 == "update" })
        let end = try #require(pushes.last)
        #expect(end.event == "end" && end.contentState.isFinished)
        #expect(end.dismissalDate.map { $0 - end.timestamp } == 60)
        for (earlier, later) in zip(pushes, pushes.dropFirst()) {
            #expect(earlier.timestamp < later.timestamp)
            #expect(earlier.contentState.elapsedTime <= later.contentState.elapsedTime)
        }
    }

    private func register(_ token: String, _ key: SessionKey, _ observer: BusObserver) async throws {
        let registration = ActivityRegistration(
            id: CommandID(UUID()), client: BusObserver.phone, device: try #require(Device("phone-1")),
            action: .register(token: token, kind: .activity, environment: .sandbox))
        try await observer.register(
            Topic.session(key, .activityRegister).message(JSONCoding.encode(registration)), of: key.user)
    }
}

extension Installation {
    /// Starts live-activity-publisher with an APNs server.
    func publishPushes(to server: APNsServer) throws -> ChildProcess {
        try Self.run(
            "live-activity-publisher",
            [
                "--mqtt-url", "mqtt://127.0.0.1:\(broker.port)", "--store-url",
                "sqlite:\(folder.file("live-activity-publisher.sqlite"))", "--apns-key-file", server.keyFile,
                "--apns-key-id", APNsServer.keyID, "--apns-team-id", APNsServer.teamID, "--apns-bundle-id",
                APNsServer.bundleID, "--apns-url", server.url, "--apns-ca-file", server.caFile,
            ], log: folder.file("live-activity-publisher.log"))
    }
}

extension BusObserver {
    /// The client of registrations.
    static let phone = Client("phone-1")!

    /// Repeats a registration until its reply, like a phone: the session may begin later, and the service too.
    func register(_ message: MQTTMessage, of user: User) async throws {
        let id = try JSONCoding.decode(Command.Envelope.self, from: message.payload).id
        let isRegistered = await eventually {
            await publish(message)
            let reply = try? await wait(for: Topic.user(user, .replies(Self.phone)).name, within: .milliseconds(300)) {
                (try? JSONCoding.decode(Reply.self, from: $0)).map { $0.id == id && $0.ok } ?? false
            }
            return reply != nil
        }
        try #require(isRegistered)
    }
}
