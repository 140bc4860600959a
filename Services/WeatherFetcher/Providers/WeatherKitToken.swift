import JWTKit
import Workouts

/// What WeatherKit knows us by: a JSON web token, signed with a key of the developer account and made anew in time.
actor WeatherKitToken {
    /// Seconds until a token is made anew, and until it expires.
    private static let renewal = 1_800.0
    private static let lifetime = 3_600.0

    private let account: WeatherKitAccount
    private var current: (text: String, madeAt: Timestamp)?

    init(_ account: WeatherKitAccount) {
        self.account = account
    }

    /// The token to send at this time.
    func text(now: Timestamp) async throws -> String {
        if let current, (0..<Self.renewal).contains(now.seconds(since: current.madeAt)) { return current.text }
        let issued = Int(now.seconds)
        let claims = Claims(
            iss: account.team, iat: issued, exp: issued + Int(Self.lifetime), sub: account.service)
        let keys = await JWTKeyCollection().add(ecdsa: account.key)
        let header: JWTHeader = [
            "kid": .string(account.keyID), "id": .string("\(account.team).\(account.service)"),
        ]
        let text = try await keys.sign(claims, header: header)
        current = (text, now)
        return text
    }

    private struct Claims: JWTPayload {
        let iss: String
        let iat: Int
        let exp: Int
        let sub: String

        /// Nobody verifies one of ours here.
        func verify(using algorithm: some JWTAlgorithm) {}
    }
}

/// An account with WeatherKit.
struct WeatherKitAccount: Sendable {
    /// The developer team, ten characters.
    let team: String
    /// The identifier of the service, such as `org.example.weather`.
    let service: String
    /// The key's identifier, ten characters.
    let keyID: String
    let key: ES256PrivateKey
}
