import ServiceKit

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
