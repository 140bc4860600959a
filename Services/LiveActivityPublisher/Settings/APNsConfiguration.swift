import ArgumentParser
import JWTKit
import ServiceKit

/// The APNs settings.
///
/// - `account` (`APNS_KEY_FILE`, `APNS_KEY_ID`, `APNS_TEAM_ID`, `APNS_BUNDLE_ID`, all or none): the developer account and app.
/// - `url` (`APNS_URL`): the base URL for pushes; default Apple's production and sandbox hosts.
/// - `caFile` (`APNS_CA_FILE`): the CA certificates; default the system's.
struct APNsConfiguration: Sendable {
    /// `nil` if no key is configured: activities stay pending.
    var account: APNsAccount?
    /// The URL of the push service, without a trailing slash.
    var url: String?
    var caFile: String?
}

/// The developer account that signs pushes, and the app they go to.
struct APNsAccount: Sendable {
    let key: ES256PrivateKey
    /// The key's identifier, ten characters.
    let keyID: String
    /// The developer team, ten characters.
    let teamID: String
    /// The app's bundle identifier, such as `org.example.workouts`.
    let bundleID: String

    /// The value of the header `apns-topic` for Live Activities; alerts have the bundle identifier.
    var liveActivityTopic: String { "\(bundleID).push-type.liveactivity" }
}

/// The service's flags.
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

extension Setting {
    static let apnsKeyFile = Setting(
        flag: "apns-key-file",
        explanation: "The private key that signs APNs provider tokens; without it no pushes are sent",
        accepted: "a .p8 file that other users cannot read")
    static let apnsKeyID = Setting(
        flag: "apns-key-id", explanation: "The key's identifier", accepted: "ten letters and digits")
    static let apnsTeamID = Setting(
        flag: "apns-team-id", explanation: "The developer team's identifier", accepted: "ten letters and digits")
    static let apnsBundleID = Setting(
        flag: "apns-bundle-id", explanation: "The app that shows Live Activities and notifications",
        accepted: "an identifier such as org.example.workouts")
    static let apnsURL = Setting(
        flag: "apns-url", explanation: "The base URL for pushes, for example a proxy", accepted: "https:// with a host",
        standard: "Apple's production and sandbox hosts")
    static let apnsCAFile = Setting(
        flag: "apns-ca-file", explanation: "The CA certificates that APNs' certificate is verified against",
        accepted: "a PEM file",
        standard: "the system's")
}
