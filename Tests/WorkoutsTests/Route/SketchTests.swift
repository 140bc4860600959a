import Foundation
import TestSupport
import Testing

@testable import Workouts

/// The route as a polyline of a few points.
@Suite struct SketchTests {
    private func points(_ coordinates: [(Double, Double)]) -> [PolylinePoint] {
        var points: [PolylinePoint] = []
        for (latitude, longitude) in coordinates {
            points.append(
                PolylinePoint(Coordinate(latitude: latitude, longitude: longitude), after: points.last))
        }
        return points
    }

    private func summary(_ lines: [[(Double, Double)]]) -> RouteSummary {
        var summary = RouteSummary()
        summary.polyline = lines.map { points($0).encoded }
        return summary
    }

    @Test func `an encoded polyline is read back`() {
        // Google's example.
        let line = points([(38.5, -120.2), (40.7, -120.95), (43.252, -126.453)])
        #expect(line.encoded == "_p~iF~ps|U_ulLnnqC_mqNvxq`@")
        #expect([PolylinePoint](encoded: line.encoded) == line)
        var random = SeededRandom()
        for _ in 0..<100 {
            let line = points(
                (0..<Int.random(in: 0...20, using: &random)).map { _ in
                    (.random(in: -90...90, using: &random), .random(in: -180...180, using: &random))
                })
            #expect([PolylinePoint](encoded: line.encoded) == line, "seed \(random.seed)")
        }
    }

    @Test(arguments: ["", "_", "\u{7f}", "_p~iF ", "~~~~~~~~~~~~~~~~~~~~~~~~", "ä", "_p~iF~ps|U~~~~~~~~~~?~~~~~~~~~~?"])
    func `a damaged polyline ends early`(text: String) {
        #expect([PolylinePoint](encoded: text).count <= 1)
    }

    @Test func `a long route has 48 points, and its ends and corners are among them`() throws {
        // A spiral around a point.
        let line = (0...2_000).map { index in
            let (angle, radius) = (Double(index) / 60, Double(index) * 1e-5)
            return (47 + radius * sin(angle), 8 + radius * cos(angle))
        }
        let sketch = [PolylinePoint](encoded: try #require(summary([line]).sketch))
        let all = points(line)
        #expect(sketch.count == RouteSummary.sketchLimit)
        #expect(sketch.first == all.first && sketch.last == all.last)
        #expect(Set(sketch).isSubset(of: all))
        for point in all {
            let distances = zip(sketch, sketch.dropFirst()).map {
                point.squaredDistance(from: $0, to: $1, shrinkage: point.shrinkage)
            }
            #expect((distances.min() ?? .infinity).squareRoot() < 120)
        }
    }

    @Test func `lines are joined in order`() throws {
        let route = summary([[(47, 8), (47.1, 8)], [(47.2, 8.1), (47.2, 8.2)]])
        #expect(
            [PolylinePoint](encoded: try #require(route.sketch))
                == points([(47, 8), (47.1, 8), (47.2, 8.1), (47.2, 8.2)]))
    }

    @Test func `lines beyond the antimeridian are joined without a turn around the earth`() throws {
        let route = summary([[(-17, 179.9), (-17, 180)], [(-17, -179.95), (-17.1, -179.9)]])
        #expect(
            [PolylinePoint](encoded: try #require(route.sketch)).map(\.longitude)
                == [17_990_000, 18_000_000, 18_005_000, 18_010_000])
    }

    @Test func `without a line there is no sketch`() {
        #expect(summary([]).sketch == nil)
        #expect(summary([[(47, 8)]]).sketch == nil)
    }

    @Test func `a straight line has two points`() throws {
        let line = (0...100).map { (47.0, 8 + Double($0) / 1_000) }
        #expect([PolylinePoint](encoded: try #require(summary([line]).sketch)) == points([line[0], line[100]]))
    }
}
