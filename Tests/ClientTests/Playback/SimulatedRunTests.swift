import Bus
import Formats
import Testing
import Workouts

@testable import Client

@Suite struct SimulatedRunTests {
    private let start = Timestamp(seconds: 1_700_000_000)

    private func steps(seed: UInt64, duration: Int) -> [Step] {
        var run = SimulatedRun(seed: seed, start: start, duration: duration)
        var steps: [Step] = []
        while let step = run.next() { steps.append(step) }
        return steps
    }

    @Test func `the same seed gives the same run and another seed another`() {
        #expect(steps(seed: 7, duration: 300) == steps(seed: 7, duration: 300))
        #expect(steps(seed: 7, duration: 300) != steps(seed: 8, duration: 300))
    }

    @Test func `a run begins with a countdown, measures every second and ends`() {
        let steps = steps(seed: 1, duration: 60)
        #expect(steps.count == 2 + 2 * 61)
        #expect(steps.first?.at == start)
        #expect(steps.last?.kind == .command(.end(streams: [:])))
        let items = steps.dropFirst().dropLast()
        // A sample and a location.
        let times = (0...60).flatMap { second in [Timestamp](repeating: start + 3 + Double(second), count: 2) }
        #expect(items.map(\.at) == times)
        #expect(steps.last?.at == items.last?.at)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `an hour's run is plausible and within the ranges of items`(seed: UInt64) {
        let samples = steps(seed: seed, duration: 3_600).compactMap { step -> Sample? in
            if case .sample(let sample) = step.kind { sample } else { nil }
        }
        for quantity in Quantity.allCases where quantity.isNamed && ![.power, .temperature].contains(quantity) {
            let values = samples.compactMap { $0[quantity] }
            #expect(!values.isEmpty)
            #expect(values.allSatisfy(quantity.range.contains))
        }
        func sum(_ quantity: Quantity) -> Double { samples.compactMap { $0[quantity] }.reduce(0, +) }
        #expect((9_000...12_000).contains(sum(.distance)))
        #expect((500...1_000).contains(sum(.activeEnergy)))
        #expect((9_000...11_000).contains(sum(.steps)))
        #expect(samples.compactMap { $0[.heartRate] }.allSatisfy { (85...185).contains($0) })
    }

    @Test func `a batch of a run survives a round trip over the bus`() throws {
        let samples = steps(seed: 3, duration: 100).compactMap { step -> Sample? in
            if case .sample(let sample) = step.kind { sample } else { nil }
        }
        let batch = SampleBatch(first: 0, items: samples)
        let read = try SampleBatch(batch.payload[...], accepting: AcceptedTimes(now: start))
        #expect(read == batch)
    }

    @Test(arguments: [0.5, 4.0])
    func `another rate gives the same run`(rate: Double) {
        func total(_ rate: Double) -> (items: Int, distance: Double, last: Timestamp?) {
            var run = SimulatedRun(seed: 1, start: start, duration: 3_600, rate: rate)
            var samples: [Sample] = []
            while let step = run.next() {
                if case .sample(let sample) = step.kind { samples.append(sample) }
            }
            return (samples.count, samples.compactMap { $0[.distance] }.reduce(0, +), samples.last?.time)
        }
        let (reference, other) = (total(1), total(rate))
        #expect(other.items == Int(3_600 * rate) + 1)
        #expect(other.last == reference.last)
        #expect(abs(other.distance - reference.distance) < reference.distance / 10)
    }
}
