import TestSupport
import Testing

@testable import Workouts

@Suite struct RouteDistanceTests {
    @Test(arguments: [(0.0, 0.0), (3, 0), (5, 0), (10, 0), (3, 0.9), (5, 0.95), (5, 0.99)])
    func `a noisy run keeps its distance`(noise: Double, memory: Double) {
        var random = SeededRandom()
        for tellsAccuracy in [true, false] {
            var locations = random.way(seconds: 3_000, speed: 3, noise: noise, memory: memory)
            // Noise with memory looks like motion unless its accuracy is known.
            if !tellsAccuracy, memory > 0 { continue }
            if !tellsAccuracy { for index in locations.indices { locations[index][.horizontalAccuracy] = nil } }
            let distance = counted(["watch": locations], [segment(0, 3_000)]).totals.distance
            #expect(abs(distance / (2_999 * 3) - 1) <= 0.02)
        }
    }

    @Test(arguments: [(3.0, 0.0), (5, 0), (10, 0), (3, 0.9), (3, 0.99), (5, 0.99)])
    func `noise at rest does not add up`(noise: Double, memory: Double) {
        var random = SeededRandom()
        let locations = random.way(seconds: 3_600, speed: 0, noise: noise, memory: memory)
        let distance = counted(["watch": locations], [segment(0, 3_600)]).totals.distance
        #expect(distance < 150)
    }
}
