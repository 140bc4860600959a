/// The order in which devices are believed, for one quantity.
package enum SourceOrder {
    /// A source is silent after this many seconds: its value is unknown, and the next source is taken.
    package static let freshness = 15.0

    private static let kinds: [Substring] = ["watch", "strap", "pod", "phone"]
    private static let heartRateKinds: [Substring] = ["strap", "watch", "pod", "phone"]

    /// Whether `left` is preferred to `right`: by kind, ties by name. A strap knows heart rate best.
    package static func prefers(_ left: Device, to right: Device, for quantity: Quantity) -> Bool {
        let order = quantity == .heartRate ? heartRateKinds : kinds
        let ranks = [left, right].map { order.firstIndex(of: $0.kind) ?? order.count }
        return (ranks[0], left) < (ranks[1], right)
    }
}
