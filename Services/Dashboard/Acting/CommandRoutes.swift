import Bus
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceKit
import Workouts

/// Presses of a person. The body is the message on the bus with `age`, the seconds since the press, and `at`, its time by the
/// clock of the stream's beats, unless the page does not know it.
extension DashboardRouter {
    /// A plan is the largest body.
    private static let bodyLimit = 128 * 1_024

    static func addCommandRoutes(to router: Router<DashboardContext>, _ parts: DashboardParts) {
        router.post("live/:user/:session/commands") { request, context in
            let (login, user) = try owner(context)
            guard let named = context.parameters.get("user").flatMap({ User($0) }), login.maySee(named),
                let session = context.parameters.get("session").flatMap({ SessionID($0) })
            else { throw HTTPError(.notFound) }
            guard named == user else { throw HTTPError(.forbidden, message: "only \(named) controls this workout") }
            return try await command(session, request, login, parts)
        }

        // A start: the page draws the session's id.
        router.post("commands") { request, context in
            let (login, _) = try owner(context)
            return try await command(nil, request, login, parts)
        }

        router.post("virtual-runs/requests") { request, context in
            let (login, _) = try owner(context)
            let body = try await read(request)
            let posted = try decode(VirtualRunRequest.self, body)
            guard !posted.action.isRead else {
                throw HTTPError(.badRequest, message: "type: post it to /virtual-runs/reads")
            }
            return try await perform(.virtualRun(posted.run, posted.action), posted.id, body, login, parts)
        }

        // Answers from virtual-run's store. They change nothing, so nothing is kept and the page asks again.
        router.post("virtual-runs/reads") { request, context in
            let (login, _) = try owner(context)
            let posted = try decode(VirtualRunRequest.self, try await read(request))
            guard posted.action.isRead else {
                throw HTTPError(.badRequest, message: "type: expected runs, routes or show")
            }
            return await parts.connections.ask(posted.action, about: posted.run, for: login).response
        }
    }

    /// Saves or deletes a plan.
    static func postPlan(
        _ plan: PlanID, _ request: Request, _ login: Login, _ parts: DashboardParts
    ) async throws -> Response {
        let body = try await read(request)
        let posted = try decode(UserRequest.self, body)
        switch posted.action {
        case .savePlan(plan, _, _), .deletePlan(plan, _): break
        default: throw HTTPError(.badRequest, message: "type: expected savePlan or deletePlan of this plan")
        }
        return try await perform(.request(posted.action), posted.id, body, login, parts)
    }

    /// People act, and only for themselves; the broker lets viewers publish no command.
    static func owner(_ context: DashboardContext) throws -> (Login, User) {
        guard let login = context.login else { throw HTTPError(.unauthorized) }
        guard let user = login.user else { throw HTTPError(.forbidden, message: "the operator controls no workout") }
        guard login.ownsWorkouts else {
            throw HTTPError(.forbidden, message: "\(user) is a viewer's account and controls no workout")
        }
        return (login, user)
    }

    private static func command(
        _ session: SessionID?, _ request: Request, _ login: Login, _ parts: DashboardParts
    ) async throws -> Response {
        struct Start: Decodable { let session: SessionID }
        let body = try await read(request)
        let posted = try decode(Command.self, body)
        if case .start = posted.action {
        } else if session == nil {
            throw HTTPError(.badRequest, message: "type: expected start")
        }
        let target = try session ?? decode(Start.self, body).session
        return try await perform(.command(target, posted.action), posted.id, body, login, parts)
    }

    private static func perform(
        _ press: Press, _ id: CommandID, _ body: ByteBuffer, _ login: Login, _ parts: DashboardParts
    ) async throws -> Response {
        struct Time: Decodable {
            let age: Double?
            let at: Timestamp?
        }
        let time = try decode(Time.self, body)
        // A clock that jumped, the browser's or this process's, makes one of the two too old, and loses no press.
        let ages = [time.age, time.at.map { parts.context.clock.now.seconds(since: $0) }].compactMap(\.self)
        guard ages.min() ?? 0 <= PendingCommands.lifetime else {
            throw HTTPError(.badRequest, message: "age: expected at most \(Int(PendingCommands.lifetime)) s")
        }
        return await parts.connections.perform(press, id: id, age: time.age ?? 0, at: time.at, for: login).response
    }

    private static func read(_ request: Request) async throws -> ByteBuffer {
        guard request.headers[.contentType]?.hasPrefix("application/json") == true else {
            throw HTTPError(.unsupportedMediaType, message: "expected application/json")
        }
        do {
            return try await request.body.collect(upTo: bodyLimit)
        } catch is NIOTooManyBytesError {
            throw HTTPError(.contentTooLarge, message: "expected at most \(bodyLimit) bytes")
        }
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ body: ByteBuffer) throws -> Value {
        do throws(PayloadError) {
            return try JSONCoding.decode(type, from: body.readableBytesView)
        } catch {
            throw HTTPError(.badRequest, message: error.text)
        }
    }
}

extension VirtualRunRequest.Action {
    fileprivate var isRead: Bool {
        switch self {
        case .runs, .routes, .show: true
        default: false
        }
    }
}

extension CommandAnswer {
    private struct Body: Encodable {
        var done: Bool?
        var reply: Reply?
        var pending: Bool?
        var refused: Refusal?
    }

    fileprivate var response: Response {
        switch self {
        case .done(let reply): Self.response(.ok, Body(done: true, reply: reply))
        case .pending: Self.response(.accepted, Body(pending: true))
        case .refused(let refusal): Self.response(.conflict, Body(refused: refusal))
        case .unavailable: Self.response(.serviceUnavailable, Body())
        case .full(let refusal): Self.response(.tooManyRequests, Body(refused: refusal))
        }
    }

    private static func response(_ status: HTTPResponse.Status, _ body: Body) -> Response {
        var headers: HTTPFields = [.contentType: "application/json", .cacheControl: "no-store"]
        if status == .serviceUnavailable || status == .tooManyRequests { headers[.retryAfter] = "5" }
        return Response(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONCoding.encode(body))))
    }
}
