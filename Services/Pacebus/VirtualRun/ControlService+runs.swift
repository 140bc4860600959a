import Bus
import Client
import Foundation
import MQTT
import ServiceKit
import Workouts

/// Virtual runs and people.
extension ControlService {
    func perform(_ request: RunRequest) async throws {
        switch request {
        case .create(let proposal):
            let run = RunID(UUID())
            let view = try await change(.create(proposal), run)
            terminal.output("invite: done, run \(run)\n" + (view.map(Text.run) ?? ""))
        case .act(let action, let named, let fit):
            let run = try await run(named, fit)
            if case .confirm = action { try await checkSession(run) }
            let view = try await change(action, run)
            terminal.output("\(action.commandName): done, run \(run)\n" + (view.map(Text.run) ?? ""))
        case .leave(let named, let endsSession): try await leave(named, endsSession: endsSession)
        case .list(let query):
            let runs = try await exchange([], .runs(query)) { _, reply in reply }.runs ?? []
            terminal.output(runs.isEmpty ? "\(user) has no virtual runs\n" : runs.map(Text.overview).joined())
        case .show(let named): try await show(try await run(named, .any))
        case .follow(let named): try await follow(try await run(named, .any))
        case .routes(let named):
            let routes = try await exchange([], .routes, try await run(named, .finished)) { _, reply in reply }.routes
            terminal.output(String(decoding: JSONCoding.encode(routes ?? []), as: UTF8.self) + "\n")
            guard routes?.isEmpty ?? true else { return }
            terminal.progress("no routes: no runner shares one, or its workout is not complete or has no positions\n")
        case .contacts: try await listContacts()
        case .people(let action, let done):
            _ = try await exchange([], action) { _, reply in reply }
            terminal.output("\(done)\n")
        }
    }

    /// Sends a request until the reply, and handles events until there is a result.
    ///
    /// - Parameters:
    ///   - isDelayed: waits for retained messages before the request: those of the broker precede the reply.
    ///   - handle: receives each event, and the reply once it is there.
    private func exchange<R: Sendable>(
        _ subscriptions: [MQTTSubscription], _ action: VirtualRunRequest.Action, _ run: RunID? = nil,
        isDelayed: Bool = false, _ handle: (ClientEvent, Reply?) async throws -> R?
    ) async throws -> R {
        var requests = RunRequestSender(user: user, client: context.client)
        requests.send(action, run: run, id: CommandID(UUID()))
        var timeout = ReplyTimeout(
            user, service: "virtual-run", began: context.clock.moment, isInteractive: terminal.isInteractive)
        defer { terminal.progress(timeout.finish()) }
        var connectedAt: Moment?
        var reply: Reply?
        return try await context.follow([TopicFilter.topic(requests.topic)] + subscriptions) { event in
            let now = context.clock.moment
            switch event {
            case .connected:
                connectedAt = now
                requests.connected(sendingFrom: isDelayed ? now + EngineLink.settlingTime : nil)
            case .disconnected:
                connectedAt = nil
                requests.disconnected()
            case .message(let message):
                guard Topic(message.topic) == requests.topic else { break }
                switch requests.receiveReply(try JSONCoding.decode(Reply.self, from: message.payload), now) {
                case .nothing, .postponed: break
                case .accepted(let received): reply = received
                case .refused(let refusal): throw Failure.refused(refusal)
                }
            case .tick: break
            case .stop: throw Interrupted()
            }
            if let message = requests.takeDue(now) { await context.send([message]) }
            if let result = try await handle(event, reply) { return result }
            if reply == nil, let text = try timeout.update(isConnected: connectedAt != nil, now) {
                terminal.progress(text)
            }
            return nil
        }
    }

    /// Changes a run and returns the view that shows it; `nil` if the view does not arrive within two seconds.
    private func change(_ action: VirtualRunRequest.Action, _ run: RunID) async throws -> VirtualRunView? {
        let topic = Topic.user(user, .virtualRun(run))
        var view: VirtualRunView?
        var repliedAt: Moment?
        return try await exchange([TopicFilter.topic(topic)], action, run) { event, reply -> VirtualRunView?? in
            if case .message(let message) = event, Topic(message.topic) == topic, !message.payload.isEmpty {
                view = try JSONCoding.decode(VirtualRunView.self, from: message.payload)
            }
            guard let reply else { return nil }
            let now = context.clock.moment
            repliedAt = repliedAt ?? now
            if let view, view.revision >= reply.revision ?? 0 { return .some(view) }
            return now.seconds(since: repliedAt ?? now) >= EngineLink.retainedTime ? .some(nil) : nil
        }
    }

