import Bus
import Foundation
import MQTT
import ServiceKit
import ServiceLifecycle
import Workouts

/// Does one thing to a session or a user's saved plans, or shows them, and returns.
struct ControlService: Service {
    enum Request: Sendable {
        case start(Start)
        case command(SessionAction)
        case status
        /// Shows the session until it is over.
        case follow
        case savePlan(PlanID, WorkoutDefinition)
        case deletePlan(PlanID)
        case plans
    }

    struct Start: Sendable {
        var start: SessionStart
        /// What is done, unless it is left to the planned workout.
        var activity: Activity?
        /// The user's saved plan that is to be carried out.
        var savedPlan: PlanID?
        var isFollowed = false
    }

    enum Failure: Error, Equatable, CustomStringConvertible {
        case noCurrentSession(User)
        case noSuchSession(SessionKey)
        case noSuchPlan(User, PlanID)
        case refused(Refusal)
        /// A start was refused, for another session is unfinished.
        case unfinished(Refusal)
        /// A message that an older or newer engine may have sent.
        case unreadable(String)
        case noConnection
        /// The engine is not there, or does not act for this account.
        case noAnswer(User)

        init(_ refusal: Refusal) {
            self = refusal.code == Refusal.sessionInProgressCode ? .unfinished(refusal) : .refused(refusal)
        }

        var description: String {
            switch self {
            case .noCurrentSession(let user): "\(user) has no unfinished session"
            case .noSuchSession(let key): "\(key.user) has no session \(key.session)"
            case .noSuchPlan(let user, let plan): "\(user) has no saved plan \(plan)"
            case .refused(let refusal): refusal.message
            case .unfinished(let refusal): "\(refusal.message), or start with --replace"
            case .unreadable(let text): "cannot read what the engine says: \(text)"
            case .noConnection:
                "no connection to the broker within \(Int(Wait.patience)) s: does it run where --mqtt-url says?"
            case .noAnswer(let user):
                "session-engine has not answered for \(Int(Wait.patience)) s: does it run, and may this account act for "
                    + "\(user)?"
            }
        }
    }

    let context: ServiceContext
    let terminal: Terminal
    let user: User
    let session: SessionID?
    let request: Request

    func run() async throws {
        do {
            switch request {
            case .start(let start): try await begin(start)
            case .command(let action): try await command(action, try await key())
            case .status: try await status(try await key())
            case .follow: try await watch(try await key())
            case .savePlan(let plan, let definition): try await save(plan, definition)
            case .deletePlan(let plan): try await delete(plan)
            case .plans: try await listPlans()
            }
        } catch let error as PayloadError {
            throw Failure.unreadable(error.text)
        }
    }

    private func begin(_ request: Start) async throws {
        var start = request.start
        if let plan = request.savedPlan { start.definition = try await savedPlan(plan) }
        start.activity = request.activity ?? start.definition?.activity ?? .running
        let key = SessionKey(user, session ?? SessionID(UUID()))
        try await command(.start(start), key)
        if request.isFollowed { try await watch(key) }
    }

    /// The session that is meant.
    private func key() async throws -> SessionKey {
        if let session { return SessionKey(user, session) }
        let topic = Topic.user(user, .current)
        return try await follow([topic], missing: .noCurrentSession(user), askingAfter: EngineLink.calm) { event, _ in
            guard case .message(let message) = event, topic == Topic(message.topic) else { return nil }
            let current = try JSONCoding.decode(CurrentSession.self, from: message.payload)
            guard let session = current.session else { throw Failure.noCurrentSession(user) }
            return SessionKey(user, session)
        }
    }

    /// Follows topics until there is a result.
    ///
    /// - Parameters:
    ///   - topics: besides replies to this process, which are always followed.
    ///   - missing: what it means that too little was told for a result though the engine answers; `nil` when more is
    ///     awaited.
    ///   - delay: seconds from a connect until the engine is asked whether it answers: a reply that comes when nobody
    ///     follows any more costs the connection.
    func follow<R: Sendable>(
        _ topics: [Topic], missing: Failure?, askingAfter delay: Double = 0,
        _ handle: (ClientEvent, EngineLink) async throws -> R?
    ) async throws -> R {
        var link = EngineLink(user: user, client: context.client, delay: delay)
        var wait = Wait(user, began: context.clock.now, isInteractive: terminal.isInteractive)
        defer { terminal.status(wait.finish()) }
        return try await context.follow((topics + [link.topic]).map(TopicFilter.topic)) { event in
            let now = context.clock.now
            switch event {
            case .stop: throw Interrupted()
            case .message(let message) where message.payload.isEmpty: return nil
            case .connected, .disconnected, .message, .tick: break
            }
            try link.receive(event, now)
            if let question = link.take(now) { await context.send([question]) }
            if let result = try await handle(event, link) { return result }
            if let missing, link.knowsAll(now) { throw missing }
            if let text = try wait.update(link, now) { terminal.status(text) }
            return nil
        }
    }
}
