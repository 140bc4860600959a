import Bus
import Foundation
import MQTT
import ServiceKit
import Workouts

/// What a session shows: its state, and of a planned workout where it is in it.
private struct Shown: Sendable {
    let state: SessionState
    let plan: PlanState?

    init(_ message: MQTTMessage) throws(PayloadError) {
        state = try SessionState(message.payload)
        plan = try PlanState(message.payload)
    }

    /// Where it is in the plan, as long as it goes on.
    func planRows(_ now: Timestamp) -> String {
        guard let plan, state.status.isUnfinished else { return "" }
        let moment = Written.moment(of: state, plan, nil, now: now)
        return Written.plan(plan, isRunning: state.status == .active, at: moment)
    }
}

extension ControlService {
    /// Sends a command until the engine replies, and prints the session as it is then. It happens now, by the engine's clock
    /// where the engine tells it in time.
    func command(_ action: SessionAction, _ key: SessionKey) async throws {
        let client = context.client
        let command = Command(id: CommandID(UUID()), client: client, at: context.clock.now, action: action)
        var sender = CommandSender(client: client, waiting: [command])
        var engine = EngineClock(user: key.user, client: client)
        var accepted: (revision: Int64, at: Timestamp)?
        var clockOffset = 0.0
        var shown: Shown?
        let topics: [Topic] = [.user(key.user, .replies(client)), .session(key, .state)]
        let result = try await follow(topics, missing: nil) { event, isComplete -> Shown?? in
            let now = context.clock.now
            switch event {
            case .connected:
                sender.connected()
                engine.connected(now)
            case .disconnected:
                sender.disconnected()
                engine.disconnected()
            case .message(let message):
                if case .session(_, .state) = Topic(message.topic) {
                    shown = try Shown(message)
                } else {
                    try engine.receive(message, now)
                    let reply = try JSONCoding.decode(Reply.self, from: message.payload)
                    switch sender.receive(reply, now) {
                    case .nothing: break
                    case .accepted:
                        accepted = (reply.revision ?? 0, now)
                        clockOffset = reply.now.seconds(since: now)
                    case .postponed(let refusal), .refused(_, let refusal):
                        throw Failure(action.inShell(refusal))
                    }
                }
            case .tick, .stop: break
            }
            if let question = engine.take(now) { try? await context.bus.send([question]) }
            if engine.offset != nil || isComplete, var due = sender.take(now) {
                due.at = due.at.map { $0 + (engine.offset ?? 0) }
                try? await context.bus.send([Topic.session(key, .command).message(JSONCoding.encode(due))])
            }
            guard let accepted else { return nil }
            if let shown, shown.state.revision >= accepted.revision { return .some(shown) }
            return now.seconds(since: accepted.at) >= Self.retainedPatience ? .some(nil) : nil
        }
        let now = context.clock.now + clockOffset
        let done = "\(action.shellName): done, session \(key.session)"
        let text = result.map { "\(done) is \(Written.status($0.state, now))\n\($0.planRows(now))" }
        terminal.output(text ?? "\(done)\n")
    }

    /// Prints the session with its live metrics and its plan.
    func status(_ key: SessionKey) async throws {
        var shown: Shown?
        var metrics: MetricsSnapshot?
        var engine = EngineClock(user: key.user, client: context.client)
        let topics: [Topic] = [.session(key, .state), .session(key, .metrics), engine.topic]
        let text = try await follow(topics, missing: .noSuchSession(key)) { event, isComplete -> String? in
            let received = context.clock.now
            switch event {
            case .connected: engine.connected(received)
            case .message(let message):
                switch Topic(message.topic) {
                case .session(_, .state): shown = try Shown(message)
                case .session: metrics = try MetricsSnapshot(message.payload)
                default: try engine.receive(message, received)
                }
            case .disconnected: engine.disconnected()
            case .tick, .stop: break
            }
            if let question = engine.take(received) { try? await context.bus.send([question]) }
            guard let shown, metrics != nil && engine.offset != nil || isComplete else { return nil }
            let (state, now) = (shown.state, context.clock.now + (engine.offset ?? 0))
            let moment = Written.moment(of: state, shown.plan, metrics, now: now)
            let silence =
                engine.offset == nil
                ? "  no answer from session-engine, or this account may not ask; it told this "
                    + "\(Written.age(state.revision, now)) ago\n" : ""
            return "\(state.name), session \(key.session), is \(Written.status(state, moment))\n" + silence
                + shown.planRows(now) + (metrics.map(Written.metrics) ?? "")
                + (shown.plan.map(Written.exercises) ?? "")
        }
        terminal.output(text)
    }

    /// Shows the session until it is over or somebody has seen enough.
    func watch(_ key: SessionKey) async throws {
        var view = LiveView(isInteractive: terminal.isInteractive)
        var engine = EngineClock(user: key.user, client: context.client)
        let topics = LiveView.topics(key) + [engine.topic]
        let write = view.isInteractive ? terminal.status : terminal.output
        let began = context.clock.now
        var connectedAt: Timestamp?
        do {
            let end: String = try await context.follow(topics.map(TopicFilter.topic)) { event in
                let now = context.clock.now
                switch event {
                case .connected:
                    connectedAt = now
                    view.connected()
                    engine.connected(now)
                case .disconnected:
                    connectedAt = nil
                    view.disconnected()
                    engine.disconnected()
                case .message(let message):
                    guard !message.payload.isEmpty else { break }
                    if case .user = Topic(message.topic) {
                        try engine.receive(message, now)
                        view.clockOffset = engine.offset ?? 0
                    } else if let remark = try view.receive(message) {
                        write(remark)
                    }
                case .tick: if let text = view.take(now) { write(text) }
                case .stop: return ""
                }
                if let question = engine.take(now) { try? await context.bus.send([question]) }
                if let end = view.takeEnd(now) { return end + "\n" }
                guard !view.knowsSession else { return nil }
                if let connectedAt, now.seconds(since: connectedAt) >= Self.retainedPatience {
                    throw Failure.noSuchSession(key)
                }
                guard now.seconds(since: began) < Self.patience else { throw Failure.noAnswer }
                return nil
            }
            write(view.finish())
            terminal.output(end)
        } catch {
            write(view.finish())
            throw error
        }
    }
}

extension SessionAction {
    /// What it is called in a shell.
    fileprivate var shellName: String {
        switch self {
        case .plan(.completeSet): "complete-set"
        case .plan(.uncompleteSet): "uncomplete-set"
        case .plan(.skipExercise): "skip"
        case .plan(.flagPain): "flag-pain"
        case .plan(.swapExercise): "swap"
        case .plan(.adjustDifficulty(_, let difficulty)): difficulty.rawValue
        case .plan(.goTo): "go-to"
        case .plan(.setPresentationMode): "present"
        case .start, .deviceReady, .pause, .resume, .lap, .suspend, .end, .discard, .recover: name
        }
    }

    /// What the engine says of it, which begins with its name on the bus.
    fileprivate func inShell(_ refusal: Refusal) -> Refusal {
        guard refusal.message.hasPrefix("\(name) ") else { return refusal }
        return Refusal(code: refusal.code, message: shellName + refusal.message.dropFirst(name.count))
    }
}
