import Bus
import Foundation
import MQTT
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

/// Rule 3: any order, duplication, batching and crash gives the same bytes.
struct StreamOrderTests {
    private static let start = 1_700_000_000.0

    /// A session of up to three devices with pauses and gaps.
    private struct Workout {
        let script: Script
        let streams: [String: [Sample]]
        let segments: [Segment]

        init(_ random: inout SeededRandom) {
            script = Script(start: StreamOrderTests.start)
            let length = Int.random(in: 60...300, using: &random)
            var bounds = (0..<2 * Int.random(in: 1...3, using: &random)).map { _ in
                Int.random(in: 0...length, using: &random)
            }
            bounds.sort()
            segments = stride(from: 0, to: bounds.count, by: 2).map { index in
                Segment(
                    start: Timestamp(seconds: StreamOrderTests.start + Double(bounds[index])),
                    end: Timestamp(seconds: StreamOrderTests.start + Double(bounds[index + 1])))
            }
            var streams: [String: [Sample]] = [:]
            for device in ["watch-1", "strap-1", "phone-1"].prefix(Int.random(in: 1...3, using: &random)) {
                let silence = Int.random(in: 0...length, using: &random)..<length + 1
                streams[device] = (0...length).filter { !silence.contains($0) || $0 % 40 < 10 }.map { second in
                    var sample = Sample(
                        time: Timestamp(
                            seconds: StreamOrderTests.start + Double(second) + Double.random(in: 0..<1, using: &random))
                    )
                    for quantity in [Quantity.heartRate, .distance, .activeEnergy, .speed, .steps] {
                        guard Int.random(in: 0..<4, using: &random) > 0 else { continue }
                        sample[quantity] = Double.random(in: quantity.range, using: &random).rounded()
                    }
                    return sample
                }
            }
            self.streams = streams
        }

        /// Each stream in batches of random sizes.
        func batches(_ random: inout SeededRandom) -> [(device: String, range: Range<Int>)] {
            streams.keys.sorted().flatMap { device -> [(device: String, range: Range<Int>)] in
                var cuts: [(device: String, range: Range<Int>)] = []
                var first = 0
                while first < streams[device]!.count {
                    let end = min(streams[device]!.count, first + Int.random(in: 1...60, using: &random))
                    cuts.append((device, first..<end))
                    first = end
                }
                return cuts
            }
        }

        func message(_ device: String, _ range: Range<Int>) -> MQTTMessage {
            script.batch(device, range.lowerBound, Array(streams[device]![range]))
        }
    }

    /// Everything in order, once.
    private func calm(_ workout: Workout, _ random: inout SeededRandom) async throws -> [String] {
        let folder = try TemporaryFolder()
        let clock = ManualClock(now: Timestamp(seconds: Self.start + 1_000))
        var aggregator = try await Aggregator(folder, clock: clock)
        var script = workout.script
        try await aggregator.deliver([script.stateMessage])
        for (device, range) in workout.batches(&random) {
            try await aggregator.deliver([workout.message(device, range)])
        }
        try await aggregator.deliver([script.change(.saving, workout.segments)])
        return try comparable(try await aggregator.tick(), workout)
    }

    /// Sends the batches of every stream in any order, with losses, repetitions and the session's end in between. Kills
    /// the process now and then, before or after a commit. Sends unacknowledged items again.
    private func stormy(_ workout: Workout, _ random: inout SeededRandom) async throws -> [String] {
        let folder = try TemporaryFolder()
        let clock = ManualClock(now: Timestamp(seconds: Self.start + 1_000))
        var aggregator: Aggregator? = try await Aggregator(folder, clock: clock)
        var script = workout.script
        var latest = [script.stateMessage]
        var next = workout.streams.mapValues { _ in 0 }
        var isEnded = false
        var sent: [MQTTMessage] = []
        while !isEnded || next.contains(where: { $0.value < workout.streams[$0.key]!.count }) {
            var messages: [MQTTMessage] = []
            if !isEnded, Int.random(in: 0..<6, using: &random) == 0 {
                // A pause without effect on the result, or the end.
                isEnded = Bool.random(using: &random)
                let segments = isEnded ? workout.segments : [Segment(start: Timestamp(seconds: Self.start), end: nil)]
                latest = [script.change(isEnded ? .saving : .active, segments)]
                messages += latest
            }
            for (device, count) in next.sorted(by: { $0.key < $1.key }) {
                let first = max(0, count - Int.random(in: 0...20, using: &random))
                let ahead = Int.random(in: 0..<5, using: &random) == 0 ? Int.random(in: 1...30, using: &random) : 0
                let from = min(first + ahead, workout.streams[device]!.count)
                let end = min(workout.streams[device]!.count, from + Int.random(in: 1...60, using: &random))
                guard from < end, Int.random(in: 0..<4, using: &random) > 0 else { continue }
                messages += [workout.message(device, from..<end), workout.message(device, from..<end)]
            }
            messages.shuffle(using: &random)
            let death = Int.random(in: 0..<8, using: &random)
            if death == 0 { aggregator?.store.refuse(true) }
            if death == 1 { aggregator?.bus.limit(to: Int.random(in: 0...3, using: &random)) }
            clock.advance(by: .milliseconds(300))
            let answers = try await aggregator?.deliver(messages) ?? []
            for device in next.keys {
                for case .next(let number) in try answers.acks(script.key, device) {
                    #expect(number >= next[device]!, "an acknowledgement decreased")
                    next[device] = number
                }
            }
            sent += answers
            sent += try await aggregator?.tick() ?? []
            if death <= 2 {
                aggregator = nil
                aggregator = try await Aggregator(folder, clock: clock)
                sent += try await aggregator?.deliver(latest) ?? []
            }
        }
        clock.advance(by: .seconds(10))
        sent += try await aggregator?.deliver(latest) ?? []
        sent += try await aggregator?.tick() ?? []
        clock.advance(by: .seconds(5))
        sent += try await aggregator?.deliver([script.chunkRequest]) ?? []
        sent += try await aggregator?.tick() ?? []
        return try comparable(sent, workout)
    }

    /// The last summary and its chunks without revisions.
    private func comparable(_ sent: [MQTTMessage], _ workout: Workout) throws -> [String] {
        let key = workout.script.key
        let payload = try #require(sent.payloads(.session(key, .summaryMetrics)).last)
        let report = try JSONCoding.decode(MetricsReport.self, from: payload)
        let chunks = (0..<report.chunks).compactMap { sent.payloads(.session(key, .series($0))).last }
        return ([payload] + chunks).map { payload in
            let text = String(decoding: payload, as: UTF8.self)
            #expect(text.contains("\"revision\":\(report.revision)"))
            return text.replacing("\"revision\":\(report.revision)", with: "").replacing(
                "\"state\":\(report.state)", with: "")
        }
    }

    @Test func `any order, duplication, batching and crash gives the same summary and series`() async throws {
        var random = SeededRandom()
        for round in 0..<Tier.runs(8, nightly: 20) {
            let workout = Workout(&random)
            let expected = try await calm(workout, &random)
            let actual = try await stormy(workout, &random)
            #expect(actual == expected, "seed \(random.seed), round \(round)")
        }
    }
}
