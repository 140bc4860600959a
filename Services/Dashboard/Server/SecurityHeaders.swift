import HTTPTypes
import Hummingbird
import Logging
import ServiceKit

/// Adds the headers that protect a browser to every response, errors included, and refuses requests of other sites. An error
/// in place of a page is a page too.
struct SecurityHeaders: RouterMiddleware {
    typealias Context = DashboardContext

    /// Without a meaning for what a page loads, where they would be a tenth of a small module.
    private static let ofPages: Set<HTTPField.Name> = [.crossOriginOpenerPolicy, .referrerPolicy]

    private let fields: HTTPFields
    private let publicOrigin: String?
    private let scheme: String
    /// The only address that may connect; `nil` for all.
    private let proxy: String?
    /// Whether only requests to a loopback address are answered.
    private let isForLoopback: Bool
    /// `nil` without a web folder.
    private let templates: PageTemplates?

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
        proxy = configuration.certificateFile == nil ? configuration.trustedProxy : nil
        isForLoopback = !configuration.isSecure && !DashboardConfiguration.isLoopback(configuration.host)
        templates = try? PageTemplates(folder: configuration.webFolder)
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
            response = try page(of: error, request, context)
        } catch {
            context.logger.error("request failed", metadata: [LogKey.error: "\(error)"])
            response = try page(of: HTTPError(.internalServerError), request, context)
        }
        let isAsset = request.uri.path.hasPrefix("/assets/")
        for field in fields where response.headers[field.name] == nil && !(isAsset && Self.ofPages.contains(field.name))
        {
            response.headers[field.name] = field.value
        }
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "private, no-cache" }
        return response
    }

    private func page(of error: any HTTPResponseError, _ request: Request, _ context: Context) throws -> Response {
        let response = try error.response(from: request, context: context)
        guard request.isNavigation, response.status.code >= 400, let templates else { return response }
        return try templates.page(for: error, response)
    }

    private func respond(
        to request: Request, _ context: Context, _ next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard proxy == nil || context.peer == proxy else {
            throw HTTPError(.forbidden, message: "connect through the proxy: without it the connection has no TLS")
        }
        let address = "\(scheme)://\(request.head.authority ?? "")"
        guard !isForLoopback || DashboardConfiguration.isLoopback(origin: address) else {
            throw HTTPError(.forbidden, message: "connect to the public URL: without TLS only loopback is safe")
        }
        // Without a public URL the browser's own address decides.
        let own = publicOrigin ?? address
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
