import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import Workouts

/// The state of a session and the position in its planned workout.
private struct Shown: Sendable {
    let state: SessionState
    let plan: PlanState?

    init(_ message: MQTTMessage) throws(PayloadError) {
        state = try SessionState(message.payload)
        plan = try PlanState(message.payload)
    }

    /// The position in the plan of an unfinished session.
    func planRows(_ now: Timestamp) -> String {
        guard let plan, state.status.isUnfinished else { return "" }
        let moment = Text.moment(of: state, plan, nil, now: now)
        return Text.plan(plan, isRunning: state.status == .active, at: moment)
    }
}

extension ControlService {
    /// Sends a command until the engine replies, and prints the session's new state. The command's time is now, by the
    /// engine's clock if known.
    func command(_ action: SessionAction, _ key: SessionKey) async throws {
        let client = context.client
        let command = Command(id: CommandID(UUID()), client: client, at: context.clock.now, action: action)
        var sender = CommandSender(client: client, waiting: [command])
        var accepted: (revision: Int64, at: Moment)?
        var clockOffset = 0.0
        var shown: Shown?
        /// The state when the command was first sent.
        var before: Shown?
        let result = try await follow([.session(key, .state)], missing: nil) { event, link -> Shown?? in
            let now = context.clock.moment
            switch event {
            case .connected: sender.connected()
            case .disconnected: sender.disconnected()
            case .message(let message):
                if case .session(_, .state) = Topic(message.topic) {
                    shown = try Shown(message)
                } else {
                    let reply = try JSONCoding.decode(Reply.self, from: message.payload)
                    switch sender.receiveReply(reply, now) {
                    case .nothing: break
                    case .accepted:
                        accepted = (reply.revision ?? 0, now)
                        clockOffset = reply.now.seconds(since: now.wallClock)
                    case .postponed(let refusal), .refused(_, let refusal):
                        throw Failure(action.inCommandWords(refusal))
                    }
                }
            case .tick, .stop: break
            }
            let isKnown = link.offset != nil && (shown != nil || !action.kind.isOfPlan)
            if isKnown || link.hasRetained(now), var due = sender.takeDue(now) {
                before = before ?? shown
                due.at = due.at.map { $0 + (link.offset ?? 0) }
                await context.send([Topic.session(key, .command).message(JSONCoding.encode(due))])
            }
            guard let accepted else { return nil }
            if let shown, shown.state.revision >= accepted.revision { return .some(shown) }
            return now.seconds(since: accepted.at) >= EngineLink.retainedTime ? .some(nil) : nil
        }
        let now = context.clock.now + clockOffset
        let done = "\(action.commandName): done, session \(key.session)"
        let text = result.map {
            "\(done) is \(Text.status($0.state, now))\n" + action.changes(before?.plan, $0.plan) + $0.planRows(now)
        }
        terminal.output(text ?? "\(done)\n")
    }

    /// Prints the session with its live metrics and its plan.
    func status(_ key: SessionKey) async throws {
        var shown: Shown?
        var metrics: MetricsSnapshot?
        let topics: [Topic] = [.session(key, .state), .session(key, .metrics)]
        let text = try await follow(topics, missing: .noSuchSession(key)) { event, link -> String? in
            if case .message(let message) = event {
                switch Topic(message.topic) {
                case .session(_, .state): shown = try Shown(message)
                case .session(_, .metrics): metrics = try MetricsSnapshot(message.payload)
                default: break
                }
            }
            let isComplete = metrics != nil && link.offset != nil || link.hasRetained(context.clock.moment)
            guard let shown, isComplete else { return nil }
            let (state, now) = (shown.state, context.clock.now + (link.offset ?? 0))
            let moment = Text.moment(of: state, shown.plan, metrics, now: now)
            let silence =
                link.offset == nil
                ? "  \(EngineLink.silence); this state is \(Text.age(state.revision, now)) old\n" : ""
            return "\(state.name), session \(key.session), is \(Text.status(state, moment))\n" + silence
                + shown.planRows(now) + (metrics.map { Text.metrics($0, state.activity) } ?? "")
                + Text.commands(state) + (shown.plan.map(Text.exercises) ?? "")
        }
        terminal.output(text)
    }

    /// Shows the session until it ends or Ctrl-C.
    func watch(_ key: SessionKey) async throws {
        var view = LiveView(isInteractive: terminal.isInteractive)
        var link = EngineLink(user: key.user, client: context.client)
        var timeout = ReplyTimeout(key.user, began: context.clock.moment, isInteractive: view.isInteractive)
        let topics = LiveView.topics(key) + [link.topic]
        let write = view.isInteractive ? terminal.progress : terminal.output
        // The view overwrites the line of the timeout.
        defer { if !view.hasSession { terminal.progress(timeout.finish()) } }
        do {
            let end: String = try await context.follow(topics.map(TopicFilter.topic)) { event in
                let now = context.clock.moment
                if case .message(let message) = event, message.payload.isEmpty { return nil }
                try link.receive(event, now)
                if let request = link.takeDue(now) { await context.send([request]) }
                view.clockOffset = link.offset ?? 0
                switch event {
                case .connected: view.connected()
                case .disconnected: view.disconnected()
                case .message(let message): if let remark = try view.receive(message) { write(remark) }
                case .tick:
                    if let text = view.take(now) { write(text) }
                    if let remark = view.engine(isSilent: link.isSilent) { write(remark) }
                case .stop: return ""
                }
                if let end = view.takeEnd(now) { return end + "\n" }
                guard !view.hasSession else { return nil }
                if link.hasEverything(now) { throw Failure.noSuchSession(key) }
                if let text = try timeout.update(isConnected: link.isConnected, now) { terminal.progress(text) }
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
    /// The name of its command.
    fileprivate var commandName: String {
        switch self {
        case .plan(.completeSet): "complete-set"
        case .plan(.uncompleteSet): "uncomplete-set"
        case .plan(.skipExercise): "skip"
        case .plan(.flagPain): "flag-pain"
        case .plan(.swapExercise): "swap"
        case .plan(.adjustDifficulty(_, let difficulty)): difficulty.rawValue
        case .plan(.goTo): "go-to"
        case .plan(.setPresentationMode): "present"
        case .start, .deviceReady, .pause, .resume, .lap, .suspend, .end, .discard, .recover, .update: name
        }
    }

    /// Its changes of a plan, one to a line. The effect of `goTo` shows in the current exercise.
    fileprivate func changes(_ before: PlanState?, _ after: PlanState?) -> String {
        guard case .plan(let action) = self, let before, let after else { return "" }
        let changes = Text.changes(before, after)
        if case .goTo = action, changes.isEmpty { return "" }
        return (changes.isEmpty ? ["nothing"] : changes).map { "  changed: \($0)\n" }.joined()
    }

    /// The engine's refusal with the name of the command instead of the name on the bus.
    fileprivate func inCommandWords(_ refusal: Refusal) -> Refusal {
        var message = refusal.message
        if message.hasPrefix("\(name) ") { message = commandName + message.dropFirst(name.count) }
        return Refusal(code: refusal.code, message: message)
    }
}
