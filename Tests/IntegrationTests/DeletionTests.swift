import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@Suite(.serialized, .timeLimit(.minutes(60)))
struct DeletionTests {
    @Test func `a deleted workout leaves no bytes in the stores of running services within a minute`() async throws {
        let installation = try await Installation()
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let recording = installation.folder.file("recording.fit")
        try Data(FITFixture.workout(start: 1_700_000_000, duration: 900, pauses: [])).write(
            to: URL(filePath: recording))
        // Every store keeps the device's name, in records of its own.
        let marker = "watch-of-a-deleted-workout"
        func stores() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: installation.folder.path).filter { name in
                guard name.contains(".sqlite"),
                    let bytes = try? Data(contentsOf: URL(filePath: installation.folder.file(name)))
                else { return false }
                return bytes.range(of: Data(marker.utf8)) != nil
            }.sorted()
        }
        try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(recording, key, device: marker)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            _ = try await observer.exported(key)
            let services = Set(try stores().map { $0.prefix { $0 != "." } })
            #expect(services == ["session-engine", "metrics-aggregator", "route-builder", "exporter"])

            let client = try #require(Client("tester"))
            let request = UserRequest(id: CommandID(UUID()), client: client, action: .deleteWorkout(key.session))
            await observer.publish(Topic.user(key.user, .request).message(JSONCoding.encode(request)))
            _ = try await observer.wait(for: Topic.user(key.user, .replies(client)).name)
            #expect(await eventually { (try? stores()) == [] })
        }
    }
}
