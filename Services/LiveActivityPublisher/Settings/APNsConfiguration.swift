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
