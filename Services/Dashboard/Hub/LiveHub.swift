import Bus
import MQTT
import NIOCore
import ServiceKit
import Synchronization
import Workouts

/// Shares the ``Hub`` between the loop and the requests.
final class LiveHub: Sendable {
    private struct State {
        var hub: Hub
        /// Tasks of streams that wait for events.
        var waiting: [Int: CheckedContinuation<[ByteBuffer]?, Never>] = [:]
        var aborts: [Int: @Sendable () -> Void] = [:]
    }

    let clock: any WallClock
    private let state: Mutex<State>

    /// - Parameter version: the version of the assets.
    init(clock: any WallClock, version: String? = nil) {
        self.clock = clock
        state = Mutex(State(hub: Hub(now: clock.moment, version: version)))
    }

    // MARK: Requests

    /// The newest message of a topic. `state`, `workout`, `current` and `profile` are always known, the others while they are
    /// watched.
    func newest(_ topic: Topic) -> EventFrame? { state.withLock { $0.hub.frame(of: topic) } }

    /// Decodes the user's `current`; `nil` if there is none.
    func current(of user: User) -> CurrentSession? {
        newest(.user(user, .current)).flatMap { try? JSONCoding.decode(CurrentSession.self, from: $0.payload) }
    }

    /// Decodes the session's `state`; `nil` if it is unknown.
    func state(of key: SessionKey) -> SessionState? {
        newest(.session(key, .state)).flatMap { try? SessionState($0.payload) }
    }

    /// The user's sessions of the last two days, the latest change first.
    func sessions(of user: User) -> [SessionKey] {
        state.withLock { $0.hub.sessions[user] ?? [:] }.sorted { $0.value.revision > $1.value.revision }
            .map { SessionKey(user, $0.key) }
    }

    /// The connection to the broker.
    var broker: BrokerLink { state.withLock { $0.hub.link } }

    /// Whether a process of the service is online.
    func isOnline(_ service: String) -> Bool { state.withLock { $0.hub.isOnline(service) } }

    /// Begins a stream.
    ///
    /// - Parameters:
    ///   - page: the page that opens it. It replaces the page's former stream, which a silent network may keep open here.
    ///   - abort: closes the connection if the stream does not read.
    /// - Throws: ``StreamLimit``.
    func watch(
        _ watch: Watch, login: Login, page: String? = nil, abort: @escaping @Sendable () -> Void = {}
    ) throws(StreamLimit) -> Viewer {
        let now = clock.moment
        if let page { close { $0.stream(of: page, login.id) } }
        close { $0.crowding(login) }
        let result: Result<Int, StreamLimit> = state.withLock { state in
            do throws(StreamLimit) {
                let id = try state.hub.watch(watch, login, page: page, now)
                state.aborts[id] = abort
                return .success(id)
            } catch {
                return .failure(error)
            }
        }
        return Viewer(id: try result.get(), hub: self)
    }

    private func close(_ find: (borrowing Hub) -> Int?) {
        let found = state.withLock { state in find(state.hub).map { (id: $0, abort: state.aborts[$0]) } }
        guard let found else { return }
        leave(found.id)
        found.abort?()
    }

    /// Ends the login's streams.
    func end(login: LoginID) { perform { $0.end(login, $1) } }

    /// Sends the late outcome of a command, as JSON without line breaks, to all streams of the user's logins.
    func reply(_ payload: [UInt8], to user: User) {
        guard let frame = EventFrame(.reply, payload) else { return }
        perform { $0.reply(frame, to: user, $1) }
    }

    /// Ends all streams and refuses new ones.
    func endAll() { perform { $0.close($1) } }

    /// Accepts streams again.
    func open() { state.withLock { $0.hub.isClosed = false } }

