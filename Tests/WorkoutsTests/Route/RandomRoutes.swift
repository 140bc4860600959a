import Foundation
import TestSupport

@testable import Workouts

extension Location {
    /// Moves the coordinate by this many metres in a direction, degrees clockwise from north.
    mutating func displace(by meters: Double, towards degrees: Double) {
        guard let latitude, let longitude else { return }
        let radians = Double.pi / 180
        let (arc, from) = (meters / Coordinate.earthRadius, latitude * radians)
        let to = asin(sin(from) * cos(arc) + cos(from) * sin(arc) * cos(degrees * radians))
        let turn = atan2(sin(degrees * radians) * sin(arc) * cos(from), cos(arc) - sin(from) * sin(to))
        self[.latitude] = to / radians
        self[.longitude] = longitudeDifference(0, longitude + turn / radians)
    }
}

extension SeededRandom {
    /// Normally distributed around 0.
    mutating func normal(_ deviation: Double) -> Double {
        let radius = (-2 * log(Double.random(in: 1e-12...1, using: &self))).squareRoot()
        return deviation * radius * cos(2 * .pi * Double.random(in: 0..<1, using: &self))
    }

    /// One fix a second of a path around corners at a steady speed.
    ///
    /// - Parameters:
    ///   - noise: metres along each axis; also the accuracy.
    ///   - memory: the fraction of a fix's noise that remains in the next.
    mutating func way(
        seconds: Int, speed: Double, from start: Timestamp = year2026, noise: Double = 0, memory: Double = 0,
        latitude: Double = 47, longitude: Double = 8
    ) -> [Location] {
        var place = Location(time: start, latitude: latitude, longitude: longitude)
        var heading = Double.random(in: 0..<360, using: &self)
        var error = (normal(noise), normal(noise))
        let fresh = noise * (1 - memory * memory).squareRoot()
        return (0..<seconds).map { second in
            if second > 0 {
                if second % 80 == 0 { heading += [90, -90, 45, -45].randomElement(using: &self)! }
                heading += normal(1)
                place.displace(by: speed, towards: heading)
            }
            error = (memory * error.0 + normal(fresh), memory * error.1 + normal(fresh))
            var location = place
            location.time = start + Double(second)
            location.displace(by: error.0, towards: 0)
            location.displace(by: error.1, towards: 90)
            if noise > 0 { location[.horizontalAccuracy] = noise * 1.5 }
            return location
        }
    }
}

extension CountedLocations {
    /// The route as the samples' summary takes it.
    var input: RouteInput { RouteInput(track: Track(self), totals: summary()) }
}

func counted(
    _ streams: [String: [Location]], _ segments: [Segment], _ activity: Activity = .running,
    _ environment: Environment = .outdoor
) -> CountedLocations {
    CountedLocations(
        streams: Dictionary(uniqueKeysWithValues: streams.map { (Device($0.key)!, $0.value) }), segments: segments,
        activity: activity, environment: environment)
}
