import Foundation

/// A position in degrees (WGS 84).
package struct Coordinate: Hashable, Sendable {
    /// The mean radius of the earth in metres.
    static let earthRadius = 6_371_008.8
    /// Metres per degree along a meridian.
    static let degree = earthRadius * .pi / 180
    /// Distances up to this many metres are computed on a plane.
    private static let flatness = 1_000.0

    package var latitude: Double
    package var longitude: Double

    package init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Metres along the great circle on a sphere of the mean radius.
    package func distance(to other: Coordinate) -> Double {
        let radians = Double.pi / 180
        let north = (other.latitude - latitude) * Self.degree
        let east =
            longitudeDifference(longitude, other.longitude) * Self.degree
            * cos((latitude + other.latitude) / 2 * radians)
        let flat = (north * north + east * east).squareRoot()
        if flat < Self.flatness { return flat }
        let sines = (
            sin((other.latitude - latitude) * radians / 2), sin((other.longitude - longitude) * radians / 2)
        )
        let haversine =
            sines.0 * sines.0 + cos(latitude * radians) * cos(other.latitude * radians) * sines.1 * sines.1
        return 2 * Self.earthRadius * asin(min(1, haversine.squareRoot()))
    }

    /// The length of a degree of longitude as a fraction of its length at the equator; never zero.
    static func shrinkage(latitude: Double) -> Double { max(1e-6, cos(latitude * .pi / 180)) }
}

/// Degrees from one longitude to another, by the shorter way.
func longitudeDifference(_ from: Double, _ to: Double) -> Double {
    let difference = to - from
    if difference > 180 { return difference - 360 }
    return difference < -180 ? difference + 360 : difference
}
