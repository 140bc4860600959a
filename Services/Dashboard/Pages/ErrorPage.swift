import HTTPTypes
import Hummingbird

/// The page in place of one that cannot be shown. Data requests get the same message as JSON.
struct ErrorPage: Sendable {
    let title: String
    let text: String
    /// Whether the same address may answer later.
    let offersRetry: Bool
    let assets: String

    init(_ status: HTTPResponse.Status, message: String?, assets: String) {
        let fallback: String
        switch status.code {
        case 401:
            title = "Log in"
            fallback = "This page needs a login."
        case 403:
            title = "Not allowed"
            fallback = "This account may not do that."
        case 404:
            title = "Not found"
            fallback = "This page does not exist, or this account may not see it."
        case 410:
            title = "No longer available"
            fallback = "This page has ended."
        case 429:
            title = "Too many requests"
            fallback = "Try again in a minute."
        case 503:
            title = "Not available now"
            fallback = "The server is busy or starting. Try again in a few seconds."
        default:
            title = status.kind == .serverError ? "The server has failed" : "Not possible"
            fallback = "Error \(status.code): \(status.reasonPhrase)"
        }
        text = message.map { $0.prefix(1).uppercased() + $0.dropFirst() + ($0.hasSuffix(".") ? "" : ".") } ?? fallback
        offersRetry = status.code == 429 || status.kind == .serverError
        self.assets = assets
    }
}

extension PageTemplates {
    /// The same status and headers, with a page that people can read.
    func page(for error: any HTTPResponseError, _ response: Response) throws -> Response {
        let page = ErrorPage(response.status, message: (error as? HTTPError)?.body, assets: assets)
        var rendered = try self.response(page, template: "error", status: response.status)
        for field in response.headers where ![.contentType, .contentLength].contains(field.name) {
            rendered.headers[field.name] = field.value
        }
        return rendered
    }
}
