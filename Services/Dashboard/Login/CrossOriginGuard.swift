import HTTPTypes

/// Refuses requests that a page of another site sends: an unsafe method needs `Sec-Fetch-Site: same-origin` or, lacking
/// that header, an `Origin` equal to the public URL's. GET and HEAD change nothing.
struct CrossOriginGuard: Sendable {
    /// `https://example.org`, with a port that is not the scheme's.
    let origin: String

    func allows(_ method: HTTPRequest.Method, site: String?, origin: String?) -> Bool {
        if method == .get || method == .head { return true }
        if let site { return site == "same-origin" }
        return origin == self.origin
    }
}
