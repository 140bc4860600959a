import Bus
import Foundation
import TestSupport
import Testing
import Workouts

/// Three devices in one session: a watch, a strap that stops half-way, and a phone. The phone's clock is ten minutes
/// wrong, and its second half arrives a day after the workout's end.
@Suite(.serialized)
struct SeveralDevicesTests {
    private static let start = 1_700_000_000
    private static let recordings: [String: [UInt8]] = [
        "watch-1": FITFixture.workout(start: start, duration: 1_800, pauses: [600...700]),
        "strap-1": FITFixture.workout(start: start, duration: 900, pauses: []),
        "phone-1": FITFixture.workout(start: start + 600, duration: 1_700, pauses: []),
    ]
    private static let items = ["watch-1": 601 + 1_101, "strap-1": 901, "phone-1": 1_701]

    /// Writes the recordings before any device reads one.
    private func install() async throws -> Installation {
        let installation = try await Installation()
        for (device, bytes) in Self.recordings {
            try Data(bytes).write(to: URL(filePath: installation.folder.file("\(device).fit")))
        }
        return installation
    }

    private func play(
        _ device: String, _ installation: Installation, _ key: SessionKey, port: UInt16? = nil, speedUp: Double = 0
    ) throws -> ChildProcess {
        try installation.replay(
            installation.folder.file("\(device).fit"), key, device: device, port: port, speedUp: speedUp,
            joins: device != "watch-1")
    }

    /// Plays the devices one after the other, without faults.
    private func calm(_ key: SessionKey) async throws -> Results {
        let installation = try await install()
        return try await BusObserver.run(port: installation.broker.port) { observer in
            for device in ["watch-1", "strap-1", "phone-1"] {
                #expect(try await play(device, installation, key).finish() == 0, "\(installation.deviceLog)")
            }
            return try await Results(key, items: Self.items, from: observer)
        }
    }

    @Test(
        .enabled(if: Tier.isNightly, "takes long, without NIGHTLY=1"), .timeLimit(.minutes(60)))
    func `three devices, faults and a half that is a day late give the same bytes`() async throws {
        var random = SeededRandom()
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let expected = try await calm(key)

        let installation = try await install()
        let link = try FaultyLink(to: installation.broker.port, random: SeededRandom(seed: random.next()))
        defer { link.close() }
        let late = Topic.session(key, .samplesAck(try #require(Device("phone-1")))).name
        let actual = try await BusObserver.run(port: installation.broker.port) { observer in
            let watch = try play("watch-1", installation, key, port: link.port, speedUp: 150)
            let strap = try play("strap-1", installation, key, port: link.port, speedUp: 150)
            let phone = try play("phone-1", installation, key, port: link.port, speedUp: 150)
            _ = await eventually(within: .seconds(10)) { observer.count(late) >= 10 }
            phone.end(SIGKILL)
            try await installation.killEverything(while: link, within: 12, &random)
            #expect(await watch.finish() == 0, "\(installation.deviceLog)")
            #expect(await strap.finish() == 0, "\(installation.deviceLog)")

            installation.killServices()
            try await LaterServices.run(after: 86_400, of: installation) {
                let again = try play("phone-1", installation, key, port: link.port)
                #expect(await again.finish() == 0, "\(installation.deviceLog)")
            }
            return try await Results(key, items: Self.items, from: observer)
        }
        #expect(actual.comparable == expected.comparable, "seed \(random.seed)")
        #expect(actual.workout.activeDuration == 1_700)
    }
}
