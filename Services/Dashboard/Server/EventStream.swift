import HTTPTypes
import Hummingbird
import NIOCore
import ServiceKit
import Workouts

/// Event streams. Who may not see something gets the same 404 as for something that does not exist.
///
/// `?page=` names the page, by a random name that it keeps: its next stream replaces the one before.
extension DashboardRouter {
    /// Seconds between two checks of a stream's login; a beat comes as often.
    private static let loginInterval = 10.0
    /// The characters of a page's name that count.
    private static let pageLimit = 64

    static func addStreamRoutes(to router: Router<DashboardContext>, _ parts: DashboardParts) {
        router.get("events") { request, context in
            let login = try requireLogin(context)
            return try stream(.home(login.seen), login, request, context, parts)
        }
        router.get("live/:user/:session/events") { request, context in
            let login = try requireLogin(context)
            guard let user = context.parameters.get("user").flatMap({ User($0) }), login.maySee(user),
                let session = context.parameters.get("session").flatMap({ SessionID($0) })
            else { throw HTTPError(.notFound) }
            let watch = Watch.live(SessionKey(user, session), isOwner: login.mayControl(user))
            return try stream(watch, login, request, context, parts)
        }
        router.get("virtual-runs/:run/events") { request, context in
            let login = try requireLogin(context)
            guard login.ownsWorkouts, let user = login.user,
                let run = context.parameters.get("run").flatMap({ RunID($0) })
            else { throw HTTPError(.notFound) }
            return try stream(.virtualRun(user, run), login, request, context, parts)
        }
    }

    private static func requireLogin(_ context: DashboardContext) throws(HTTPError) -> Login {
        guard let login = context.login else { throw HTTPError(.unauthorized) }
        return login
    }

    static func stream(
        _ watch: Watch, _ login: Login, _ request: Request, _ context: DashboardContext, _ parts: DashboardParts
    ) throws -> Response {
        let viewer: Viewer
        let channel = context.channel
        let page = request.uri.queryParameters.get("page").map { String($0.prefix(pageLimit)) }
        do throws(StreamLimit) {
            viewer = try parts.hub.watch(watch, login: login, page: page) { channel.close(promise: nil) }
        } catch {
            return Response(
                status: .serviceUnavailable, headers: [.retryAfter: "5", .contentType: "text/plain; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "\(error.text)\n")))
        }
        // A change of rights since the request's check ended the streams that existed, and not this one.
        guard parts.logins.isCurrent(login) else {
            viewer.leave()
            throw HTTPError(
                .serviceUnavailable, headers: [.retryAfter: "1"], message: "the account has changed; try again")
        }
        // A browser that goes away ends the stream before its next event.
        channel.closeFuture.whenComplete { _ in viewer.leave() }
        let body = ResponseBody { writer in
            defer { viewer.leave() }
            var checked = parts.context.clock.moment
            while let events = await viewer.next() {
                try await writer.write(contentsOf: events)
                let now = parts.context.clock.moment
                guard now.seconds(since: checked) >= loginInterval else { continue }
                checked = now
                // The stream keeps the login in use, and ends with it.
                guard parts.logins.use(login) else { break }
            }
            try await writer.finish(nil)
        }
        let headers: HTTPFields = [
            .contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store",
            // nginx collects responses by default.
            .accelBuffering: "no",
        ]
        return Response(status: .ok, headers: headers, body: body)
    }
}

extension HTTPField.Name {
    fileprivate static let accelBuffering = Self("X-Accel-Buffering")!
}

extension StreamLimit {
    fileprivate var text: String {
        switch self {
        case .ofService: "2,000 pages are open on this server, the most. This page tries again."
        case .ofLogin: "8 pages of this login are open, the most. Close another one."
        }
    }
}
