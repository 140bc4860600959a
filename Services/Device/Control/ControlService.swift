import Bus
import Foundation
import MQTT
import ServiceKit
import ServiceLifecycle
import Workouts

/// Does one thing to a session, or shows it, and returns.
struct ControlService: Service {
    enum Request: Sendable {
        case command(SessionAction)
        case status
    }

    enum Failure: Error, Equatable, CustomStringConvertible {
        case noCurrentSession(User)
        case noSuchSession(SessionKey)
        case refused(Refusal)
        /// The broker or the engine is not there.
        case noAnswer

        var description: String {
            switch self {
            case .noCurrentSession(let user): "\(user) has no unfinished session"
            case .noSuchSession(let key): "\(key.user) has no session \(key.session)"
            case .refused(let refusal): refusal.message
            case .noAnswer: "no answer within \(Int(ControlService.patience)) s: do broker and session-engine run?"
            }
        }
    }

    /// Seconds until nobody can be expected to answer any more.
    static let patience = 30.0
    /// Seconds in which a broker has sent what it retains.
    static let retainedPatience = 2.0

    let context: ServiceContext
    let terminal: Terminal
    let user: User
    let session: SessionID?
    let request: Request

    func run() async throws {
        let current: SessionID
        if let session { current = session } else { current = try await currentSession() }
        let key = SessionKey(user, current)
        switch request {
        case .command(let action): try await command(action, key)
        case .status: try await status(key)
        }
    }

    private func currentSession() async throws -> SessionID {
        let topic = Topic.user(user, .current)
        return try await follow([topic], missing: .noCurrentSession(user)) { event, isComplete in
            if case .message(let message) = event {
                let current = try JSONCoding.decode(CurrentSession.self, from: message.payload)
                guard let session = current.session else { throw Failure.noCurrentSession(user) }
                return session
            }
            return nil
        }
    }

    /// Follows topics until there is a result.
    ///
    /// - Parameters:
    ///   - missing: what it means that the broker retains too little for a result; `nil` when more is awaited.
    ///   - handle: is also told whether the broker has sent all it retains.
    private func follow<R: Sendable>(
        _ topics: [Topic], missing: Failure?, _ handle: (ClientEvent, _ isComplete: Bool) async throws -> R?
    ) async throws -> R {
        let began = context.clock.now
        var connectedAt: Timestamp?
        return try await context.follow(topics.map(TopicFilter.topic)) { event in
            let now = context.clock.now
            switch event {
            case .connected: connectedAt = now
            case .stop: throw Interrupted()
            case .message(let message) where message.payload.isEmpty: return nil
            case .disconnected, .message, .tick: break
            }
            let isComplete = connectedAt.map { now.seconds(since: $0) >= Self.retainedPatience } ?? false
            if let result = try await handle(event, isComplete) { return result }
            if let missing, isComplete { throw missing }
            guard now.seconds(since: began) < Self.patience else { throw Failure.noAnswer }
            return nil
        }
    }
}

extension ControlService {
    private func command(_ action: SessionAction, _ key: SessionKey) async throws {
        let client = context.client
        let command = Command(id: CommandID(UUID()), client: client, at: context.clock.now, action: action)
        var sender = CommandSender(client: client, waiting: [command])
        var accepted: (revision: Int64, at: Timestamp)?
        var state: SessionState?
        let topics: [Topic] = [.user(key.user, .replies(client)), .session(key, .state)]
        let result = try await follow(topics, missing: nil) { event, _ -> SessionState?? in
            let now = context.clock.now
            switch event {
            case .connected: sender.connected()
            case .disconnected: sender.disconnected()
            case .message(let message):
                if case .session(_, .state) = Topic(message.topic) {
                    state = try SessionState(message.payload)
                } else {
                    let reply = try JSONCoding.decode(Reply.self, from: message.payload)
                    switch sender.receive(reply, now) {
                    case .nothing: break
                    case .accepted: accepted = (reply.revision ?? 0, now)
                    case .postponed(let refusal), .refused(_, let refusal): throw Failure.refused(refusal)
                    }
                }
            case .tick, .stop: break
            }
            if let due = sender.take(now) {
                try? await context.bus.send([Topic.session(key, .command).message(JSONCoding.encode(due))])
            }
            guard let accepted else { return nil }
            if let state, state.revision >= accepted.revision { return .some(state) }
            return now.seconds(since: accepted.at) >= Self.retainedPatience ? .some(nil) : nil
        }
        let done = "\(action.name): done, session \(key.session)"
        terminal.output((result.map { "\(done) is \(Written.status($0, context.clock.now))" } ?? done) + "\n")
    }

    private func status(_ key: SessionKey) async throws {
        var state: SessionState?
        var metrics: MetricsSnapshot?
        let topics: [Topic] = [.session(key, .state), .session(key, .metrics)]
        let text = try await follow(topics, missing: .noSuchSession(key)) { event, isComplete -> String? in
            if case .message(let message) = event {
                if case .session(_, .state) = Topic(message.topic) {
                    state = try SessionState(message.payload)
                } else {
                    metrics = try MetricsSnapshot(message.payload)
                }
            }
            guard let state, metrics != nil || isComplete else { return nil }
            return "\(state.name), session \(key.session), is \(Written.status(state, context.clock.now))\n"
                + (metrics.map(Written.metrics) ?? "")
        }
        terminal.output(text)
    }
}
