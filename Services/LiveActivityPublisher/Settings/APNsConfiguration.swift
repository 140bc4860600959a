import ArgumentParser
import JWTKit
import ServiceKit

/// How pushes are sent.
///
/// - `account` (`APNS_KEY_FILE`, `APNS_KEY_ID`, `APNS_TEAM_ID`, `APNS_BUNDLE_ID`, all or none): whom APNs takes pushes from.
/// - `url` (`APNS_URL`): where all pushes go; by default where APNs takes those of their environments.
/// - `caFile` (`APNS_CA_FILE`): who may sign the certificate there; by default the system's authorities.
struct APNsConfiguration: Sendable {
    /// `nil` when nothing is to be pushed.
    var account: APNsAccount?
    /// Without a slash at its end.
    var url: String?
    var caFile: String?
}

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

/// The service's own flags. What is absent comes from the environment, else from the default.
struct APNsOptions: ParsableArguments {
    @Option(name: .customLong(Setting.apnsKeyFile.flag), help: Setting.apnsKeyFile.help)
    var keyFile: String?

    @Option(name: .customLong(Setting.apnsKeyID.flag), help: Setting.apnsKeyID.help)
    var keyID: String?

    @Option(name: .customLong(Setting.apnsTeamID.flag), help: Setting.apnsTeamID.help)
    var teamID: String?

    @Option(name: .customLong(Setting.apnsBundleID.flag), help: Setting.apnsBundleID.help)
    var bundleID: String?

    @Option(name: .customLong(Setting.apnsURL.flag), help: Setting.apnsURL.help)
    var url: String?

    @Option(name: .customLong(Setting.apnsCAFile.flag), help: Setting.apnsCAFile.help)
    var caFile: String?
}

/// The service's own settings.
extension Setting {
    static let apnsKeyFile = Setting(
        flag: "apns-key-file",
        explanation: "The private key that signs what APNs knows us by; without it nothing is pushed",
        accepted: "a .p8 file that not everybody can read")
    static let apnsKeyID = Setting(
        flag: "apns-key-id", explanation: "The identifier of that key", accepted: "ten letters and digits")
    static let apnsTeamID = Setting(
        flag: "apns-team-id", explanation: "The developer team", accepted: "ten letters and digits")
    static let apnsBundleID = Setting(
        flag: "apns-bundle-id", explanation: "The app that shows the Live Activities",
        accepted: "an identifier such as org.example.workouts")
    static let apnsURL = Setting(
        flag: "apns-url", explanation: "Where pushes go, such as a proxy of your own", accepted: "https:// with a host",
        standard: "where APNs takes those of production and sandbox")
    static let apnsCAFile = Setting(
        flag: "apns-ca-file", explanation: "The authorities that may sign the certificate of APNs",
        accepted: "a PEM file",
        standard: "those of the system")
}
