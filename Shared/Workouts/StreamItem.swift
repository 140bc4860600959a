/// One numbered item of a device's stream: a time, and values under their fields.
///
/// An item without a usable time is kept as an empty one, because its number is consumed all the same.
package protocol StreamItem: Equatable, Sendable {
    associatedtype Field: StreamField

    /// When it was measured; `nil` for an empty item.
    var time: Timestamp? { get set }

    init(time: Timestamp?)

    /// A value; `nil` when the item does not carry it.
    subscript(field: Field) -> Double? { get set }
}

/// A value that items of a stream may carry; the raw values count from 0.
package protocol StreamField: CaseIterable, RawRepresentable<Int>, Sendable where AllCases == [Self] {
    /// The values that are taken; one outside them is dropped.
    var range: ClosedRange<Double> { get }
}

extension Quantity: StreamField {}
extension Sample: StreamItem {}
extension LocationField: StreamField {}
extension Location: StreamItem {}
