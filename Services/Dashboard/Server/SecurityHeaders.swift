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
    private let configuration: DashboardConfiguration
    private let files: WebFiles

    init(_ configuration: DashboardConfiguration, _ files: WebFiles) {
        var fields = HTTPFields()
        fields[.contentSecurityPolicy] = Self.policy(
            tiles: configuration.tiles.flatMap { DashboardConfiguration.origin($0.url) }, inline: files.inline)
        fields[.xContentTypeOptions] = "nosniff"
        fields[.crossOriginOpenerPolicy] = "same-origin"
        fields[.referrerPolicy] = "strict-origin"
        // A browser keeps it for every port of the host, so only an address that is meant to stay sets it.
        if configuration.publicURL?.hasPrefix("https://") == true {
            fields[.strictTransportSecurity] = "max-age=31536000"
        }
        self.fields = fields
        self.configuration = configuration
        self.files = files
    }

    /// Scripts, styles and data come from this server, images also from the tile server.
    private static func policy(tiles: String?, inline: String) -> String {
        let images = ["'self'", "data:", tiles].compactMap(\.self).joined(separator: " ")
        return [
            "default-src 'none'", "script-src 'self' \(inline)", "style-src 'self' \(inline)", "img-src \(images)",
            "connect-src 'self'",
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
        return try files.page("missing", request, status: .notFound)
    }

    private func respond(
        to request: Request, _ context: Context, _ next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let proxy = configuration.certificateFile == nil ? configuration.trustedProxy : nil
        guard proxy == nil || context.peer == proxy else {
            throw HTTPError(.forbidden, message: "connect through the proxy: without it the connection has no TLS")
        }
        guard
            configuration.isSecure || IPAddress.isLoopback(configuration.host)
                || DashboardConfiguration.isLoopback(origin: configuration.address(of: request.head))
        else {
            throw HTTPError(.forbidden, message: "connect to the public URL: without TLS only loopback is safe")
        }
        let isAllowed = Self.allows(
            request.method, site: request.headers[.secFetchSite], origin: request.headers[.origin],
            own: configuration.origin(of: request.head))
        guard isAllowed else { throw HTTPError(.forbidden, message: "the request comes from another site") }
        return try await next(request, context)
    }

    /// An unsafe method needs `Sec-Fetch-Site: same-origin` or, without that header, the pages' own `Origin`.
    static func allows(_ method: HTTPRequest.Method, site: String?, origin: String?, own: String) -> Bool {
        method == .get || method == .head || site.map { $0 == "same-origin" } ?? (origin == own)
    }
}

extension DashboardConfiguration {
    /// Whether browsers connect over TLS.
    var isSecure: Bool { certificateFile != nil || trustedProxy != nil }

    /// The origin of the dashboard's pages. Without a public URL, or with one of loopback, which has several names, the browser's
    /// own address decides.
    func origin(of request: HTTPRequest) -> String {
        publicURL.flatMap { Self.isLoopback(origin: $0) ? nil : $0 } ?? address(of: request)
    }

    /// The address that the browser used.
    func address(of request: HTTPRequest) -> String {
        "\(isSecure ? "https" : "http")://\(request.authority ?? "")"
    }
}

extension HTTPField.Name {
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
    static let secFetchMode = HTTPField.Name("Sec-Fetch-Mode")!
    static let crossOriginOpenerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")!
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    static let serviceWorkerAllowed = HTTPField.Name("Service-Worker-Allowed")!
    static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
}
