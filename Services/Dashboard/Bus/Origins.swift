/// Which web pages may connect to the bus besides the dashboard's own. A browser sends the page's origin and lets no page change
/// it; other clients send none.
struct Origins: Sendable {
    /// `https://app.example.org`, or `*` for all.
    private var allowed: Set<String> = []

    init() {}

    /// Returns `nil` if an origin has a path or no scheme.
    init?(_ text: String) {
        for part in text.split(separator: ",") {
            let origin = part.trimmingPrefix { $0 == " " }
            let host = origin.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false).last
            guard origin == "*" || (origin.contains("://") && host?.isEmpty == false && host?.contains("/") == false)
            else { return nil }
            allowed.insert(origin.lowercased())
        }
    }

    func allows(_ origin: String) -> Bool { !allowed.isDisjoint(with: ["*", origin.lowercased()]) }
}
