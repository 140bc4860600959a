import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Services on a real disk that is full for a while. Two of them keep 64 MiB in reserve.
struct SystemFullDiskTests {
    @Test(.timeLimit(.minutes(60)))
    func `while the disk is full nothing is acknowledged, and later everything is stored`() async throws {
        let folder = try TemporaryFolder()
        guard let disk = SmallDisk(folder, megabytes: 160) else {
            print("services on a full disk: skipped, mounting a small disk needs root")
            return
        }
        defer { disk.unmount() }
        let installation = try await Installation(stores: disk.path)
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let device = try #require(Device("watch-1"))
        let start = 1_700_000_000.0
        let items = (0..<1_000).map { second in
            var sample = Sample(time: Timestamp(seconds: start + Double(second)))
            sample[.distance] = 3
            return sample
        }
        let batch = Topic.session(key, .samples(device)).message(
            SampleBatch(first: 0, items: items, asksAck: true).payload)
        let acks = Topic.session(key, .samplesAck(device)).name
        try await BusObserver.run(port: installation.broker.port) { observer in
            let client = CommandClient(key: key, observer: observer)
            let begun = try await client.perform(
                .start(SessionStart(activity: .running, countdown: 0)), at: start)
            try #require(begun.ok)
            // The aggregator has received the session.
            _ = try await observer.wait(for: Topic.session(key, .metrics).name)

            try disk.fill()
            let pause = Command(
                id: CommandID(UUID()), client: Client("tester"), at: Timestamp(seconds: start + 999),
                action: .pause)
            await #expect(throws: BusObserver.Unseen.self) { try await client.perform(pause, attempts: 3) }
            await observer.publish(batch)
            let warning = try await observer.wait(for: Topic.session(key, .announcements).name)
            #expect(try JSONCoding.decode(Announcement.self, from: warning).kind == .warning)
            #expect(observer.latest(acks) == nil)

            try disk.makeRoom()
            #expect(try await client.perform(pause).ok)
            let ack = await eventually {
                await observer.publish(batch)
                return observer.latest(acks) != nil
            }
            #expect(ack)
            let ended = try await client.perform(.end(streams: [StreamName(.samples, device): 1_000]), at: start + 999)
            #expect(ended.ok)
            let results = try await Results(key, device: "watch-1", items: 1_000, from: observer)
            #expect(results.workout.distance == 3_000)
            #expect(results.workout.activeDuration == 999)
        }
    }
}
