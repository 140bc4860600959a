import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

/// A data folder that is removed while services run.
struct VanishedDataTests {
    @Test(.timeLimit(.minutes(60)))
    func `after the data folder was removed, no item is acknowledged, and the services end with the reason`()
        async throws
    {
        let folder = try TemporaryFolder()
        let data = folder.file("data")
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        let installation = try await Installation(stores: data, services: [.engine, .aggregator])
        let key = SessionKey(try #require(User("demo")), SessionID(UUID()))
        let device = try #require(Device("watch-1"))
        let start = 1_700_000_000.0
        func batch(_ first: Int, _ count: Int) -> [MQTTMessage] {
            (first..<first + count).map { second in
                var sample = Sample(time: Timestamp(seconds: start + Double(second)))
                sample[.distance] = 3
                return Topic.session(key, .samples(device)).message(
                    SampleBatch(first: second, items: [sample], asksAck: true).payload)
            }
        }
        let acks = Topic.session(key, .samplesAck(device)).name
        try await BusObserver.run(port: installation.broker.port) { observer in
            let client = CommandClient(key: key, observer: observer)
            #expect(try await client.perform(.start(SessionStart(activity: .running, countdown: 0)), at: start).ok)
            _ = try await observer.wait(for: Topic.session(key, .metrics).name)
            for message in batch(0, 3) { await observer.publish(message) }
            _ = try await observer.wait(for: acks) { String(decoding: $0, as: UTF8.self).contains("\"n\":3") }
            let before = observer.count(acks)

            try FileManager.default.removeItem(atPath: data)
            // What was acknowledged before comes again with what was not.
            for message in batch(0, 15) { await observer.publish(message) }
            for service in [Installation.Service.engine, .aggregator] {
                let reason = "Error: \(data)/\(service.rawValue).sqlite was removed or replaced while the service ran"
                let hasEnded = await eventually(within: .seconds(20)) {
                    (try? String(contentsOfFile: installation.log(service), encoding: .utf8).contains(reason)) == true
                }
                #expect(hasEnded, "\(service)")
            }
            #expect(observer.count(acks) == before)
        }
    }
}
