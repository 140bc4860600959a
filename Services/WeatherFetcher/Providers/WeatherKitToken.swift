import JWTKit
import Workouts

/// Signs WeatherKit's JSON web token and caches it until it is due for renewal.
actor WeatherKitToken {
    /// Seconds until a token is renewed, and until it expires.
    private static let renewal = 1_800.0
    private static let lifetime = 3_600.0

    private let account: WeatherKitAccount
    private var current: (text: String, madeAt: Timestamp)?

    init(_ account: WeatherKitAccount) {
        self.account = account
    }

    /// Returns a valid token, signing a new one when the cached one is older than half an hour.
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

        /// Required by the protocol; this process only signs.
        func verify(using algorithm: some JWTAlgorithm) {}
    }
}

/// A WeatherKit account.
struct WeatherKitAccount: Sendable {
    /// The developer team, ten characters.
    let team: String
    /// The identifier of the service, such as `org.example.weather`.
    let service: String
    /// The key's identifier, ten characters.
    let keyID: String
    let key: ES256PrivateKey
}