    fileprivate func next(_ id: Int) async -> [ByteBuffer]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiting in
                let now = clock.moment
                let next = state.withLock { state in
                    // A canceled task finds its stream gone, here or in the handler.
                    let next = Task.isCancelled ? .end : state.hub.next(id, now)
                    if next == .wait { state.waiting[id] = waiting }
                    return next
                }
                switch next {
                case .events(let events): waiting.resume(returning: events)
                case .end: waiting.resume(returning: nil)
                case .wait: break
                }
            }
        } onCancel: {
            leave(id)
        }
    }

    fileprivate func leave(_ id: Int) {
        let now = clock.moment
        let waiting = state.withLock { state in
            state.hub.leave(id, now)
            state.aborts[id] = nil
            return state.waiting.removeValue(forKey: id)
        }
        waiting?.resume(returning: nil)
    }

    // MARK: The loop

    var subscriptions: [MQTTSubscription] {
        WatchedTopics.always + state.withLock { $0.hub.needs.keys.flatMap(\.subscriptions) }
    }

    /// Whether ``subscriptions`` are others than at the last call.
    func takeSubscriptionChange() -> Bool { state.withLock { $0.hub.takeNeedsChange() } }

    /// The broker has granted the earliest change, or the connection is lost.
    func subscriptionChangeGranted() {
        let now = clock.moment
        state.withLock { $0.hub.needsChangeGranted(now) }
    }

    func connected() { perform { $0.connected($1) } }

    func disconnected() { perform { $0.disconnected($1) } }

    /// Takes messages, whose events reach each stream in one write. Returns the rejected ones.
    func receive(_ messages: [MQTTMessage]) -> [(message: MQTTMessage, error: PayloadError)] {
        var rejected: [(MQTTMessage, PayloadError)] = []
        perform { hub, now in
            var changed: Set<Int> = []
            for message in messages {
                do throws(PayloadError) {
                    changed.formUnion(try hub.receive(message, now))
                } catch {
                    rejected.append((message, error))
                }
            }
            return hub.deliver(changed, now)
        }
        return rejected
    }

    func tick() { perform { $0.tick($1) } }

    // MARK: Operators

    /// Subscribes to all metrics for a page that is about to be rendered. Returns whether they were subscribed to before.
    func needAllMetrics() -> Bool {
        let now = clock.moment
        return state.withLock { $0.hub.needAllMetrics(now) }
    }

    /// What a view shows now, without what only an operator's own connection reads.
    func overview(_ view: OperatorView) -> Overview {
        let now = clock.now
        return state.withLock { state in
            let table = OperatorTable(state.hub.sessions, view, now)
            let frames = table.rows.map { row in
                (state.hub.frame(of: .session(row.key, .state)), state.hub.frame(of: .session(row.key, .metrics)))
            }
            return Overview(table: table, frames: frames, services: state.hub.services, link: state.hub.link)
        }
    }

    var hasOperators: Bool { read { !$0.overviewsDue.isEmpty } }

    /// See ``Hub/takeOverviews(_:)``.
    func takeOverviews() -> [OperatorView] {
        let now = clock.moment
        return state.withLock { $0.hub.takeOverviews(now) }
    }

    func show(_ overview: EventFrame, to view: OperatorView) { perform { $0.show(overview, to: view, $1) } }

    /// Removes what is too old to show.
    func forgetPast() {
        perform { hub, now in
            hub.forgetPast(now)
            return []
        }
    }

    /// Reads counts for metrics.
    func read<Value: Sendable>(_ body: (borrowing Hub) -> Value) -> Value { state.withLock { body($0.hub) } }

    /// The only place where the hub's actions take effect.
    private func perform(_ change: (inout Hub, Moment) -> [HubAction]) {
        let now = clock.moment
        let effects = state.withLock { state in
            change(&state.hub, now).map { action -> @Sendable () -> Void in
                switch action {
                case .deliver(let id, let events):
                    let waiting = state.waiting.removeValue(forKey: id)
                    return { waiting?.resume(returning: events) }
                case .abort(let id): return state.aborts.removeValue(forKey: id) ?? {}
                }
            }
        }
        for effect in effects { effect() }
    }
}

/// A stream's side of the hub.
final class Viewer: Sendable {
    private let id: Int
    private let hub: LiveHub

    fileprivate init(id: Int, hub: LiveHub) {
        self.id = id
        self.hub = hub
    }

    /// The next events, when they are due; `nil` at the end.
    func next() async -> [ByteBuffer]? { await hub.next(id) }

    /// Ends the stream. Repeated calls do nothing.
    func leave() { hub.leave(id) }
}

/// There are too many streams.
enum StreamLimit: Error {
    case ofService
    case ofLogin
}
