import Bus
import MQTT
import ServiceKit
import Workouts

/// What a stream shows.
enum Watch: Hashable, Sendable {
    case home(Set<User>)
    case live(SessionKey, isOwner: Bool)
    case operators
    case virtualRun(User, RunID)
}

/// The connection to the broker.
enum BrokerLink: Equatable, Sendable {
    case connected
    case away(since: Timestamp)
}

/// Shares the hub between the loop and the requests.
final class LiveHub: Sendable {
    let clock: any WallClock

    init(clock: any WallClock) {
        self.clock = clock
    }

    /// The newest message of a topic. `state`, `workout`, `current` and `profile` are always known, the others while somebody watches.
    func newest(_ topic: Topic) -> EventFrame? { nil }

    func current(of user: User) -> CurrentSession? { nil }

    func state(of key: SessionKey) -> SessionState? { nil }

    /// - Throws: ``StreamLimit``.
    func watch(_ watch: Watch, login: Login) throws(StreamLimit) -> Viewer { Viewer() }

    var broker: BrokerLink { .connected }

    /// Ends the login's streams.
    func end(login: LoginID) {}

    /// Sends the late outcome of a command, as JSON, to all streams of a user's logins.
    func reply(_ payload: [UInt8], to user: User) {}

    func endAll() {}

    // MARK: The loop

    var subscriptions: [MQTTSubscription] { [] }

    func takeSubscriptionChange() -> Bool { false }

    func connected() {}

    func disconnected() {}

    func receive(_ messages: [MQTTMessage]) {}

    func tick() {}
}
