import Testing

@testable import Workouts

@Suite struct CountedSourceTests {
    private func rates(_ seconds: Range<Int>) -> [Sample] { seconds.map { sample(Double($0), [.heartRate: 120]) } }

    private func sources(_ streams: [String: [Sample]], _ segments: [Segment]) -> [CountedSource]? {
        summary(streams, segments).sources
    }

    private func source(_ quantity: String, _ device: String, _ from: Double, _ to: Double) -> CountedSource {
        CountedSource(quantity: quantity, device: Device(device)!, from: from, to: to)
    }

    @Test func `the watch follows a strap that stops`() {
        let found = sources(["strap-1f": rates(0..<1_931), "watch-3f9a": rates(0..<2_500)], [segment(0, 2_500)])
        #expect(
            found == [
                source("heart_rate", "strap-1f", 0, 1_930), source("heart_rate", "watch-3f9a", 1_931, 2_499),
            ])
    }

    @Test func `seconds are active ones`() {
        let found = sources(["watch": rates(10..<200)], [segment(0, 50), segment(100, 180)])
        #expect(found == [source("heart_rate", "watch", 10, 130)])
    }

    @Test func `each quantity has its own sources, the battery has none`() {
        let watch = (0..<60).map { sample(Double($0), [.heartRate: 120, .distance: 3, .battery: 0.5]) }
        let phone = (0..<60).map { sample(Double($0), [.distance: 3, .barometricAltitude: 500, .poolLengths: 0]) }
        #expect(
            sources(["watch-1": watch, "phone-1": phone], [segment(0, 60)]) == [
                source("heart_rate", "watch-1", 0, 59), source("distance", "watch-1", 0, 59),
                source("barometric_altitude", "phone-1", 0, 59), source("pool_lengths", "phone-1", 0, 59),
            ])
    }

    @Test func `items that do not count have no source`() {
        #expect(sources(["watch": rates(60..<90) + [Sample()]], [segment(0, 50)]) == nil)
        #expect(sources([:], [segment(0, 50)]) == nil)
        #expect(sources(["watch": rates(5..<6)], [segment(0, 50)]) == [source("heart_rate", "watch", 5, 5)])
    }

    @Test func `beyond the limit the longest stretches remain, in order`() throws {
        // Turns of 20 s, and a long one at the end.
        let strap = (0..<40).flatMap { rates($0 * 40..<$0 * 40 + 20) }
        let found = try #require(
            sources(["strap-1": strap, "watch-1": rates(0..<3_000)], [segment(0, 3_000)]))
        #expect(found.count == CountedSource.limit)
        #expect(found.last == source("heart_rate", "watch-1", 1_580, 2_999))
        #expect(found.map(\.from) == found.map(\.from).sorted())
        // Of equal ones the first.
        #expect(found.prefix(49).map(\.from) == (0..<49).map { Double($0 * 20) })
    }
}
