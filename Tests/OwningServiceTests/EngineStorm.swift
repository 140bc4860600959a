import Bus
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import SessionEngine

/// Three users, each with a run that they begin, pause, resume and end.
struct EngineStorm: StormService {
    static let name = "session-engine"
    static let schema = SessionRecord.schema
    private var loop: SessionEngineLoop

    init(_ context: ServiceContext, _ store: any Store) {
        loop = SessionEngineLoop(context: context, store: store)
    }

    mutating func handle(_ event: ServiceEvent) async throws { try await loop.handle(event) }

    static func shard(of topic: Topic) -> Shard? {
        switch topic {
        case .session(let key, _): key.user.shard
        case .user(let user, _): user.shard
        case .presence, .rejected, .account, .limited: nil
        }
    }

    static func scripts(at start: Timestamp) -> [StormScript] {
        (1...3).map { number in
            var script = StormScript(number)
            let key = script.key
            var profile = Profile()
            profile.weight = 60 + Double(number)
            script.send(.user(key.user, .request)) {
                UserRequest(id: $0, client: $1, action: .setProfile(profile))
            }
            let actions: [SessionAction] = [
                .start(SessionStart(activity: .running, countdown: 0)), .lap, .pause, .pause, .resume, .lap,
                .end(streams: [:]),
            ]
            for (index, action) in actions.enumerated() {
                script.send(.session(key, .command)) {
                    Command(id: $0, client: $1, at: start + 60 * Double(index), action: action)
                }
            }
            script.send(.user(key.user, .request)) {
                UserRequest(id: $0, client: $1, action: .workouts(HistoryQuery(before: nil, limit: 5)))
            }
            return script
        }
    }

    static func stored(_ disk: StormDisk) throws -> StoredState {
        var stored = StoredState()
        for (key, record) in try disk.sessions(SessionRecord.sessions, SessionRecord.self) {
            stored.raise(.session(key, .state), record.revision)
            stored.raise(.session(key, .workout), record.workout?.revision)
            stored.raise(.session(key, .profile), record.profileRevision)
            stored.raise(.user(key.user, .current), record.revision)
            var state = record.session.state(revision: 0, lastActiveAt: Timestamp(seconds: 0))
            // Ids differ between runs.
            state.session = SessionID("00000000-0000-4000-8000-000000000000")!
            stored.note(key.user, state)
            stored.note(key.user, record.workout.map { [$0.activeDuration, $0.elapsedDuration] } ?? [])
        }
        for (place, bytes) in try disk.records(in: SessionRecord.users) {
            guard let user = User(place.key) else { continue }
            let record = try JSONCoding.decode(UserRecord.self, from: bytes)
            stored.raise(.user(user, .profile), record.profileTopic.revision)
            stored.raise(.user(user, .current), record.currentTopic?.revision)
            stored.accepted?.formUnion(record.replies.map(\.id))
            stored.note(user, record.profile)
        }
        for bytes in try disk.records(in: SessionRecord.replies).values {
            stored.accepted?.insert(try JSONCoding.decode(Reply.self, from: bytes).id)
        }
        return stored
    }
}
