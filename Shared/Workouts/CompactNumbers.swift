/// A column of numbers, NaN for none. A number takes four bytes while each of them is a multiple of the same fraction,
/// else eight. Every number is restored bit by bit.
package struct CompactNumbers: Sendable {
    /// Marks no number.
    private static let none = Int32.min

    /// The numbers of the fraction that make 1.
    private let scale: Double
    /// Multiples of the fraction; empty once a number is none.
    private var parts: [Int32] = []
    private var numbers: [Double] = []
    private var isCompact = true

    package init(scale: Double = 1e6) {
        self.scale = scale
    }

    /// A column without numbers.
    package init(count: Int, scale: Double = 1e6) {
        self.scale = scale
        parts = [Int32](repeating: Self.none, count: count)
    }

    package init(_ numbers: some Collection<Double>, scale: Double = 1e6) {
        self.init(scale: scale)
        parts.reserveCapacity(numbers.count)
        for number in numbers { append(number) }
    }

    package var count: Int { isCompact ? parts.count : numbers.count }

    package subscript(row: Int) -> Double {
        get { isCompact ? number(parts[row]) : numbers[row] }
        set {
            if isCompact, let part = part(newValue) {
                parts[row] = part
            } else {
                widen()
                numbers[row] = newValue
            }
        }
    }

    package mutating func append(_ number: Double) {
        if isCompact, let part = part(number) {
            parts.append(part)
        } else {
            widen()
            numbers.append(number)
        }
    }

    private func number(_ part: Int32) -> Double { part == Self.none ? .nan : Double(part) / scale }

    /// `nil` for a number that the multiple would change.
    private func part(_ number: Double) -> Int32? {
        if number.isNaN { return Self.none }
        let multiple = (number * scale).rounded()
        guard multiple.magnitude <= Double(Int32.max) else { return nil }
        let part = Int32(multiple)
        return self.number(part).bitPattern == number.bitPattern ? part : nil
    }

    private mutating func widen() {
        guard isCompact else { return }
        numbers.reserveCapacity(parts.capacity)
        for part in parts { numbers.append(number(part)) }
        parts = []
        isCompact = false
    }
}

extension CompactNumbers: Equatable {
    package static func == (left: CompactNumbers, right: CompactNumbers) -> Bool {
        left.count == right.count
            && (0..<left.count).allSatisfy { left[$0] == right[$0] || left[$0].isNaN && right[$0].isNaN }
    }
}
