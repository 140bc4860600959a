import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Alerts of a virtual run of real processes: broker, virtual-run, live-activity-publisher and `pacebus`.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"))
struct VirtualRunAlertTests {
    @Test func `an invitation alerts the invitee, and its acceptance both, each once`() async throws {
        let server = try await APNsServer("{}")
        defer { server.stop() }
        let installation = try await Installation(services: [.engine, .virtualRun])
        var publisher = try installation.publishPushes(to: server)
        defer { publisher.end(SIGKILL) }
        // The kill may come before an outcome is stored: then the alert is repeated under its id.
        func distinct() throws -> [APNsServer.Request] {
            var ids: Set<String?> = []
            return try server.requests.filter { ids.insert($0.headers["apns-id"]).inserted }
        }
        func alerts(to token: String) throws -> [String] {
            try distinct().filter { $0.device == token }.compactMap { $0.notification?.kind }
        }
        let (ann, ben) = (String(repeating: "a1", count: 32), String(repeating: "b2", count: 32))
        try await BusObserver.run(port: installation.broker.port) { observer in
            for (name, token) in [("ann", ann), ("ben", ben)] {
                let user = try #require(User(name))
                let registration = NotificationRegistration(
                    id: CommandID(UUID()), client: BusObserver.phone, device: try #require(Device("phone-1")),
                    action: .register(token: token, environment: .sandbox))
                try await observer.register(
                    Topic.user(user, .notificationsRegister).message(JSONCoding.encode(registration)), of: user)
            }
            try await pacebus(installation, "ann", "invite", "ben", "--distance", "5000")
            try #require(try await eventually { try alerts(to: ben) == ["invitation"] })
            // The retained view comes again.
            publisher.end(SIGKILL)
            publisher = try installation.publishPushes(to: server)
            try await pacebus(installation, "ben", "accept")
            let isConfirming = try await eventually {
                try alerts(to: ann) == ["confirm"] && alerts(to: ben) == ["invitation", "confirm"]
            }
            try #require(isConfirming)
            try await pacebus(installation, "ben", "go")
            try await pacebus(installation, "ann", "go")
        }
        // The service sends what is due, and ends.
        publisher.end(SIGTERM)
        #expect(await publisher.finish() == 0)
        #expect(try alerts(to: ann) == ["confirm"])
        #expect(try alerts(to: ben) == ["invitation", "confirm"])
        #expect(try server.requests.allSatisfy { $0.status == 200 && $0.error == nil })
        let requests = try distinct()
        #expect(
            requests.compactMap(\.notification?.aps.alert.body).sorted() == [
                "Ann invites you to run 5 km", "Run with Ann starts: confirm within 1 minute",
                "Run with Ben starts: confirm within 1 minute",
            ])
        #expect(Set(requests.compactMap(\.notification?.run)).count == 1)
    }

    /// Runs `pacebus` as a user to its end.
    private func pacebus(_ installation: Installation, _ user: String, _ arguments: String...) async throws {
        let log = installation.folder.file("\(UUID().uuidString).log")
        let process = try installation.pacebus(arguments + ["--user", user], log: log)
        let status = await process.finish()
        #expect(status == 0, "\(arguments): \((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
    }
}
