import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// Errors of APNs and their effects.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"))
struct ServiceErrorTests {
    private let folder: TemporaryFolder
    private let tablet = Device("tablet-1")!

    init() throws {
        folder = try TemporaryFolder()
    }

    private func step(_ status: Int, _ reason: String, token: Int? = nil) -> String {
        let device = token.map { #""device":"\#(ServiceSession.token($0))","# } ?? ""
        return #"{\#(device)"status":\#(status),"reason":"\#(reason)"}"#
    }

    /// Runs a session on two devices. The second receives its pushes whatever happens to the first.
    private func run(
        _ server: APNsServer, limits: APNsClient.Limits = APNsWorld.longTimeouts,
        _ body: (RunningPublisher, inout ServiceSession) async throws -> Void
    ) async throws {
        try await RunningPublisher.run(in: folder, server, limits: limits) { publisher in
            var session = ServiceSession(at: publisher.clock.now)
            try await publisher.send(
                session.message, session.register(.activity, 1), session.register(.activity, 2, device: tablet))
            try await body(publisher, &session)
        }
        let other = try server.requests.filter { $0.device == ServiceSession.token(2) }
        #expect(other.count >= 2)
        #expect(other.allSatisfy { $0.status == 200 })
    }

    private func requests(_ server: APNsServer, _ token: Int = 1) throws -> [APNsServer.Request] {
        try server.requests.filter { $0.device == ServiceSession.token(token) }
    }

    private func status(_ publisher: RunningPublisher, _ session: ServiceSession) throws -> ActivityStatus.Status? {
        try publisher.retainedStatus(of: session.key)?.devices.first { $0.device == ServiceSession.phone }?.status
    }

    @Test(arguments: [
        (410, "Unregistered"), (410, "ExpiredToken"), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"),
    ])
    func `an expired token is removed until another is registered`(code: Int, reason: String) async throws {
        let server = try await APNsServer(step(code, reason, token: 1), "{}")
        try await run(server) { publisher, session in
            try await publisher.rest()
            #expect(try status(publisher, session) == .pending)
            try await publisher.pass(20) {
                try await publisher.send(session.metrics(distance: 5, now: publisher.clock.now))
            }
            #expect(try requests(server).count == 1)
            try await publisher.send(session.register(.activity, 3))
            try await publisher.rest()
            #expect(try requests(server, 3).count == 1)
            #expect(try status(publisher, session) == .active)
            #expect(publisher.log.lines.allSatisfy { !$0.contains(ServiceSession.token(1)) })
        }
    }

    @Test(arguments: [
        (400, "BadCollapseId"), (400, "BadExpirationDate"), (400, "BadMessageId"), (400, "BadPriority"),
        (400, "BadTopic"), (400, "DuplicateHeaders"), (400, "IdleTimeout"), (400, "InvalidPushType"),
        (400, "MissingDeviceToken"), (400, "MissingTopic"), (400, "PayloadEmpty"), (400, "TopicDisallowed"),
        (403, "BadCertificate"), (403, "BadCertificateEnvironment"), (403, "Forbidden"),
        (403, "InvalidProviderToken"), (403, "MissingProviderToken"), (404, "BadPath"), (405, "MethodNotAllowed"),
        (413, "PayloadTooLarge"),
    ])
    func `a refusal is reported once, and retried only for a new state after a pause`(
        code: Int, reason: String
    ) async throws {
        let server = try await APNsServer(step(code, reason, token: 1), "{}")
        try await run(server) { publisher, session in
            try await publisher.rest()
            #expect(try requests(server).count == 1)
            let line = "error pushes refused, check APNS_KEY_ID, APNS_TEAM_ID and APNS_BUNDLE_ID"
            #expect(publisher.count(logged: "\(line) reason=\(code) \(reason)") == 1)
            try await publisher.pass(14) {
                try await publisher.send(session.metrics(distance: 5, now: publisher.clock.now))
            }
            #expect(try requests(server).count == 1)
            try server.script("{}")
            try await publisher.pass(1.5)
            #expect(try requests(server).count == 2)
            #expect(try status(publisher, session) == .active)
            #expect(publisher.count(logged: line) == 1)
        }
    }

    @Test(arguments: [
        (429, "TooManyRequests"), (500, "InternalServerError"), (503, "ServiceUnavailable"), (503, "Shutdown"),
    ])
    func `a temporary failure is attempted three times, then again with the newest state`(code: Int, reason: String)
        async throws
    {
        let server = try await APNsServer(step(code, reason, token: 1), "{}")
        try await run(server) { publisher, session in
            // Only the pauses between the attempts take time of the service's clock: by it, the update expires.
            for attempt in 1..<3 {
                try await publisher.expectEventually { try requests(server).count == attempt }
                let isRepeated = try await eventually {
                    publisher.clock.advance(by: .seconds(0.01))
                    try await publisher.settle()
                    return try requests(server).count > attempt
                }
                #expect(isRepeated)
            }
            try await publisher.expectEventually { publisher.count(logged: "warning push failed, retrying") == 1 }
            #expect(publisher.count(logged: "info push failed action=update") == 1)
            let attempts = try requests(server)
            #expect(attempts.count == 3)
            #expect(Set(attempts.map { $0.headers["apns-id"] }).count == 1)
            try server.script("{}")
            try await publisher.send(session.metrics(distance: 77, now: publisher.clock.now))
            try await publisher.pass(3)
            let next = try requests(server).dropFirst(3)
            #expect(next.count == 1)
            #expect(next.first?.payload?.aps.contentState.distance == 77)
            #expect(next.first?.headers["apns-id"] != attempts.first?.headers["apns-id"])
            #expect(publisher.count(logged: "notice pushes succeed again") == 1)
            #expect(try status(publisher, session) == .active)
        }
    }

    @Test func `an expired provider token is replaced once for all pushes`() async throws {
        let server = try await APNsServer(step(403, "ExpiredProviderToken", token: 1), "{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            let session = ServiceSession(at: publisher.clock.now)
            try server.script(step(403, "ExpiredProviderToken"), "{}")
            try await publisher.send(session.message, session.register(.activity, 1))
            try await publisher.rest()
            let attempts = try requests(server)
            #expect(attempts.map(\.status) == [403, 200])
            #expect(attempts.map(\.token) == [1, 2])
            #expect(Set(attempts.map { $0.headers["apns-id"] }).count == 1)
            try await publisher.expect(.active, of: session.key)
            try await publisher.pass(12)
            #expect(try requests(server).map(\.token) == [1, 2, 2])
        }
    }

    @Test func `too many provider tokens pause pushes for a minute`() async throws {
        let server = try await APNsServer(step(429, "TooManyProviderTokenUpdates", token: 1), "{}")
        try await run(server) { publisher, session in
            try await publisher.rest()
            try server.script("{}")
            try await publisher.pass(59.5)
            #expect(try requests(server).count == 1)
            #expect(try status(publisher, session) == .stale)
            try await publisher.pass(0.5)
            #expect(try requests(server).count == 2)
            #expect(try status(publisher, session) == .active)
        }
    }

    @Test func `an expired push-to-start token starts nothing again`() async throws {
        let server = try await APNsServer(step(410, "Unregistered"), "{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            let session = ServiceSession(at: publisher.clock.now)
            try await publisher.send(session.message, session.register(.start, 1))
            try await publisher.rest()
            try await publisher.pass(65)
            #expect(try server.events == ["start"])
            #expect(try publisher.retainedStatus(of: session.key)?.reason == "410 Unregistered")
            try await publisher.send(session.register(.start, 2))
            try await publisher.rest()
            #expect(try server.events == ["start", "start"])
            try await publisher.expect(.active, of: session.key)
        }
    }

    @Test func `an unreachable APNs blocks nothing and is used again once reachable`() async throws {
        let server = try await APNsServer("{}")
        try await RunningPublisher.run(in: folder, server) { publisher in
            var session = ServiceSession(at: publisher.clock.now)
            server.stop()
            let id = CommandID(UUID())
            try await publisher.send(session.message, session.register(.activity, 1, id: id))
            #expect(try await publisher.reply(to: id, of: session.key.user).ok)
            let isTold = try await eventually {
                publisher.clock.advance(by: .seconds(0.1))
                try await publisher.settle()
                return publisher.count(logged: "warning push failed, retrying") == 1
            }
            #expect(isTold)
            try await server.start()
            try await publisher.send(session.metrics(distance: 9, now: publisher.clock.now))
            let isBack = try await eventually {
                publisher.clock.advance(by: .seconds(0.1))
                try await publisher.settle()
                return publisher.count(logged: "notice pushes succeed again") == 1
            }
            #expect(isBack)
            #expect(try server.requests.last?.payload?.aps.contentState.distance == 9)
            try await publisher.rest()
        }
    }
}
