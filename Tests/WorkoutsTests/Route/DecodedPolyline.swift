@testable import Workouts

/// Decodes Google's encoded polyline, written from its specification.
func decodedPolyline(_ text: String) -> [Coordinate] {
    var numbers: [Int] = []
    var (value, shift) = (0, 0)
    for byte in text.utf8 {
        let chunk = Int(byte) - 63
        value |= (chunk & 31) << shift
        shift += 5
        if chunk < 32 {
            numbers.append(value % 2 == 0 ? value / 2 : -(value + 1) / 2)
            (value, shift) = (0, 0)
        }
    }
    var place = (0, 0)
    return stride(from: 0, to: numbers.count, by: 2).map { index in
        place = (place.0 + numbers[index], place.1 + numbers[index + 1])
        return Coordinate(latitude: Double(place.0) / 1e5, longitude: Double(place.1) / 1e5)
    }
}
