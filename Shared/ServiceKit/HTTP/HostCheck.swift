import HTTPTypes
package import Hummingbird

/// Answers 400 to a request without a host or with several: programs on its way could each take another one for its host.
package struct HostCheck<Context: RequestContext>: RouterMiddleware {
    package init() {}

    package func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        // HTTP/1.1's first Host header is the authority.
        let count = (request.head.authority == nil ? 0 : 1) + request.headers[values: host].count
        guard count == 1 else { throw HTTPError(.badRequest, message: "a request has one Host header") }
        return try await next(request, context)
    }
}

private let host = HTTPField.Name("Host")!
