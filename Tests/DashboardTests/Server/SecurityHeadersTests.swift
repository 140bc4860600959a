import HTTPTypes
import Testing

@testable import Dashboard

struct SecurityHeadersTests {
    @Test(
        arguments: [
            ("GET", nil, nil, true), ("HEAD", "cross-site", nil, true), ("POST", "same-origin", nil, true),
            ("POST", "same-site", nil, false), ("POST", "cross-site", "https://example.org", false),
            ("POST", "none", nil, false), ("POST", nil, "https://example.org", true),
            ("POST", nil, "https://example.org:8443", false), ("POST", nil, "http://example.org", false),
            ("POST", nil, "null", false), ("POST", nil, nil, false), ("DELETE", nil, nil, false),
        ] as [(String, String?, String?, Bool)])
    func `an unsafe method needs the own origin`(method: String, site: String?, origin: String?, isAllowed: Bool) throws
    {
        let method = try #require(HTTPRequest.Method(method))
        #expect(SecurityHeaders.allows(method, site: site, origin: origin, own: "https://example.org") == isAllowed)
    }
}
