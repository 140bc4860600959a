import Formats
import Testing
import Workouts

@testable import Client

@Suite struct SimulatedRouteTests {
    private let start = Timestamp(seconds: 1_700_000_000)

    private func run(seed: UInt64, duration: Int) -> (samples: [Sample], locations: [Location]) {
        var run = SimulatedRun(seed: seed, start: start, duration: duration)
        var (samples, locations): ([Sample], [Location]) = ([], [])
        while let step = run.next() {
            switch step.kind {
            case .sample(let sample): samples.append(sample)
            case .location(let location): locations.append(location)
            case .command: break
            }
        }
        return (samples, locations)
    }

    private func coordinate(_ location: Location) -> Coordinate {
        Coordinate(latitude: location.latitude ?? .nan, longitude: location.longitude ?? .nan)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `the route's length is the run's distance`(seed: UInt64) throws {
        let (samples, locations) = run(seed: seed, duration: 3_600)
        #expect(locations.map(\.time) == samples.map(\.time))
        // Every ten seconds, so that errors do not add up.
        let points = stride(from: 0, to: locations.count, by: 10).map { coordinate(locations[$0]) }
        let way = zip(points, points.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1) }
        let distance = samples.compactMap { $0[.distance] }.reduce(0, +)
        #expect(abs(way - distance) < distance / 20, "\(way) of \(distance)")
    }

    @Test func `the route stays in the park and returns to its start`() {
        let (_, locations) = run(seed: 5, duration: 7_200)
        let place = Coordinate(latitude: SimulatedRoute.start.la, longitude: SimulatedRoute.start.lo)
        #expect(place.distance(to: coordinate(locations[0])) < 5)
        #expect(locations.allSatisfy { place.distance(to: coordinate($0)) < 1_000 })
        #expect(locations.dropFirst(600).contains { place.distance(to: coordinate($0)) < 5 })
        for field in LocationField.allCases {
            #expect(
                locations.compactMap { $0[field] }.filter(field.range.contains).count == locations.count, "\(field)")
        }
        let heights = locations.compactMap(\.altitude)
        #expect(heights.max()! - heights.min()! > 10)
    }

    @Test func `the course points along the route`() {
        let (_, locations) = run(seed: 5, duration: 1_200)
        let east = locations.dropFirst(20).filter { (60...120).contains($0.course ?? 0) }
        #expect(!east.isEmpty)
        for location in east {
            guard let index = locations.firstIndex(of: location), index + 10 < locations.count else { continue }
            #expect(locations[index + 10].longitude! > location.longitude!)
        }
    }

    @Test func `the start carries its place`() {
        var run = SimulatedRun(seed: 1, start: start, duration: 1)
        guard case .command(.start(let session))? = run.next()?.kind else {
            Issue.record("no start")
            return
        }
        #expect(session.place == SimulatedRoute.start)
    }
}
