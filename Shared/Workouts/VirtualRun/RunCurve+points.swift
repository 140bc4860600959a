extension RunCurve {
    struct Point: Equatable {
        /// Microseconds.
        var time: Int64
        /// Micrometres.
        var metres: Int64
    }

    /// The points of a curve: 8 bytes each in thousandths, 12 in millionths.
    struct Points: Equatable {
        private struct Coarse: Equatable {
            var time: UInt32
            var metres: UInt32
        }

        /// The digits that a coarse point lacks to millionths.
        private struct Rest: Equatable {
            var time: UInt16
            var metres: UInt16
        }

        let isExact: Bool
        private var coarse: [Coarse] = []
        private var rests: [Rest] = []

        init(isExact: Bool) {
            self.isExact = isExact
            append(Point(time: 0, metres: 0))
        }

        init(_ points: [Point], isExact: Bool) {
            self.isExact = isExact
            coarse.reserveCapacity(points.count)
            for point in points { append(point) }
        }

        var count: Int { coarse.count }
        var isEmpty: Bool { coarse.isEmpty }
        var last: Point? { isEmpty ? nil : self[count - 1] }
        var all: [Point] { (0..<count).map { self[$0] } }
        /// Bytes.
        var size: Int {
            coarse.capacity * MemoryLayout<Coarse>.stride + rests.capacity * MemoryLayout<Rest>.stride
        }

        @inline(__always) subscript(index: Int) -> Point {
            let point = coarse[index]
            var (time, metres) = (Int64(point.time) * 1_000, Int64(point.metres) * 1_000)
            if isExact {
                time += Int64(rests[index].time)
                metres += Int64(rests[index].metres)
            }
            return Point(time: time, metres: metres)
        }

        /// The point as it is kept.
        func rounded(_ point: Point) -> Point {
            isExact
                ? point : Point(time: (point.time + 500) / 1_000 * 1_000, metres: (point.metres + 500) / 1_000 * 1_000)
        }

        mutating func append(_ point: Point) {
            let point = rounded(point)
            coarse.append(Coarse(time: UInt32(point.time / 1_000), metres: UInt32(point.metres / 1_000)))
            guard isExact else { return }
            rests.append(Rest(time: UInt16(point.time % 1_000), metres: UInt16(point.metres % 1_000)))
        }

        mutating func removeLast() {
            coarse.removeLast()
            if isExact { rests.removeLast() }
        }
    }
}