    /// The user's retained messages on some topics.
    private func retained(_ filters: MQTTSubscription...) async throws -> [Topic: ArraySlice<UInt8>] {
        var payloads: [Topic: ArraySlice<UInt8>] = [:]
        // The broker's retained messages precede the reply.
        _ = try await exchange(filters, .runs(RunsQuery(limit: 1)), isDelayed: true) { event, reply in
            if case .message(let message) = event, let topic = Topic(message.topic) {
                payloads[topic] = message.payload.isEmpty ? nil : message.payload
            }
            return reply
        }
        return payloads
    }

    /// The views of the user's runs of the last two days, the newest first.
    private func views() async throws -> [VirtualRunView] {
        try await retained(TopicFilter.virtualRuns(of: user)).compactMap { topic, payload in
            guard case .user(_, .virtualRun) = topic else { return nil }
            return try JSONCoding.decode(VirtualRunView.self, from: payload)
        }.sorted { ($1.createdAt, $1.run) < ($0.createdAt, $0.run) }
    }

    /// Throws if a session of the user outside the run is unfinished: the engine would refuse the run's.
    private func checkSession(_ run: RunID) async throws {
        let (current, view) = (Topic.user(user, .current), Topic.user(user, .virtualRun(run)))
        let payloads = try await retained(TopicFilter.topic(current), TopicFilter.topic(view))
        let session = try payloads[current].map { try JSONCoding.decode(CurrentSession.self, from: $0) }
        let own = try payloads[view].map { try JSONCoding.decode(VirtualRunView.self, from: $0) }?.own
        if let session, let text = session.unfinished, session.session != own?.session { throw Failure.busy(text) }
    }

    /// The run that the command names, else the user's only run to which it applies.
    private func run(_ named: RunID?, _ fit: RunFit) async throws -> RunID {
        if let named { return named }
        let views = try await views()
        var fitting = views.filter(fit.fits)
        // Without an unfinished run, the results of the last one.
        if fitting.isEmpty, case .any = fit { fitting = views.filter(RunFit.finished.fits) }
        guard let first = fitting.first else { throw Failure.noRun(user, fit) }
        guard fitting.count == 1 else { throw Failure.severalRuns(fitting.map(Text.title)) }
        return first.run
    }

    private func leave(_ named: RunID?, endsSession: Bool) async throws {
        let run = try await run(named, .leavable)
        let view = try await change(.leave, run)
        terminal.output("leave: done, run \(run)\n")
        guard endsSession else { return }
        guard let session = view?.own?.session else { throw Failure.noCurrentSession(user) }
        try await command(.end(streams: [:]), SessionKey(user, session))
    }

    private func listContacts() async throws {
        let topic = Topic.user(user, .virtualRunPeople)
        let people = try await retained(TopicFilter.topic(topic))[topic]
            .map { try JSONCoding.decode(RunPeople.self, from: $0) }
        terminal.output(Text.people(people ?? RunPeople(revision: 0)))
    }

    // MARK: The runners

    private func board(_ run: RunID) -> RunBoard {
        RunBoard(user: user, run: run, isInteractive: terminal.isInteractive, height: terminal.height)
    }

    private func show(_ run: RunID) async throws {
        var board = board(run)
        var repliedAt: Moment?
        try await exchange(board.subscriptions, .show, run, isDelayed: true) { event, reply -> Void? in
            if case .message(let message) = event { _ = try board.receive(message, context.clock.moment) }
            guard reply != nil else { return nil }
            let now = context.clock.moment
            repliedAt = repliedAt ?? now
            let isLate = now.seconds(since: repliedAt ?? now) >= EngineLink.retainedTime
            return board.isComplete || isLate ? () : nil
        }
        guard let text = board.text(context.clock.moment) else { throw Failure.noReply(user, from: "virtual-run") }
        terminal.output(text)
    }

    private func follow(_ run: RunID) async throws {
        var board = board(run)
        let write = board.isInteractive ? terminal.progress : terminal.output
        do {
            let end: String? = try await exchange(board.subscriptions, .show, run) { event, _ -> String?? in
                switch event {
                case .connected: board.isConnected = true
                case .disconnected: board.isConnected = false
                case .message(let message):
                    if let remark = try board.receive(message, context.clock.moment) { write(remark) }
                case .tick, .stop: break
                }
                let now = context.clock.moment
                if let end = board.end(now) { return .some(end) }
                if let text = board.take(now) { write(text) }
                return nil
            }
            write(board.finish())
            if let end { terminal.output(end) }
        } catch is Interrupted {
            // Ctrl-C is the usual end.
            write(board.finish())
        }
    }
}

extension VirtualRunRequest.Action {
    /// The name of its command.
    fileprivate var commandName: String {
        switch self {
        case .confirm: "go"
        case .keepWaiting: "keep-waiting"
        default: name
        }
    }
}
