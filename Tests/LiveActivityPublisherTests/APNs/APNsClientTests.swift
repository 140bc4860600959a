import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// The outcomes of pushes, with a scripted APNs server.
extension APNsTests {
    @Suite struct ClientTests {
        private func send(_ push: Push = APNsWorld.push(), _ server: APNsServer) async throws -> PushOutcome {
            try await APNsWorld.withClient(server) { await $0.send(push) }
        }

        private static let events: [PushPayload.Event] = [
            .start(
                ActivityAttributes(symbol: "figure.run", workoutActivityType: 37, workoutName: "Outdoor \"Running\" 🏃"),
                .init(title: "Outdoor Running", body: "Has begun")),
            .update, .end(dismissalDate: APNsWorld.now + 60),
        ]

        @Test(arguments: Self.events)
        func `a push matches Apple's documentation`(event: PushPayload.Event) async throws {
            let server = try await APNsServer("{}")
            var payload = APNsWorld.update()
            payload.event = event
            let id = UUID()
            let push = APNsWorld.push(
                id: id, priority: 10, expiration: APNsWorld.now + 15.5, payload: payload.bytes)
            #expect(try await send(push, server) == .delivered)
            let request = try #require(try server.requests.first)
            #expect(request.error == nil)
            #expect(request.path == "/3/device/\(APNsWorld.token)")
            let sent = request.headers.filter { $0.key.hasPrefix("apns-") }
            #expect(
                sent == [
                    "apns-push-type": "liveactivity", "apns-topic": "org.example.workouts.push-type.liveactivity",
                    "apns-priority": "10", "apns-expiration": "1735689615", "apns-id": id.uuidString.lowercased(),
                ])
            #expect(request.payload?.aps.contentState.elapsedTime == 61.5)
            #expect(try server.log == "")
        }

        @Test func `a push without an expiration expires immediately`() async throws {
            let server = try await APNsServer("{}")
            #expect(try await send(server) == .delivered)
            #expect(try server.requests.first?.headers["apns-expiration"] == "0")
            #expect(try server.requests.first?.headers["apns-priority"] == "5")
        }

        private func send(_ server: APNsServer) async throws -> PushOutcome { try await send(APNsWorld.push(), server) }

