import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import ServiceLifecycle
import Workouts

/// Performs one command on a session or the user's saved plans, and returns.
struct ControlService: Service {
    enum Request: Sendable {
        case start(Start)
        case command(SessionAction)
        case status
        /// Shows the session until it ends.
        case follow
        /// With a time only if the plan was not saved again since.
        case savePlan(PlanID, WorkoutDefinition, unchangedSince: Timestamp?)
        case deletePlan(PlanID)
        case plans
        /// Lists finished workouts.
        case history(HistoryQuery)
        case virtualRun(RunRequest)
    }

    struct Start: Sendable {
        var start: SessionStart
        /// `nil` for the activity of the planned workout.
        var activity: Activity?
        var savedPlan: PlanID?
        var isFollowed = false
    }

    enum Failure: Error, Equatable, CustomStringConvertible {
        case noCurrentSession(User)
        case noSuchSession(SessionKey)
        case noSuchPlan(User, PlanID)
        case refused(Refusal)
        /// A start while another session is unfinished.
        case unfinished(Refusal)
        /// A virtual run while another session is unfinished.
        case busy(String)
        /// A message of an older or newer engine, or of another client.
        case invalidMessage(String)
        case noConnection
        /// The service does not run, or ignores this account.
        case noReply(User, from: String = "session-engine")
        /// No virtual run fits the command.
        case noRun(User, RunFit)
        /// Several virtual runs fit the command: the text of each.
        case severalRuns([String])

        init(_ refusal: Refusal) {
            self = refusal.code == Refusal.sessionInProgressCode ? .unfinished(refusal) : .refused(refusal)
        }

        var description: String {
            switch self {
            case .noCurrentSession(let user): "\(user) has no unfinished session"
            case .noSuchSession(let key): "\(key.user) has no session \(key.session)"
            case .noSuchPlan(let user, let plan): "\(user) has no saved plan \(plan)"
            case .refused(let refusal): refusal.message
            case .busy(let text): text
            case .unfinished(let refusal): "\(refusal.message), or start with --replace"
            case .invalidMessage(let text): "invalid message from a service: \(text)"
            case .noConnection:
                "no connection to the broker within \(Int(ReplyTimeout.limit)) s; check --mqtt-url and that the broker runs"
            case .noRun(let user, let fit): "\(user) has no virtual run \(fit.text); runs lists all"
            case .severalRuns(let runs):
                "several virtual runs fit; name one of them:\n" + runs.map { "  \($0)" }.joined(separator: "\n")
            case .noReply(let user, let service):
                "no reply from \(service) within \(Int(ReplyTimeout.limit)) s; check that it runs and that this account "
                    + "may act for \(user)"
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
            case .savePlan(let plan, let definition, let time): try await save(plan, definition, unchangedSince: time)
            case .deletePlan(let plan): try await delete(plan)
            case .plans: try await listPlans()
            case .history(let query): try await listWorkouts(query)
            case .virtualRun(let request): try await perform(request)
            }
        } catch let error as PayloadError {
            throw Failure.invalidMessage(error.text)
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

    /// The session of the command: `--session`, else the user's unfinished one.
    private func key() async throws -> SessionKey {
        if let session { return SessionKey(user, session) }
        let topic = Topic.user(user, .current)
        return try await follow([topic], missing: .noCurrentSession(user), requestingAfter: EngineLink.settlingTime) {
            event, _ in
            guard case .message(let message) = event, topic == Topic(message.topic) else { return nil }
            let current = try JSONCoding.decode(CurrentSession.self, from: message.payload)
            guard let session = current.session else { throw Failure.noCurrentSession(user) }
            return SessionKey(user, session)
        }
    }

    /// Follows topics until there is a result.
    ///
    /// - Parameters:
    ///   - topics: topics besides the replies to this process.
    ///   - missing: the failure when the engine replies and the retained messages give no result; `nil` to keep waiting.
    ///   - delay: seconds from a connect to the first request to the engine. A reply that arrives after the command has
    ///     unsubscribed closes the connection.
    func follow<R: Sendable>(
        _ topics: [Topic], missing: Failure?, requestingAfter delay: Double = 0,
        _ handle: (ClientEvent, EngineLink) async throws -> R?
    ) async throws -> R {
        var link = EngineLink(user: user, client: context.client, delay: delay)
        var timeout = ReplyTimeout(user, began: context.clock.moment, isInteractive: terminal.isInteractive)
        defer { terminal.progress(timeout.finish()) }
        return try await context.follow((topics + [link.topic]).map(TopicFilter.topic)) { event in
            let now = context.clock.moment
            switch event {
            case .stop: throw Interrupted()
            case .message(let message) where message.payload.isEmpty: return nil
            case .connected, .disconnected, .message, .tick: break
            }
            try link.receive(event, now)
            if let request = link.takeDue(now) { await context.send([request]) }
            if let result = try await handle(event, link) { return result }
            if let missing, link.hasEverything(now) { throw missing }
            if let text = try timeout.update(isConnected: link.isConnected, now) { terminal.progress(text) }
            return nil
        }
    }
}
