import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct RouteSketchTests {
    /// Metres from a position to the nearest line, on the plane around the position.
    private func distance(_ place: Coordinate, _ lines: [[Coordinate]]) -> Double {
        func flat(_ other: Coordinate) -> (Double, Double) {
            let east = longitudeDifference(place.longitude, longitudeDifference(0, other.longitude))
            return (
                (other.latitude - place.latitude) * Coordinate.degree,
                east * Coordinate.degree * cos(place.latitude * .pi / 180)
            )
        }
        var nearest = Double.infinity
        for line in lines {
            for (start, end) in zip(line.prefix(1) + line, line) {
                let (a, b) = (flat(start), flat(end))
                let (north, east) = (b.0 - a.0, b.1 - a.1)
                let squared = north * north + east * east
                let share = squared == 0 ? 0 : min(max(-(a.0 * north + a.1 * east) / squared, 0), 1)
                nearest = min(nearest, hypot(a.0 + share * north, a.1 + share * east))
            }
        }
        return nearest
    }

    private func size(_ polyline: [String]) throws -> Int { try JSONEncoder().encode(polyline).count }

    @Test func `a polyline is encoded as in Google's example`() {
        let points = [(38.5, -120.2), (40.7, -120.95), (43.252, -126.453)].map {
            PolylinePoint(Coordinate(latitude: $0.0, longitude: $0.1))
        }
        #expect(points.encoded == "_p~iF~ps|U_ulLnnqC_mqNvxq`@")
    }

    @Test func `every position stays within the tolerance of the growing lines`() throws {
        var random = SeededRandom()
        for limit in [200, 600, 3_500, RouteSummary.polylineLimit] {
            var sketch = RouteSketch(sizeLimit: limit)
            var places: [Coordinate] = []
            for part in 0..<12 {
                let way = random.way(
                    seconds: .random(in: 1...1_500, using: &random), speed: .random(in: 0...30, using: &random),
                    noise: .random(in: 0...10, using: &random), memory: 0.9,
                    latitude: 60 + Double(part) / 100, longitude: 179.9)
                for (index, location) in way.enumerated() {
                    let place = Coordinate(latitude: location.latitude!, longitude: location.longitude!)
                    sketch.add(place, startsLine: index == 0)
                    places.append(place)
                }
                let polyline = sketch.polyline
                #expect(try size(polyline) <= limit)
                let lines = polyline.map(decodedPolyline)
                // A snapshot may be one step coarser than the growing sketch.
                let tolerance = sketch.finished.tolerance
                #expect(tolerance == 5 || limit < RouteSummary.polylineLimit)
                for _ in 0..<500 {
                    let place = places.randomElement(using: &random)!
                    #expect(distance(place, lines) <= tolerance)
                }
            }
        }
    }

    @Test func `a day with a pause every minute stays within the size`() throws {
        var random = SeededRandom()
        var sketch = RouteSketch(sizeLimit: LiveRoute.polylineLimit)
        var place = Location(time: year2026, latitude: 47, longitude: 8)
        var largest = 0
        for minute in 0..<1_440 {
            place.displace(by: 60, towards: .random(in: 0..<360, using: &random))
            for second in 0..<50 {
                place.displace(by: 3, towards: 10)
                sketch.add(
                    Coordinate(latitude: place.latitude!, longitude: place.longitude!), startsLine: second == 0)
            }
            if minute % 20 == 0 { largest = max(largest, try size(sketch.polyline)) }
        }
        #expect(largest <= LiveRoute.polylineLimit)
        #expect(largest > LiveRoute.polylineLimit / 3)
    }

    @Test func `separate parts have no line between them`() {
        var random = SeededRandom()
        for limit in [300, 3_500] {
            var sketch = RouteSketch(sizeLimit: limit)
            for part in 0..<20 {
                // Each part is 20 km north of the previous one.
                for (index, location) in random.way(seconds: 600, speed: 3, latitude: 40 + Double(part) / 5)
                    .enumerated()
                {
                    sketch.add(
                        Coordinate(latitude: location.latitude!, longitude: location.longitude!),
                        startsLine: index == 0)
                }
                for line in sketch.polyline.map(decodedPolyline) {
                    let latitudes = line.map(\.latitude)
                    #expect(latitudes.max()! - latitudes.min()! < 0.05)
                }
            }
        }
    }
}
