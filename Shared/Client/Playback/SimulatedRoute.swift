import Foundation
package import Workouts

/// The route of a simulated run: laps of some two kilometres through a park.
package struct SimulatedRoute {
    /// In the Großer Tiergarten in Berlin.
    package static let start = Place(la: 52.5145, lo: 13.3501)

    /// Metres of a degree of latitude.
    private static let degree = 111_195.0
    /// Metres from the center of the park, on average.
    private static let radius = 330.0
    /// Seconds over which the receiver's error changes.
    private static let memory = 20.0

    private let start: Place
    private var random: SplitMix64
    /// Radians around the center since the start.
    private var angle = 0.0
    /// The receiver's error in metres north, east and up.
    private var error = (north: 0.0, east: 0.0, up: 0.0)

    package init(start: Place = SimulatedRoute.start, seed: UInt64) {
        self.start = start
        random = SplitMix64(seed: seed)
    }

    /// The receiver's reading `distance` metres and `interval` seconds later.
    package mutating func advance(by distance: Double, in interval: Double, at time: Timestamp, speed: Double)
        -> Location
    {
        angle += distance / hypot(Self.reach(angle), Self.slope(angle))
        let kept = exp(-interval / Self.memory)
        let drawn = (1 - kept * kept).squareRoot()
        error.north = kept * error.north + drawn * .random(in: -2...2, using: &random)
        error.east = kept * error.east + drawn * .random(in: -2...2, using: &random)
        error.up = kept * error.up + drawn * .random(in: -1...1, using: &random)

        let north = Self.reach(angle) * cos(angle) - Self.reach(0) + error.north
        let east = Self.reach(angle) * sin(angle) + error.east
        let eastward = Self.degree * cos(start.la * .pi / 180)
        var location = Location(
            time: time, latitude: Self.rounded(start.la + north / Self.degree, to: 1e7),
            longitude: Self.rounded(start.lo + east / eastward, to: 1e7))
        // Two hills a lap, the higher one first.
        let height = 36 - 6 * cos(2 * angle) + 3 * sin(angle)
        location[.altitude] = Self.rounded(height + error.up, to: 10)
        location[.horizontalAccuracy] = Self.rounded(4 + abs(error.north) + abs(error.east), to: 10)
        location[.verticalAccuracy] = Self.rounded(3 + abs(error.up), to: 10)
        location[.speed] = speed
        location[.course] = Self.rounded(course, to: 10)
        return location
    }

    /// Degrees clockwise from north, below 360.
    private var course: Double {
        let (reach, slope) = (Self.reach(angle), Self.slope(angle))
        let north = slope * cos(angle) - reach * sin(angle)
        let east = slope * sin(angle) + reach * cos(angle)
        let degrees = atan2(east, north) * 180 / .pi
        return degrees < 0 ? degrees + 360 : degrees
    }

    /// Metres from the center at an angle.
    private static func reach(_ angle: Double) -> Double {
        radius * (1 + 0.15 * cos(2 * angle) + 0.05 * sin(3 * angle))
    }

    /// The derivative of ``reach(_:)``.
    private static func slope(_ angle: Double) -> Double {
        radius * (-0.3 * sin(2 * angle) + 0.15 * cos(3 * angle))
    }

    private static func rounded(_ value: Double, to scale: Double) -> Double { (value * scale).rounded() / scale }
}
