import Workouts

/// A square of 0.01° around a point with two decimals: all sessions in it have the same weather and share a request.
///
/// Only its centre is stored, logged or sent to a provider, never the exact position.
struct WeatherCell: Hashable, Comparable, Codable, Sendable {
    /// Hundredths of a degree.
    let la: Int
    let lo: Int

    /// - Parameter place: a position on Earth.
    init(_ place: Place) {
        la = Int((place.la * 100).rounded())
        let east = Int((place.lo * 100).rounded())
        lo = east == 18_000 ? -18_000 : east
    }

    /// The centre in degrees, with two decimals: `52.52`.
    var latitude: String { Self.degrees(la) }
    var longitude: String { Self.degrees(lo) }

    private static func degrees(_ hundredths: Int) -> String {
        let (whole, rest) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
        return "\(hundredths < 0 ? "-" : "")\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }

    static func < (left: WeatherCell, right: WeatherCell) -> Bool { (left.la, left.lo) < (right.la, right.lo) }
}
