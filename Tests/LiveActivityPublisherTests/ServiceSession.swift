import Bus
import Foundation
import MQTT
import Workouts

/// The messages of a session.
struct ServiceSession {
    static let phone = Device("phone-1")!
    static let client = Client("tests")!

    let key: SessionKey
    private(set) var state: SessionState
    private var revision: Int64 = 0

    /// An active run.
    init(_ user: String = "anna", session: SessionID = SessionID(UUID()), run: RunID? = nil, at now: Timestamp) {
        key = SessionKey(User(user)!, session)
        state = Session(key: key, start: SessionStart(activity: .running, countdown: 0), at: now, now: now)
            .state(revision: now.milliseconds, lastActiveAt: now)
        state.status = .active
        state.run = run
    }

    /// An APNs token.
    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// The retained state.
    var message: MQTTMessage { Topic.session(key, .state).message(JSONCoding.encode(state)) }

    /// Changes the status and returns the state.
    mutating func become(_ status: SessionStatus, now: Timestamp) -> MQTTMessage {
        if let last = state.segments.last, last.end == nil, status != .active {
            state.segments[state.segments.count - 1].end = max(now, last.start)
        } else if status == .active, state.segments.last?.end != nil {
            state.segments.append(Segment(start: now, end: nil))
        }
        state.status = status
        state.revision = max(state.revision + 1, now.milliseconds)
        return message
    }

    /// The retained live metrics at a time.
    mutating func metrics(distance: Double, now: Timestamp) -> MQTTMessage {
        revision = max(revision + 1, now.milliseconds)
        var snapshot = MetricsSnapshot(user: key.user, revision: revision)
        snapshot.newest = now
        snapshot.distance = distance
        return Topic.session(key, .metrics).message(snapshot.payload)
    }

    /// A phone's registration of a token, or its withdrawal.
    func register(
        _ kind: ActivityRegistration.TokenKind?, _ token: Int = 1, device: Device = phone,
        id: CommandID = CommandID(UUID())
    ) -> MQTTMessage {
        let action: ActivityRegistration.Action =
            kind.map { .register(token: Self.token(token), kind: $0, environment: .sandbox) } ?? .withdraw
        let registration = ActivityRegistration(id: id, client: Self.client, device: device, action: action)
        return Topic.session(key, .activityRegister).message(JSONCoding.encode(registration))
    }
}
