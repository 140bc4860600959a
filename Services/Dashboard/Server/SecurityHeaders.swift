import HTTPTypes
import Hummingbird
import Logging
import ServiceKit

/// Adds the headers that protect a browser to every response, errors included, and refuses requests of other sites.
struct SecurityHeaders: RouterMiddleware {
    typealias Context = DashboardContext

    private let fields: HTTPFields
    private let publicOrigin: String?
    private let scheme: String

    init(_ configuration: DashboardConfiguration) {
        var fields = HTTPFields()
        fields[.contentSecurityPolicy] = Self.policy(tiles: configuration.tileURL.flatMap(Self.origin))
        fields[.xContentTypeOptions] = "nosniff"
        fields[.crossOriginOpenerPolicy] = "same-origin"
        fields[.referrerPolicy] = "strict-origin"
        if configuration.isSecure { fields[.strictTransportSecurity] = "max-age=31536000" }
        self.fields = fields
        publicOrigin = configuration.publicURL.flatMap(Self.origin)
        scheme = configuration.isSecure ? "https" : "http"
    }

    /// Scripts, styles and data come from this server, images also from the tile server.
    private static func policy(tiles: String?) -> String {
        let images = ["'self'", "data:", tiles].compactMap(\.self).joined(separator: " ")
        return [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src \(images)", "connect-src 'self'",
            "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "manifest-src 'self'",
            "worker-src 'self'",
        ].joined(separator: "; ")
    }

    /// `https://example.org:8443` of a URL.
    private static func origin(_ url: String) -> String? {
        guard let start = url.firstRange(of: "://") else { return nil }
        let host = url[start.upperBound...].prefix { !"/?#".contains($0) }
        return host.isEmpty ? nil : String(url[..<start.upperBound] + host)
    }

    func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await respond(to: request, context, next)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        } catch {
            context.logger.error("request failed", metadata: [LogKey.error: "\(error)"])
            response = try HTTPError(.internalServerError).response(from: request, context: context)
        }
        for field in fields where response.headers[field.name] == nil { response.headers[field.name] = field.value }
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "private, no-cache" }
        return response
    }

    private func respond(
        to request: Request, _ context: Context, _ next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        // Without a public URL the browser's own address decides.
        let own = publicOrigin ?? "\(scheme)://\(request.head.authority ?? "")"
        let isAllowed = CrossOriginGuard(origin: own)
            .allows(request.method, site: request.headers[.secFetchSite], origin: request.headers[.origin])
        guard isAllowed else { throw HTTPError(.forbidden, message: "the request comes from another site") }
        return try await next(request, context)
    }
}

extension DashboardConfiguration {
    /// Whether browsers connect over TLS.
    var isSecure: Bool { certificateFile != nil || trustedProxy != nil }
}

extension HTTPField.Name {
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
    static let secFetchMode = HTTPField.Name("Sec-Fetch-Mode")!
    static let crossOriginOpenerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")!
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    static let clearSiteData = HTTPField.Name("Clear-Site-Data")!
    static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
}
