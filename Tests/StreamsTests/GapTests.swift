import Bus
import Client
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator

/// metrics-aggregator and the sending side of a stream.
@Suite struct GapTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_100))
    private let script = Script()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func sample(_ number: Int) -> Sample {
        Sample(time: Timestamp(seconds: 1_700_000_000 + Double(number)))
    }

    @Test func `a device sends again at the first answer to a gap`() async throws {
        var aggregator = try await Aggregator(folder, clock: clock)
        try await aggregator.deliver([script.stateMessage])
        var device = ItemSender(items: [sample(0), sample(1)])
        device.connected()
        var batches = device.take(clock.moment)
        for number in 2..<5 {
            device.append([sample(number)])
            batches += device.take(clock.moment)
        }
        #expect(batches.map(\.first) == [0, 2, 3, 4])
        var again: [Int] = []
        // The fourth item is lost.
        for batch in [batches[0], batches[1], batches[3]] {
            let message = script.batch("watch-1", batch.first, batch.items, asksAck: batch.asksAck)
            for ack in try await aggregator.deliver([message]).acks(script.key, "watch-1") {
                _ = device.receive(ack, clock.moment)
                again += device.take(clock.moment).map(\.first)
            }
        }
        #expect(again == [3])
    }
}
