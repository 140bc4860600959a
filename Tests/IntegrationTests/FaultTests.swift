import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// A recording played with all kinds of faults gives the same bytes as without faults.
@Suite(.serialized)
struct FaultTests {
    /// An hour of running with two pauses.
    private static let recording = FITFixture.workout(
        start: 1_700_000_000, duration: 3_600, pauses: [600...900, 2_000...2_100])
    /// A record each second, both ends of each segment included.
    private static let items = 601 + 1_101 + 1_501

    private func recordingFile(_ folder: TemporaryFolder) throws -> String {
        let path = folder.file("recording.fit")
        try Data(Self.recording).write(to: URL(filePath: path))
        return path
    }

    private func key() throws -> SessionKey {
        SessionKey(try #require(User("demo")), SessionID(UUID()))
    }

    /// The results of the recording without faults.
    private func undisturbed(_ key: SessionKey) async throws -> Results {
        let installation = try await Installation()
        return try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(try recordingFile(installation.folder), key)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            return try await Results(key, device: "watch-1", items: Self.items, from: observer)
        }
    }

    @Test(
        .enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"), .timeLimit(.minutes(60)))
    func `lost, repeated and reordered batches and killed services and brokers change no result`() async throws {
        var random = SeededRandom()
        let key = try key()
        let expected = try await undisturbed(key)

        let installation = try await Installation()
        let link = try FaultyLink(to: installation.broker.port, random: SeededRandom(seed: random.next()))
        defer { link.close() }
        let actual = try await BusObserver.run(port: installation.broker.port) { observer in
            let device = try installation.replay(
                try recordingFile(installation.folder), key, port: link.port, speedUp: 200)
            try await installation.killEverything(while: link, within: 15, &random)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            return try await Results(key, device: "watch-1", items: Self.items, from: observer)
        }
        #expect(actual.comparable == expected.comparable, "seed \(random.seed)")
        #expect(actual.summary.next.values.reduce(0, +) == Self.items)
        #expect(actual.route?.next.values.reduce(0, +) == Self.items)
    }

    @Test(.timeLimit(.minutes(60)))
    func `a killed and restarted device continues from its queue file to the same result`() async throws {
        var random = SeededRandom()
        let key = try key()
        let expected = try await undisturbed(key)

        let installation = try await Installation()
        let file = try recordingFile(installation.folder)
        let ack = Topic.session(key, .samplesAck(try #require(Device("watch-1")))).name
        let actual = try await BusObserver.run(port: installation.broker.port) { observer in
            for _ in 0..<5 {
                let device = try installation.replay(file, key, speedUp: 400)
                // The whole recording has about 13 acknowledgements.
                let moment = observer.count(ack) + Int.random(in: 1...2, using: &random)
                _ = await eventually(within: .seconds(10)) { observer.count(ack) >= moment }
                device.end(SIGKILL)
            }
            let device = try installation.replay(file, key)
            #expect(await device.finish() == 0, "\(installation.deviceLog)")
            return try await Results(key, device: "watch-1", items: Self.items, from: observer)
        }
        #expect(actual.comparable == expected.comparable, "seed \(random.seed)")
    }
}
