import AsyncHTTPClient
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import LiveActivityPublisher

/// Connections to APNs: shared, broken, silent or to a wrong server.
extension APNsTests {
    @Suite struct ConnectionTests {
        /// Sends many pushes, `width` at a time, and returns their outcomes.
        private func send(_ count: Int, atATime width: Int, _ client: APNsClient) async -> [PushOutcome] {
            await withTaskGroup(of: PushOutcome.self) { group in
                var outcomes: [PushOutcome] = []
                for number in 0..<count {
                    if number >= width, let outcome = await group.next() { outcomes.append(outcome) }
                    group.addTask { await client.send(APNsWorld.push()) }
                }
                for await outcome in group { outcomes.append(outcome) }
                return outcomes
            }
        }

        @Test(arguments: [1, 100, 1_000])
        func `a thousand pushes use one connection and one token`(width: Int) async throws {
            let server = try await APNsServer("{}")
            try await APNsWorld.withClient(server) { client in
                let outcomes = await send(1_000, atATime: width, client)
                #expect(outcomes.count == 1_000)
                #expect(outcomes.allSatisfy { $0 == .delivered }, "\(Set(outcomes.map { "\($0)" }))")
            }
            let requests = try server.requests
            #expect(requests.count == 1_000)
            #expect(try server.connections == 1)
            #expect(Set(requests.map(\.token)) == [1])
            #expect(Set(requests.map { $0.headers["apns-id"] }).count == 1_000)
        }

        @Test(arguments: ["close", "goaway", "refuse", "reset"])
        func `a closed connection loses no push`(kind: String) async throws {
            let server = try await APNsServer("{}", #"{"kind":"\#(kind)"}"#, "{}")
            try await APNsWorld.withClient(server) { client in
                for _ in 0..<5 {
                    let outcome = await client.send(APNsWorld.push())
                    #expect(outcome == .delivered)
                }
            }
            let requests = try server.requests
            // Pushes without a response are sent again.
            #expect(requests.count == (kind == "goaway" ? 5 : 6))
            #expect(Set(requests.map { $0.headers["apns-id"] }).count == 5)
            #expect(Set(requests.map(\.connection)) == (kind == "reset" ? [1] : [1, 2]))
        }

        @Test func `a GOAWAY during many pushes loses none of them`() async throws {
            let steps = (0..<40).map { $0 == 20 ? #"{"kind":"goaway"}"# : "{}" }.joined(separator: ",")
            let server = try await APNsServer(steps)
            try await APNsWorld.withClient(server) { client in
                let outcomes = await send(300, atATime: 50, client)
                #expect(outcomes.count == 300)
                #expect(outcomes.allSatisfy { $0 == .delivered }, "\(Set(outcomes.map { "\($0)" }))")
            }
            #expect(Set(try server.requests.map { $0.headers["apns-id"] }).count == 300)
        }

        @Test func `an unreachable APNs is reported, and used again once reachable`() async throws {
            let server = try await APNsServer("{}")
            try await APNsWorld.withClient(server) { client in
                #expect(await client.send(APNsWorld.push()) == .delivered)
                server.stop()
                #expect(await client.send(APNsWorld.push()) == .failed(reason: "Connection refused", retryAfter: nil))
                try await server.start()
                #expect(await client.send(APNsWorld.push()) == .delivered)
            }
        }

        /// The same client and connection with short timeouts.
        private func withShortTimeouts(_ client: APNsClient, _ server: APNsServer) throws -> APNsClient {
            APNsClient(
                try APNsWorld.account(server), url: server.url, clock: SystemClock(), client: client.client,
                limits: APNsClient.Limits(whole: .seconds(3), each: .milliseconds(500)))
        }

        @Test func `a missing response times out without blocking others`() async throws {
            let slow = String(repeating: "b2", count: 32)
            let server = try await APNsServer(#"{"device":"\#(slow)","kind":"hang"}"#, "{}")
            try await APNsWorld.withClient(server) { client in
                #expect(await client.send(APNsWorld.push()) == .delivered)
                let quick = try withShortTimeouts(client, server)
                async let late = quick.send(APNsWorld.push(token: slow))
                #expect(await send(50, atATime: 5, client).allSatisfy { $0 == .delivered })
                #expect(await late == .failed(reason: "timed out", retryAfter: nil))
            }
            let requests = try server.requests
            #expect(requests.filter { $0.device == slow }.count == 3)
            #expect(try server.connections == 1)
        }

        @Test func `a slow response body times out`() async throws {
            let server = try await APNsServer("{}")
            try await APNsWorld.withClient(server) { client in
                #expect(await client.send(APNsWorld.push()) == .delivered)
                try server.script(#"{"kind":"drip","status":400}"#)
                let quick = try withShortTimeouts(client, server)
                #expect(await quick.send(APNsWorld.push()) == .refused(reason: "400"))
                try server.script(#"{"kind":"drip","status":200}"#)
                #expect(await client.send(APNsWorld.push()) == .delivered)
            }
        }

        @Test func `a silent connection is replaced`() async throws {
            let server = try await APNsServer(#"{"kind":"freeze"}"#, "{}")
            var limits = APNsWorld.longTimeouts
            limits.silence = .seconds(2)
            try await APNsWorld.withClient(server, limits: limits) { client in
                #expect(await client.send(APNsWorld.push()) == .delivered)
            }
            #expect(Set(try server.requests.map(\.connection)) == [1, 2])
        }

        @Test func `an untrusted certificate is refused`() async throws {
            let (server, other) = (try await APNsServer("{}"), try await APNsServer("{}"))
            for url in [server.url, "https://localhost:\(server.port)"] {
                let outcome = try await APNsWorld.withClient(server, url: url, authorities: other.caFile) {
                    await $0.send(APNsWorld.push())
                }
                #expect(outcome == .failed(reason: "the certificate is not trusted", retryAfter: nil))
            }
            #expect(try server.requests.isEmpty)
            let outcome = try await APNsWorld.withClient(server, url: "https://localhost:\(server.port)") {
                await $0.send(APNsWorld.push())
            }
            #expect(outcome == .delivered)
        }

        @Test func `an unknown or silent host is retried later`() async throws {
            let server = try await APNsServer("{}")
            let silent = try SwallowingPort()
            let limits = APNsClient.Limits(whole: .seconds(2), each: .milliseconds(500))
            for (url, reason) in [
                ("https://host.invalid", "no connection (NIOConnectionError)"),
                ("https://127.0.0.1:\(silent.port)", nil),
            ] {
                let outcome = try await APNsWorld.withClient(server, url: url, limits: limits) {
                    await $0.send(APNsWorld.push())
                }
                guard case .failed(let text, nil) = outcome else { throw Unexpected(outcome: outcome) }
                #expect(text == reason ?? text)
                #expect(text.utf8.count < 80 && !text.contains("/"), "\(text)")
            }
        }

        private struct Unexpected: Error {
            let outcome: PushOutcome
        }

        @Test func `a canceled push returns immediately`() async throws {
            let server = try await APNsServer(#"{"kind":"hang"}"#)
            try await APNsWorld.withClient(server) { client in
                let push = Task { await client.send(APNsWorld.push()) }
                let hasArrived = try await eventually { try !server.requests.isEmpty }
                #expect(hasArrived)
                push.cancel()
                // After its time limit it would have another reason.
                #expect(await push.value == .failed(reason: "canceled", retryAfter: nil))
            }
        }
    }
}

/// The client against `APNsServer`. The tests are serialized because most measure time.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .disabled(if: APNsServer.isMissing, "PYTHON has no h2, PyJWT and cryptography"))
struct APNsTests {}
