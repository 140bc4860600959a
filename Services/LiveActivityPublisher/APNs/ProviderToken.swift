import JWTKit
import MQTT
import ServiceKit
import Workouts

/// The provider token for APNs: a JSON web token, signed with the developer account's key and renewed in time.
///
/// All pushes share one. APNs requires a new one at least every hour and accepts at most one every 20 minutes.
actor ProviderToken {
    struct Signed: Equatable, Sendable {
        fileprivate let number: Int
        let text: Secret
    }

    /// Seconds until a token is renewed.
    static let renewal = 2_400.0
    /// Seconds between two that replace a token before its time.
    static let shortestLife = 1_200.0
    /// The clock may step backwards by this many seconds without the token appearing to come from the future.
    private static let slack = 60.0

    private let account: APNsAccount
    private let clock: any WallClock
    private var current: (number: Int, madeAt: Timestamp, signing: Task<Signed, any Error>)?
    private var replacedAt: Moment?
    private var count = 0

    init(_ account: APNsAccount, clock: any WallClock) {
        self.account = account
        self.clock = clock
    }

    /// The token to send now.
    func newest() async throws -> Signed {
        let now = clock.now
        if let current, (-Self.slack..<Self.renewal).contains(now.seconds(since: current.madeAt)) {
            return try await current.signing.value
        }
        return try await make(now)
    }

    /// Replaces a token that APNs called expired. Returns `nil` if another one was replaced within the last 20 minutes:
    /// the cause is then a wrong clock and not the tokens' age.
    func replacement(of refused: Signed) async throws -> Signed? {
        guard let current, current.number == refused.number else { return try await newest() }
        let now = clock.moment
        if let replacedAt, now.seconds(since: replacedAt) < Self.shortestLife { return nil }
        replacedAt = now
        return try await make(now.wallClock)
    }

    private func make(_ now: Timestamp) async throws -> Signed {
        count += 1
        let (account, number) = (account, count)
        // Concurrent requests share one signing, which a canceled request does not cancel.
        let signing = Task { Signed(number: number, text: try await Self.sign(account, now)) }
        current = (number, now, signing)
        do {
            return try await signing.value
        } catch {
            if current?.number == number { current = nil }
            throw error
        }
    }

    private static func sign(_ account: APNsAccount, _ now: Timestamp) async throws -> Secret {
        let keys = await JWTKeyCollection().add(ecdsa: account.key)
        let claims = Claims(iss: account.teamID, iat: Int(now.seconds.rounded(.down)))
        return Secret(try await keys.sign(claims, header: ["kid": .string(account.keyID)]))
    }

    private struct Claims: JWTPayload {
        let iss: String
        let iat: Int

        /// Required by the protocol; this process only signs.
        func verify(using algorithm: some JWTAlgorithm) {}
    }
}
