/// One item of a sample stream: a time and the values that the device measured.
///
/// An item without a usable time is kept as an empty one, because its number is consumed all the same.
package struct Sample: Sendable {
    /// When it was measured; `nil` for an empty item.
    package var time: Timestamp?
    /// A bit for each quantity that the item carries, by raw value.
    package private(set) var present: UInt64 = 0
    /// Most samples carry the first quantities only: these need no allocation.
    static let commonCount = 9
    private var common = [9 of Double](repeating: 0)
    /// The values of the others; a list has an entry for each of its values.
    private var others: [(quantity: Quantity, value: Double)] = []

    package init(time: Timestamp? = nil) {
        self.time = time
    }

    /// The value of a quantity, of a list the first; `nil` when the item does not carry it.
    package subscript(quantity: Quantity) -> Double? {
        get {
            guard present & bit(quantity) != 0 else { return nil }
            if quantity.rawValue < common.count { return common[quantity.rawValue] }
            return others.first { $0.quantity == quantity }?.value
        }
        set {
            let value = newValue ?? .nan
            if quantity.rawValue < common.count {
                common[quantity.rawValue] = value
            } else {
                setOther(quantity, value)
            }
            if value.isNaN { present &= ~bit(quantity) } else { present |= bit(quantity) }
        }
    }

    private mutating func setOther(_ quantity: Quantity, _ value: Double) {
        if present & bit(quantity) != 0 { others.removeAll { $0.quantity == quantity } }
        if !value.isNaN { others.append((quantity, value)) }
    }

    private func bit(_ quantity: Quantity) -> UInt64 { 1 << UInt64(quantity.rawValue) }

    /// All values of a quantity; more than one only of a list.
    package subscript(all quantity: Quantity) -> [Double] {
        get {
            guard quantity.isList else { return self[quantity].map { [$0] } ?? [] }
            return others.compactMap { $0.quantity == quantity ? $0.value : nil }
        }
        set {
            self[quantity] = newValue.first
            guard quantity.isList else { return }
            for value in newValue.dropFirst() { others.append((quantity, value)) }
        }
    }

    package var lists: UInt64 { present >> UInt64(common.count) == 0 ? 0 : present & Quantity.lists }

    /// The quantities that the item carries, in the order of their raw values.
    package var quantities: PresentFields<Quantity> { PresentFields(present) }
}

extension Sample: Equatable {
    package static func == (left: Sample, right: Sample) -> Bool {
        left.time == right.time && left.present == right.present
            && left.quantities.allSatisfy { left[all: $0] == right[all: $0] }
    }
}

/// The fields of an item, by the bits that mark present ones.
package struct PresentFields<Field: StreamField>: Sequence, IteratorProtocol, Sendable {
    private var bits: UInt64

    package init(_ bits: UInt64) {
        self.bits = bits
    }

    package mutating func next() -> Field? {
        guard bits != 0 else { return nil }
        let field = Field(rawValue: bits.trailingZeroBitCount)
        bits &= bits - 1
        return field
    }
}

/// One numbered item of a device's stream: a time, and values under their fields.
///
/// An item without a usable time is kept as an empty one, because its number is consumed all the same.
package protocol StreamItem: Equatable, Sendable {
    associatedtype Field: StreamField

    /// When it was measured; `nil` for an empty item.
    var time: Timestamp? { get set }

    /// A bit for each field that the item carries, by raw value.
    var present: UInt64 { get }

    /// The bits of ``present`` whose fields are lists.
    var lists: UInt64 { get }

    /// The position, if it is accurate enough to count.
    var position: Coordinate? { get }

    /// Whether it carries a heart rate.
    var hasHeartRate: Bool { get }

    init(time: Timestamp?)

    /// A value, of a list the first; `nil` when the item does not carry it.
    subscript(field: Field) -> Double? { get set }

    /// All values of a field; more than one only of a list.
    subscript(all field: Field) -> [Double] { get set }
}

/// A value that items of a stream may carry; the raw values count from 0 to at most 62.
package protocol StreamField: CaseIterable, RawRepresentable<Int>, Sendable where AllCases == [Self] {
    /// The accepted values; one outside them is dropped.
    var range: ClosedRange<Double> { get }

    /// The ranges of all fields, by raw value.
    static var ranges: [ClosedRange<Double>] { get }

    /// A bit for each field of which an item carries a list of values, by raw value.
    static var lists: UInt64 { get }
}

extension Quantity: StreamField {
    package static let ranges = allCases.map(\.range)
    package static let lists = allCases.reduce(0) { $0 | ($1.isList ? UInt64(1) << UInt64($1.rawValue) : 0) }
}

extension Sample: StreamItem {
    package var position: Coordinate? { nil }
    package var hasHeartRate: Bool { self[.heartRate] != nil }
}

extension LocationField: StreamField {
    package static let ranges = allCases.map(\.range)
    package static var lists: UInt64 { 0 }
}

extension Location: StreamItem {
    package var present: UInt64 {
        LocationField.allCases.reduce(0) { $0 | (self[$1] == nil ? 0 : UInt64(1) << UInt64($1.rawValue)) }
    }

    package var lists: UInt64 { 0 }

    package var hasHeartRate: Bool { false }

    package subscript(all field: LocationField) -> [Double] {
        get { self[field].map { [$0] } ?? [] }
        set { self[field] = newValue.first }
    }
}
