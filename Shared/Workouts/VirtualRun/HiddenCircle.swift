import Foundation

/// The secret of a service that moves the circles of hidden places.
package struct HidingKey: Equatable, Sendable {
    private let first: UInt64
    private let second: UInt64

    /// - Parameter bytes: 16 random bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        func word(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        first = word(bytes.prefix(8))
        second = word(bytes.suffix(8))
    }

    /// SipHash-2-4: unpredictable without the key.
    func hash(_ bytes: [UInt8]) -> UInt64 {
        var (v0, v1) = (first ^ 0x736f_6d65_7073_6575, second ^ 0x646f_7261_6e64_6f6d)
        var (v2, v3) = (first ^ 0x6c79_6765_6e65_7261, second ^ 0x7465_6462_7974_6573)
        func turned(_ value: UInt64, _ bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }
        func round() {
            v0 &+= v1
            v1 = turned(v1, 13) ^ v0
            v0 = turned(v0, 32)
            v2 &+= v3
            v3 = turned(v3, 16) ^ v2
            v0 &+= v3
            v3 = turned(v3, 21) ^ v0
            v2 &+= v1
            v1 = turned(v1, 17) ^ v2
            v2 = turned(v2, 32)
        }
        let padded =
            bytes + [UInt8](repeating: 0, count: 7 - bytes.count % 8) + [UInt8(truncatingIfNeeded: bytes.count)]
        for start in stride(from: 0, to: padded.count, by: 8) {
            let word = padded[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            v3 ^= word
            for _ in 0..<2 { round() }
            v0 ^= word
        }
        v2 ^= 0xff
        for _ in 0..<4 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }
}

/// A circle in which no position is shown. It contains all that is near a place, and its center does not tell the place.
///
/// The center is moved by up to half the radius. Direction and distance follow from the key and the place rounded to
/// 0.01°, so that many workouts from one place do not average out. The circle grows by the same half: everything within the
/// radius of the place itself stays hidden.
package struct HiddenCircle: Equatable, Sendable {
    package let center: Coordinate
    /// Metres.
    package let radius: Double
    private let shrinkage: Double

    package init(around place: Coordinate, radius: Double, key: HidingKey) {
        func cell(_ degrees: Double) -> Int64 { Int64((degrees * 100).rounded()) }
        // Both sides of the antimeridian are one place.
        let longitude = (cell(place.longitude) % 36_000 + 36_000) % 36_000
        var bytes: [UInt8] = []
        for value in [cell(place.latitude), longitude] {
            withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
        }
        func fraction(_ purpose: UInt8) -> Double { Double(key.hash(bytes + [purpose]) >> 11) / Double(1 << 53) }
        let angle = 2 * Double.pi * fraction(0)
        // The root spreads the places evenly over the disc.
        let distance = radius / 2 * fraction(1).squareRoot()
        let shrinkage = Coordinate.shrinkage(latitude: place.latitude)
        center = Coordinate(
            latitude: place.latitude + distance * sin(angle) / Coordinate.degree,
            longitude: place.longitude + distance * cos(angle) / (Coordinate.degree * shrinkage))
        self.radius = 1.5 * radius
        self.shrinkage = shrinkage
    }

    package func contains(_ place: Coordinate) -> Bool {
        let (east, north) = offset(place)
        return east * east + north * north <= radius * radius
    }

    /// Metres from the center.
    private func offset(_ place: Coordinate) -> (east: Double, north: Double) {
        let east = longitudeDifference(center.longitude, place.longitude) * Coordinate.degree * shrinkage
        return (east, (place.latitude - center.latitude) * Coordinate.degree)
    }

    /// The part of the segment between two places that is in the circle, as fractions of it; `nil` if none is.
    private func hidden(_ start: Coordinate, _ end: Coordinate) -> ClosedRange<Double>? {
        let (from, to) = (offset(start), offset(end))
        let (east, north) = (to.east - from.east, to.north - from.north)
        let squared = east * east + north * north
        guard squared > 0 else { return contains(start) ? 0...1 : nil }
        let middle = -(from.east * east + from.north * north) / squared
        let nearest = (from.east + middle * east, from.north + middle * north)
        let rest = radius * radius - nearest.0 * nearest.0 - nearest.1 * nearest.1
        guard rest > 0 else { return nil }
        let half = (rest / squared).squareRoot()
        let (first, last) = (max(0, middle - half), min(1, middle + half))
        return first <= last ? first...last : nil
    }

    /// The parts of lines outside the circle; a line that crosses it ends at its edge.
    package func cut(_ lines: [[RouteVertex]]) -> [[RouteVertex]] {
        var parts: [[RouteVertex]] = []
        for line in lines {
            var part: [RouteVertex] = []
            func close() {
                if part.count > 1 { parts.append(part) }
                part = []
            }
            for (index, vertex) in line.enumerated() {
                if index > 0 {
                    let before = line[index - 1]
                    if let hidden = hidden(before.place, vertex.place) {
                        if hidden.lowerBound > 0 {
                            part.append(before.moved(to: vertex.place, by: hidden.lowerBound))
                        }
                        close()
                        if hidden.upperBound < 1 {
                            part.append(
                                RouteVertex(
                                    before.moved(to: vertex.place, by: hidden.upperBound).place,
                                    heartRate: vertex.heartRate))
                        }
                    }
                }
                if !contains(vertex.place) { part.append(vertex) }
            }
            close()
        }
        return parts
    }
}

/// A vertex of a route.
package struct RouteVertex: Equatable, Sendable {
    package var place: Coordinate
    package var heartRate: Double?

    package init(_ place: Coordinate, heartRate: Double? = nil) {
        self.place = place
        self.heartRate = heartRate
    }

    fileprivate func moved(to end: Coordinate, by fraction: Double) -> RouteVertex {
        RouteVertex(
            Coordinate(
                latitude: place.latitude + (end.latitude - place.latitude) * fraction,
                longitude: place.longitude + longitudeDifference(place.longitude, end.longitude) * fraction),
            heartRate: heartRate)
    }
}
