import AsyncHTTPClient
import Bus
import Foundation
import JWTKit
import ServiceKit
import TestSupport
import Workouts

@testable import LiveActivityPublisher

/// The client with the settings for a server, and pushes to send.
enum APNsWorld {
    static let longTimeouts = APNsClient.Limits(whole: hangLimit, each: hangLimit, silence: hangLimit)
    static let token = String(repeating: "a1", count: 32)
    /// 2025-01-01T00:00:00Z.
    static let now = Timestamp(seconds: 1_735_689_600)

    static func account(_ server: APNsServer, keyID: String = APNsServer.keyID, bundle: String = APNsServer.bundleID)
        throws -> APNsAccount
    {
        APNsAccount(
            key: try ES256PrivateKey(pem: try String(contentsOfFile: server.keyFile, encoding: .utf8)), keyID: keyID,
            teamID: APNsServer.teamID, bundleID: bundle)
    }

    static func withClient<Result>(
        _ server: APNsServer, account: APNsAccount? = nil, url: String? = nil, authorities: String? = nil,
        clock: any WallClock = SystemClock(), limits: APNsClient.Limits = longTimeouts,
        _ body: (APNsClient) async throws -> Result
    ) async throws -> Result {
        let configuration = APNsClient.http(authorities: authorities ?? server.caFile, limits: limits)
        return try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            try await body(
                APNsClient(
                    account ?? Self.account(server), url: url ?? server.url, clock: clock, client: client,
                    limits: limits))
        }
    }

    static func state(at time: Timestamp = now) -> ContentState {
        ContentState(
            elapsedTime: 61.5, asOf: time.seconds, isPaused: false, isFinished: false, distance: 203.25, heartRate: 142,
            lap: 1, units: .metric)
    }

    static func update(at time: Timestamp = now) -> PushPayload {
        PushPayload(event: .update, timestamp: time, state: state(at: time), staleDate: time + 15)
    }

    static func push(
        token: String = token, id: UUID = UUID(), priority: Int = 5, expiration: Timestamp? = nil,
        payload: [UInt8] = update().bytes
    ) -> Push {
        Push(
            owner: .session(SessionKey(User("anna")!, SessionID(UUID()))), device: Device("phone-1")!, token: token,
            environment: .sandbox, id: id, priority: priority, expiration: expiration, payload: payload)
    }
}
