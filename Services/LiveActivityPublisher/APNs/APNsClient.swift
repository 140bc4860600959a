import AsyncHTTPClient
import Bus
import Foundation
import MQTT
import NIOCore
import NIOHTTP1
import NIOSSL
import ServiceKit
import Workouts

/// Sends pushes to APNs over one HTTP/2 connection for each environment. Every failure is returned as an outcome.
///
/// Concurrent pushes beyond APNs' stream limit queue within their timeout.
struct APNsClient: Sendable {
    struct Limits: Sendable {
        /// The timeout for a push including retries.
        var whole = Duration.seconds(5)
        /// The timeout for each attempt.
        var each = Duration.seconds(2)
        /// The read timeout after which a connection is closed; longer than the interval between pushes of a live session.
        var silence = Duration.seconds(20)
    }

    private static let tries = 3
    /// The backoff after the first attempt, in seconds; doubled after the second.
    private static let firstPause = 0.1
    /// The largest response body that is read, in bytes.
    private static let answerLimit = 8 << 10

    let account: APNsAccount
    let url: String?
    let token: ProviderToken
    let clock: any WallClock
    let client: HTTPClient
    let limits: Limits

    /// - Parameters:
    ///   - url: the base URL for all pushes; `nil` for Apple's hosts.
    ///   - client: configured by ``http(authorities:limits:)``.
    init(_ account: APNsAccount, url: String?, clock: any WallClock, client: HTTPClient, limits: Limits = Limits()) {
        self.account = account
        self.url = url
        token = ProviderToken(account, clock: clock)
        self.clock = clock
        self.client = client
        self.limits = limits
    }

    /// Sends a push, with up to three attempts when a retry may succeed.
    func send(_ push: Push) async -> PushOutcome {
        let deadline = ContinuousClock.now + limits.whole
        do {
            return try await settle(push, try await token.newest(), deadline)
        } catch is CancellationError {
            return .failed(reason: "canceled", retryAfter: nil)
        } catch {
            return .failed(reason: "cannot sign a provider token", retryAfter: nil)
        }
    }

    private func settle(
        _ push: Push, _ first: ProviderToken.Signed, _ deadline: ContinuousClock.Instant
    ) async throws -> PushOutcome {
        var token = first
        var isReplaced = false
        var tries = 1
        while true {
            let (consequence, reason) = await attempt(push, token.text, deadline)
            switch consequence {
            case .settled(let outcome): return outcome
            case .newToken:
                guard !isReplaced, let newer = try await self.token.replacement(of: token) else {
                    return .failed(reason: reason, retryAfter: nil)
                }
                isReplaced = true
                token = newer
            case .retry(let after):
                let pause = Duration.seconds(max(after ?? 0, Self.firstPause * Double(1 << (tries - 1))))
                let isExpired = push.expiration.map { $0 <= clock.now + pause / .seconds(1) } ?? false
                guard tries < Self.tries, ContinuousClock.now + pause < deadline, !isExpired else {
                    return .failed(reason: reason, retryAfter: after)
                }
                tries += 1
                try await clock.wait(for: pause)
            }
        }
    }

    /// One attempt, with its result for messages.
    private func attempt(
        _ push: Push, _ token: Secret, _ deadline: ContinuousClock.Instant
    ) async -> (APNsAnswer.Consequence, reason: String) {
        let timeout = min(limits.each, deadline - ContinuousClock.now)
        do {
            let answer = try await exchange(request(push, token), timeout)
            return (answer.consequence, answer.description)
        } catch {
            return (.retry(after: nil), Self.reason(error))
        }
    }

    private func request(_ push: Push, _ token: Secret) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "\(url ?? push.environment.url)/3/device/\(push.token)")
        request.method = .POST
        request.headers = [
            "authorization": "bearer \(token.value)",
            "apns-push-type": push.isAlert ? "alert" : "liveactivity",
            "apns-topic": push.isAlert ? account.bundleID : account.liveActivityTopic,
            "apns-priority": "\(push.priority)",
            "apns-expiration": push.expiration.map { "\(Int64($0.seconds.rounded(.down)))" } ?? "0",
            "apns-id": push.id.uuidString.lowercased(),
        ]
        if let collapseID = push.collapseID { request.headers.add(name: "apns-collapse-id", value: collapseID) }
        request.body = .bytes(push.payload)
        return request
    }

    private func exchange(_ request: HTTPClientRequest, _ timeout: Duration) async throws -> APNsAnswer {
        let began = ContinuousClock.now
        let response = try await client.execute(request, timeout: TimeAmount(timeout))
        let status = Int(response.status.code)
        if status == 200 { return APNsAnswer(status: 200) }
        let body = try await body(of: response, timeout - (ContinuousClock.now - began))
        return APNsAnswer(status: status, headers: response.headers, body: body, now: clock.now)
    }

    /// The body, or nothing if it is incomplete at the timeout: the HTTP client's timeouts cover the response head only.
    private func body(of response: HTTPClientResponse, _ timeout: Duration) async throws -> [UInt8] {
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask {
                do {
                    return [UInt8](try await response.body.collect(upTo: Self.answerLimit).readableBytesView)
                } catch is NIOTooManyBytesError {
                    return []
                }
            }
            group.addTask {
                try await Task.sleep(for: max(timeout, .zero))
                return []
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }
}

extension APNsClient {
    /// The HTTP client configuration for APNs.
    ///
    /// - Parameter authorities: the CA certificates that APNs' certificate is verified against, a PEM file; `nil` for
    ///   the system's.
    static func http(authorities: String?, limits: Limits = Limits()) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities { tls.trustRoots = .file(authorities) }
        var pool = HTTPClient.Configuration.ConnectionPool()
        // `send` has its own retries.
        pool.retryConnectionEstablishment = false
        pool.idleTimeout = TimeAmount(limits.silence)
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: TimeAmount(limits.each)), connectionPool: pool)
        let silence = TimeAmount(limits.silence)
        configuration.http2ConnectionDebugInitializer = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(SilenceHandler(), position: .first)
                try pipeline.addHandler(IdleStateHandler(readTimeout: silence), position: .first)
            }
        }
        return configuration
    }
}

/// Closes a connection after the read timeout. The kernel would keep a dead connection open for about 15 minutes.
private final class SilenceHandler: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case IdleStateHandler.IdleStateEvent.read = event {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}

extension APNsClient {
    /// The connection error for the activity's status. Devices read it, so it contains no address and no path.
    static func reason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .deadlineExceeded: "timed out"
        case let error as HTTPClientError: error.shortDescription
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            "the certificate is for another name"
        case is NIOSSLError:
            "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
                ? "the certificate is not trusted" : "no connection over TLS"
        default: "no connection (\(type(of: error)))"
        }
    }
}