        @Test(arguments: [
            (410, "Unregistered"), (410, "ExpiredToken"), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"),
        ])
        func `an expired token is reported after one attempt`(status: Int, reason: String) async throws {
            let server = try await APNsServer(
                #"{"status":\#(status),"reason":"\#(reason)","timestamp":1735689600000}"#)
            #expect(try await send(server) == .tokenGone(reason: "\(status) \(reason)"))
            #expect(try server.requests.count == 1)
        }

        @Test(arguments: [
            (400, "BadTopic"), (400, "BadPriority"), (400, "BadExpirationDate"), (400, "TopicDisallowed"),
            (400, "PayloadEmpty"), (403, "InvalidProviderToken"), (403, "MissingProviderToken"), (404, "BadPath"),
            (405, "MethodNotAllowed"), (413, "PayloadTooLarge"),
        ])
        func `a permanent failure is attempted once`(status: Int, reason: String) async throws {
            let server = try await APNsServer(#"{"status":\#(status),"reason":"\#(reason)"}"#)
            #expect(try await send(server) == .refused(reason: "\(status) \(reason)"))
            #expect(try server.requests.count == 1)
        }

        @Test(arguments: [(429, "TooManyRequests"), (500, "InternalServerError"), (503, "ServiceUnavailable")])
        func `a temporary failure is attempted three times with the same id`(status: Int, reason: String) async throws {
            let step = #"{"status":\#(status),"reason":"\#(reason)"}"#
            let server = try await APNsServer(step)
            let began = ContinuousClock.now
            #expect(try await send(server) == .failed(reason: "\(status) \(reason)", retryAfter: nil))
            #expect(ContinuousClock.now - began >= .milliseconds(300))
            let requests = try server.requests
            #expect(requests.count == 3)
            #expect(Set(requests.map { $0.headers["apns-id"] }).count == 1)
            try server.script(step, step, "{}")
            #expect(try await send(server) == .delivered)
            #expect(try server.requests.count == 6)
        }

        @Test func `a short Retry-After is awaited, and a long one is returned`() async throws {
            let server = try await APNsServer(
                #"{"status":429,"reason":"TooManyRequests","headers":{"retry-after":"1"}}"#, "{}")
            let began = ContinuousClock.now
            #expect(try await send(server) == .delivered)
            #expect(ContinuousClock.now - began >= .seconds(1))
            try server.script(#"{"status":503,"headers":{"retry-after":"1900"}}"#)
            #expect(try await send(server) == .failed(reason: "503", retryAfter: 1_900))
            #expect(try server.requests.count == 3)
        }

        @Test func `too many provider token updates are reported after one attempt`() async throws {
            let server = try await APNsServer(#"{"status":429,"reason":"TooManyProviderTokenUpdates"}"#)
            #expect(
                try await send(server) == .failed(reason: "429 TooManyProviderTokenUpdates", retryAfter: 60))
            #expect(try server.requests.count == 1)
        }

        @Test func `an unknown response of any length is not retried`() async throws {
            let server = try await APNsServer(#"{"status":302,"headers":{"location":"/elsewhere"}}"#)
            #expect(try await send(server) == .refused(reason: "302"))
            let long = String(repeating: " ", count: 60_000)
            try server.script(#"{"status":400,"body":"\#(long){\"reason\":\"BadDeviceToken\"}"}"#)
            #expect(try await send(server) == .refused(reason: "400"))
            try server.script(#"{"status":200,"body":"\#(long)"}"#)
            #expect(try await send(server) == .delivered)
            #expect(try server.requests.count == 3)
        }

        @Test func `a refusal by APNs is reported`() async throws {
            let server = try await APNsServer("{}")
            let tooLong = [UInt8](repeating: 0x20, count: 4_097)
            for (push, outcome) in [
                (APNsWorld.push(payload: []), "400 PayloadEmpty"),
                (APNsWorld.push(payload: tooLong), "413 PayloadTooLarge"),
                (APNsWorld.push(payload: Array("{}".utf8)), "400 BadMessage"),
                (APNsWorld.push(priority: 7), "400 BadPriority"),
            ] {
                #expect(try await send(push, server) == .refused(reason: outcome))
            }
            #expect(try await send(APNsWorld.push(token: "a1"), server) == .tokenGone(reason: "400 BadDeviceToken"))
            let others = [
                (try APNsWorld.account(server, keyID: "OTHER12345"), "403 InvalidProviderToken"),
                (try APNsWorld.account(try await APNsServer("{}")), "403 InvalidProviderToken"),
                (try APNsWorld.account(server, bundle: "org.example.other"), "400 TopicDisallowed"),
            ]
            for (account, reason) in others {
                let outcome = try await APNsWorld.withClient(server, account: account) {
                    await $0.send(APNsWorld.push())
                }
                #expect(outcome == .refused(reason: reason))
            }
        }

        @Test func `an expired provider token is replaced, and the push repeated`() async throws {
            let server = try await APNsServer(#"{"status":403,"reason":"ExpiredProviderToken"}"#, "{}")
            let clock = ManualClock(now: SystemClock().now)
            try await APNsWorld.withClient(server, clock: clock) { client in
                #expect(await client.send(APNsWorld.push()) == .delivered)
                #expect(try server.requests.map(\.token) == [1, 2])
                // Now the clock is wrong, and the token is too new to be replaced.
                try server.script(#"{"status":403,"reason":"ExpiredProviderToken"}"#)
                let failed = PushOutcome.failed(reason: "403 ExpiredProviderToken", retryAfter: nil)
                #expect(await client.send(APNsWorld.push()) == failed)
                #expect(try server.requests.map(\.token) == [1, 2, 2])
                clock.advance(by: .seconds(ProviderToken.shortestLife))
                #expect(await client.send(APNsWorld.push()) == failed)
                #expect(try server.requests.map(\.token) == [1, 2, 2, 2, 3])
            }
        }

        @Test func `tokens are neither too old for APNs nor renewed too often`() async throws {
            let server = try await APNsServer("{}")
            let clock = ManualClock()
            try await APNsWorld.withClient(server, clock: clock) { client in
                for _ in 0..<40 {
                    try server.script(#"{"now":\#(clock.now.seconds)}"#)
                    let outcome = await client.send(APNsWorld.push())
                    #expect(outcome == .delivered)
                    clock.advance(by: .seconds(299))
                }
                // 40 pushes in 3 h 14 min.
                #expect(try server.requests.last?.token == 5)
                // The same client with a clock that is two hours behind.
                try server.script(#"{"now":\#(clock.now.seconds + 7_200)}"#)
                #expect(
                    await client.send(APNsWorld.push()) == .failed(reason: "403 ExpiredProviderToken", retryAfter: nil))
            }
        }
    }
}
