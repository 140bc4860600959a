import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Client

/// The server loses a session while its device is offline.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct NotSyncedSessionTests {
    @Test func `a workout without its session is logged whole under a new one`() async throws {
        let installation = try await Installation()
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let successor = SessionKey(key.user, key.session.successor)
        let recording = installation.folder.file("recording.fit")
        try Data(FITFixture.workout(start: 1_700_000_000, duration: 900, pauses: [300...400])).write(
            to: URL(filePath: recording))
        let workout = try await BusObserver.run(port: installation.broker.port) { observer in
            var device = try installation.replay(recording, key, speedUp: 100)
            _ = try await observer.wait(for: Topic.session(key, .metrics).name) { payload in
                (try? MetricsSnapshot(payload[...]))?.count ?? 0 >= 300
            }
            device.end(SIGKILL)
            try installation.lose(.engine)
            device = try installation.replay(recording, key)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            return try JSONCoding.decode(
                WorkoutRecord.self, from: try await observer.wait(for: Topic.session(successor, .workout).name))
        }
        #expect(workout.notSynced == key.session)
        #expect(workout.activeDuration == 800)
        // A record each second, both ends of each segment included.
        #expect(workout.next.values.allSatisfy { $0 == 802 }, "\(workout.next)")
        #expect(
            installation.deviceLog.contains(
                "saved locally and not synced: the server has lost session \(key.session)"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: installation.folder.file("queue")).isEmpty)
    }
}
