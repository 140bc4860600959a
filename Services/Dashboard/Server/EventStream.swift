import HTTPTypes
import Hummingbird
import NIOCore
import Workouts

extension DashboardRouter {
    static func addStreamRoutes(to router: Router<DashboardContext>, _ parts: DashboardParts) {
        router.get("live/:user/:session/events") { _, context in
            guard let login = context.login else { throw HTTPError(.unauthorized) }
            guard let user = context.parameters.get("user").flatMap(User.init), login.maySee(user),
                let session = context.parameters.get("session").flatMap({ SessionID($0) })
            else { throw HTTPError(.notFound) }
            let key = SessionKey(user, session)
            return try stream(.live(key, isOwner: login.mayControl(user)), login, context, parts)
        }
    }

    static func stream(
        _ watch: Watch, _ login: Login, _ context: DashboardContext, _ parts: DashboardParts
    ) throws -> Response {
        let viewer: Viewer
        do throws(StreamLimit) {
            viewer = try parts.hub.watch(watch, login: login)
        } catch {
            throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "5"])
        }
        let body = ResponseBody { writer in
            defer { viewer.leave() }
            while let frames = await viewer.next() { try await writer.write(contentsOf: frames) }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
    }
}
