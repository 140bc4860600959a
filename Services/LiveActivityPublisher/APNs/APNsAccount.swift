import JWTKit

/// Whom APNs takes pushes from, and for which app.
struct APNsAccount: Sendable {
    let key: ES256PrivateKey
    /// The key's identifier, ten characters.
    let keyID: String
    /// The developer team, ten characters.
    let teamID: String
    /// The app's bundle identifier, such as `org.example.workouts`.
    let bundleID: String

    /// The value of the header `apns-topic`.
    var topic: String { "\(bundleID).push-type.liveactivity" }
}
