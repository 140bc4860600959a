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
        var accepted: (revision: Int64, at: Timestamp)?
        var clockOffset = 0.0
        var shown: Shown?
        /// When the command was first sent.
        var before: Shown?
        let result = try await follow([.session(key, .state)], missing: nil) { event, link -> Shown?? in
            let now = context.clock.now
            switch event {
            case .connected: sender.connected()
            case .disconnected: sender.disconnected()
            case .message(let message):
                if case .session(_, .state) = Topic(message.topic) {
                    shown = try Shown(message)
                } else {
                    let reply = try JSONCoding.decode(Reply.self, from: message.payload)
                    switch sender.receive(reply, now) {
                    case .nothing: break
                    case .accepted:
                        accepted = (reply.revision ?? 0, now)
                        clockOffset = reply.now.seconds(since: now)
                    case .postponed(let refusal), .refused(_, let refusal):
                        throw Failure(action.inShell(refusal, before?.plan))
                    }
                }
            case .tick, .stop: break
            }
            let isKnown = link.offset != nil && (shown != nil || !action.isOfPlan)
            if isKnown || link.hasRetained(now), var due = sender.take(now) {
                before = before ?? shown
                due.at = due.at.map { $0 + (link.offset ?? 0) }
                await context.send([Topic.session(key, .command).message(JSONCoding.encode(due))])
            }
            guard let accepted else { return nil }
            if let shown, shown.state.revision >= accepted.revision { return .some(shown) }
            return now.seconds(since: accepted.at) >= EngineLink.retainedPatience ? .some(nil) : nil
        }
        let now = context.clock.now + clockOffset
        let done = "\(action.shellName): done, session \(key.session)"
        let text = result.map {
            "\(done) is \(Written.status($0.state, now))\n" + action.changes(before?.plan, $0.plan) + $0.planRows(now)
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
            let isComplete = metrics != nil && link.offset != nil || link.hasRetained(context.clock.now)
            guard let shown, isComplete else { return nil }
            let (state, now) = (shown.state, context.clock.now + (link.offset ?? 0))
            let moment = Written.moment(of: state, shown.plan, metrics, now: now)
            let silence =
                link.offset == nil
                ? "  \(EngineLink.silence); it told this \(Written.age(state.revision, now)) ago\n" : ""
            return "\(state.name), session \(key.session), is \(Written.status(state, moment))\n" + silence
                + shown.planRows(now) + (metrics.map(Written.metrics) ?? "")
                + (shown.plan.map(Written.exercises) ?? "")
        }
        terminal.output(text)
    }

    /// Shows the session until it is over or somebody has seen enough.
    func watch(_ key: SessionKey) async throws {
        var view = LiveView(isInteractive: terminal.isInteractive)
        var link = EngineLink(user: key.user, client: context.client)
        var wait = Wait(key.user, began: context.clock.now, isInteractive: view.isInteractive)
        let topics = LiveView.topics(key) + [link.topic]
        let write = view.isInteractive ? terminal.status : terminal.output
        // A view writes over the line of a wait.
        defer { if !view.knowsSession { terminal.status(wait.finish()) } }
        do {
            let end: String = try await context.follow(topics.map(TopicFilter.topic)) { event in
                let now = context.clock.now
                if case .message(let message) = event, message.payload.isEmpty { return nil }
                try link.receive(event, now)
                if let question = link.take(now) { await context.send([question]) }
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
                guard !view.knowsSession else { return nil }
                if link.knowsAll(now) { throw Failure.noSuchSession(key) }
                if let text = try wait.update(link, now) { terminal.status(text) }
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

    fileprivate var isOfPlan: Bool {
        if case .plan = self { true } else { false }
    }

    /// What it has changed of a plan, a change to a line. What `goTo` does shows in what is on.
    fileprivate func changes(_ before: PlanState?, _ after: PlanState?) -> String {
        guard case .plan(let action) = self, let before, let after else { return "" }
        let changes = Written.changes(before, after)
        if case .goTo = action, changes.isEmpty { return "" }
        return (changes.isEmpty ? ["nothing"] : changes).map { "  changed: \($0)\n" }.joined()
    }

    /// What the engine says of it, which begins with its name on the bus; of an exercise that is not in a plan with those
    /// that are.
    fileprivate func inShell(_ refusal: Refusal, _ plan: PlanState?) -> Refusal {
        var message = refusal.message
        if message.hasPrefix("\(name) ") { message = shellName + message.dropFirst(name.count) }
        if let plan, message.hasPrefix("item: ") {
            message += "; expected \(plan.plan.blocks.flatMap { $0.items.map(\.id) }.joined(separator: ", "))"
        }
        return Refusal(code: refusal.code, message: message)
    }
}
