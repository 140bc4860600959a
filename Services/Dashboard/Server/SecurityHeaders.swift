import HTTPTypes
import Hummingbird
import Logging
import ServiceKit

/// Adds the headers that protect a browser to every response, errors included, and refuses requests of other sites. A page that
/// does not exist is a page too.
struct SecurityHeaders: RouterMiddleware {
    typealias Context = DashboardContext

    /// Without a meaning for what a page loads, where they would be a tenth of a small module.
    private static let ofPages: Set<HTTPField.Name> = [.crossOriginOpenerPolicy, .referrerPolicy]

    private let fields: HTTPFields
    private let own: OwnOrigin
    /// The only address that may connect; `nil` for all.
    private let proxy: String?
    /// Whether only requests to a loopback address are answered.
    private let isForLoopback: Bool
    private let missing: @Sendable (Request) throws -> Response

    /// - Parameter missing: makes the page in place of one that does not exist.
    init(_ configuration: DashboardConfiguration, missing: @escaping @Sendable (Request) throws -> Response) {
        var fields = HTTPFields()
        fields[.contentSecurityPolicy] = Self.policy(tiles: configuration.tileURL.flatMap(OwnOrigin.of))
        fields[.xContentTypeOptions] = "nosniff"
        fields[.crossOriginOpenerPolicy] = "same-origin"
        fields[.referrerPolicy] = "strict-origin"
        // A browser keeps it for every port of the host, so only an address that is meant to stay sets it.
        if configuration.publicURL?.hasPrefix("https://") == true {
            fields[.strictTransportSecurity] = "max-age=31536000"
        }
        self.fields = fields
        own = OwnOrigin(configuration)
        proxy = configuration.certificateFile == nil ? configuration.trustedProxy : nil
        isForLoopback = !configuration.isSecure && !DashboardConfiguration.isLoopback(configuration.host)
        self.missing = missing
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
        guard request.isNavigation, error.status == .notFound else {
            return try error.response(from: request, context: context)
        }
        return try missing(request)
    }

    private func respond(
        to request: Request, _ context: Context, _ next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard proxy == nil || context.peer == proxy else {
            throw HTTPError(.forbidden, message: "connect through the proxy: without it the connection has no TLS")
        }
        guard !isForLoopback || DashboardConfiguration.isLoopback(origin: own.address(request.head)) else {
            throw HTTPError(.forbidden, message: "connect to the public URL: without TLS only loopback is safe")
        }
        let isAllowed = CrossOriginGuard(origin: own(request.head))
            .allows(request.method, site: request.headers[.secFetchSite], origin: request.headers[.origin])
        guard isAllowed else { throw HTTPError(.forbidden, message: "the request comes from another site") }
        return try await next(request, context)
    }
}

/// The origin of the dashboard's pages. Without a public URL, or with one of loopback, which has several names, the browser's own
/// address decides.
struct OwnOrigin: Sendable {
    private let publicOrigin: String?
    private let scheme: String

    init(_ configuration: DashboardConfiguration) {
        publicOrigin = configuration.publicURL.flatMap(Self.of)
            .flatMap { DashboardConfiguration.isLoopback(origin: $0) ? nil : $0 }
        scheme = configuration.isSecure ? "https" : "http"
    }

    func callAsFunction(_ request: HTTPRequest) -> String { publicOrigin ?? address(request) }

    /// The address that the browser used.
    func address(_ request: HTTPRequest) -> String { "\(scheme)://\(request.authority ?? "")" }

    /// `https://example.org:8443` of a URL.
    static func of(_ url: String) -> String? {
        guard let start = url.firstRange(of: "://") else { return nil }
        let host = url[start.upperBound...].prefix { !"/?#".contains($0) }
        return host.isEmpty ? nil : String(url[..<start.upperBound] + host)
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
    static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
}
