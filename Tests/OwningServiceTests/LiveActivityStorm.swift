import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import LiveActivityPublisher

/// Four sessions with a phone each. The first three continue, and the last one ends.
struct LiveActivityStorm: StormService {
    static let name = "live-activity-publisher"
    static let schema = ActivityRecord.schema
    private var loop: LiveActivityPublisherLoop
    private var outcomes: [EndedPush] = []

    init(_ context: ServiceContext, _ store: any Store) {
        loop = LiveActivityPublisherLoop(context: context, canPush: true, store: store)
    }

    mutating func handle(_ event: ServiceEvent) async throws {
        outcomes = try await loop.handle(event, outcomes: outcomes).map {
            EndedPush(push: $0, outcome: .delivered, took: .zero)
        }
    }

    static func scripts(at start: Timestamp) -> [StormScript] {
        (1...4).map { number in
            var script = StormScript(number)
            let key = script.key
            var state = Session(key: key, start: SessionStart(activity: .running, countdown: 0), at: start, now: start)
                .state(revision: start.milliseconds, lastActiveAt: start)
            state.status = .active
            script.retain(.state, state)
            for kind in [ActivityRegistration.TokenKind.start, .activity].prefix(number == 1 ? 1 : 2) {
                script.send(.session(key, .activityRegister)) {
                    ActivityRegistration(
                        id: $0, client: $1, device: Device("phone-1")!,
                        action: .register(
                            token: String(repeating: kind == .start ? "a" : "b", count: 64), kind: kind,
                            environment: .sandbox))
                }
            }
            state.revision += 1
            state.segments[0].end = start + 60
            state.status = number == 4 ? .completed : .paused
            script.retain(.state, state)
            return script
        }
    }

    static func stored(_ disk: StormDisk) throws -> StoredState {
        var stored = StoredState()
        for (key, record) in try disk.sessions(ActivityRecord.activities, ActivityRecord.self) {
            stored.raise(.session(key, .activity), record.revision)
            stored.accepted?.formUnion(record.answered)
            stored.note(key.user, record.status?.devices ?? [])
            stored.note(key.user, record.devices.map(\.updateToken?.token))
        }
        return stored
    }
}
