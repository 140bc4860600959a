import Foundation

/// A vertex of an encoded polyline, in hundred-thousandths of a degree. Longitudes of a line continue beyond ±180°.
struct PolylinePoint: Hashable, Sendable {
    /// The scale of precision 5.
    private static let scale = 1e5
    private static let circle: Int64 = 36_000_000

    let latitude: Int64
    let longitude: Int64

    /// - Parameter previous: the previous point. The new point stays within half a turn of it.
    init(_ coordinate: Coordinate, after previous: PolylinePoint? = nil) {
        latitude = Int64((coordinate.latitude * Self.scale).rounded())
        var longitude = Int64((coordinate.longitude * Self.scale).rounded())
        if let previous {
            while longitude - previous.longitude > Self.circle / 2 { longitude -= Self.circle }
            while previous.longitude - longitude > Self.circle / 2 { longitude += Self.circle }
        }
        self.longitude = longitude
    }

    /// Bytes of the encoding in JSON, where a backslash takes two.
    func encodedSize(after previous: PolylinePoint?) -> Int {
        var size = 0
        encode(after: previous) { size += $0 == UInt8(ascii: "\\") ? 2 : 1 }
        return size
    }

    /// Writes the bytes of the encoding: the difference to the previous point.
    func encode(after previous: PolylinePoint?, _ write: (UInt8) -> Void) {
        for difference in [latitude - (previous?.latitude ?? 0), longitude - (previous?.longitude ?? 0)] {
            var rest = UInt64(bitPattern: difference << 1 ^ difference >> 63)
            while rest >= 0x20 {
                write(UInt8(rest & 0x1f | 0x20) + 63)
                rest >>= 5
            }
            write(UInt8(rest) + 63)
        }
    }

    /// Squared metres from this point to the segment between two others, on the plane that touches the earth at this
    /// point.
    func squaredDistance(from start: PolylinePoint, to end: PolylinePoint, shrinkage: Double) -> Double {
        let unit = Coordinate.degree / Self.scale
        let north = Double(end.latitude - start.latitude) * unit
        let east = Double(end.longitude - start.longitude) * unit * shrinkage
        let up = Double(latitude - start.latitude) * unit
        let right = Double(longitude - start.longitude) * unit * shrinkage
        let squared = north * north + east * east
        let share = squared > 0 ? min(max((up * north + right * east) / squared, 0), 1) : 0
        let (restUp, restRight) = (up - share * north, right - share * east)
        return restUp * restUp + restRight * restRight
    }

    var shrinkage: Double { Coordinate.shrinkage(latitude: Double(latitude) / Self.scale) }
}

extension PolylinePoint {
    fileprivate init(latitude: Int64, longitude: Int64) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The same place within half a turn of another point.
    func near(_ previous: PolylinePoint) -> PolylinePoint {
        let turns = (Double(longitude - previous.longitude) / Double(Self.circle)).rounded()
        return PolylinePoint(latitude: latitude, longitude: longitude - Int64(turns) * Self.circle)
    }
}

/// A stretch of a sketched line, and the point that is the farthest from it.
private struct SketchPiece {
    let first: Int
    let last: Int
    let farthest: Int
    /// Squared metres.
    let distance: Double
}

extension [PolylinePoint] {
    /// Reads a line in Google's encoded polyline format up to the first character that is none of it.
    init(encoded: String) {
        self = []
        var numbers: [Int64] = []
        var (latitude, longitude) = (Int64(0), Int64(0))
        var (bits, shift) = (UInt64(0), UInt64(0))
        for byte in encoded.utf8 {
            guard (63...126).contains(byte), shift < 60 else { return }
            bits |= UInt64((byte - 63) & 0x1f) << shift
            shift += 5
            guard byte - 63 < 0x20 else { continue }
            numbers.append(Int64(bits >> 1) ^ -Int64(bits & 1))
            (bits, shift) = (0, 0)
            guard numbers.count == 2 else { continue }
            latitude &+= numbers[0]
            longitude &+= numbers[1]
            numbers = []
            // Beyond every place, from another program.
            guard abs(latitude) < 1 << 40, abs(longitude) < 1 << 40 else { return }
            append(PolylinePoint(latitude: latitude, longitude: longitude))
        }
    }

    /// The points that show the line best: the ends, and again and again the one farthest from the line so far.
    func sketched(limit: Int) -> [PolylinePoint] {
        guard count > limit else { return self }
        let shrinkages = map(\.shrinkage)
        func piece(_ first: Int, _ last: Int) -> SketchPiece {
            var farthest = (index: first, distance: 0.0)
            for index in first + 1..<Swift.max(first + 1, last) {
                let distance = self[index].squaredDistance(
                    from: self[first], to: self[last], shrinkage: shrinkages[index])
                if distance > farthest.distance { farthest = (index, distance) }
            }
            return SketchPiece(first: first, last: last, farthest: farthest.index, distance: farthest.distance)
        }
        var pieces = [piece(0, count - 1)]
        while pieces.count + 1 < limit {
            guard let number = pieces.indices.max(by: { pieces[$0].distance < pieces[$1].distance }) else { break }
            let widest = pieces[number]
            // A metre is the precision of a point.
            guard widest.distance > 1 else { break }
            pieces[number] = piece(widest.first, widest.farthest)
            pieces.append(piece(widest.farthest, widest.last))
        }
        return (pieces.map(\.first).sorted() + [count - 1]).map { self[$0] }
    }

    /// The line in Google's encoded polyline format.
    var encoded: String {
        var bytes: [UInt8] = []
        var previous: PolylinePoint?
        for point in self {
            point.encode(after: previous) { bytes.append($0) }
            previous = point
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Removes points within `tolerance` metres of the line (Douglas and Peucker).
    ///
    /// Long lines are simplified in pieces, which bounds the work.
    func simplified(tolerance: Double) -> [PolylinePoint] { kept(tolerance: tolerance).map { index in self[index] } }

    /// The indices of the points that ``simplified(tolerance:)`` keeps.
    func kept(tolerance: Double) -> [Int] {
        let piece = 512
        guard count > 2 else { return [Int](0..<count) }
        let shrinkages = map(\.shrinkage)
        var isKept = [Bool](repeating: false, count: count)
        var open: [(first: Int, last: Int)] = []
        for first in stride(from: 0, to: count - 1, by: piece) {
            open.append((first, Swift.min(first + piece, count - 1)))
            isKept[first] = true
        }
        isKept[count - 1] = true
        while let (first, last) = open.popLast() {
            var farthest = (index: first, distance: tolerance * tolerance)
            for index in first + 1..<Swift.max(first + 1, last) {
                let distance = self[index].squaredDistance(
                    from: self[first], to: self[last], shrinkage: shrinkages[index])
                if distance > farthest.distance { farthest = (index, distance) }
            }
            guard farthest.index > first else { continue }
            isKept[farthest.index] = true
            open.append((first, farthest.index))
            open.append((farthest.index, last))
        }
        return (0..<count).filter { isKept[$0] }
    }
}
