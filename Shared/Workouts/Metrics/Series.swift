/// The final time series of a session: a row for each counted item, each at its own time, nothing resampled.
///
/// A column holds only what its quantity's source measured, and of deltas what they added to the total: the sum of the
/// column is the session's.
package struct Series: Equatable, Sendable {
    package struct Column: Equatable, Sendable {
        package let quantity: Quantity
        package let values: [Double?]

        package init(quantity: Quantity, values: [Double?]) {
            self.quantity = quantity
            self.values = values
        }
    }

    package let times: [Timestamp]
    package let columns: [Column]

    /// - Parameter columns: each with a value, or none, for each of the times.
    package init(times: [Timestamp], columns: [Column]) {
        self.times = times
        self.columns = columns
    }

    /// The values of a quantity, one or none for each of the times; `nil` when nothing measured it.
    package subscript(quantity: Quantity) -> [Double?]? { columns.first { $0.quantity == quantity }?.values }

    package init(_ items: CountedItems) {
        let quantities = Quantity.allCases.filter { $0 != .battery && !items.readings($0).isEmpty }
        var isUsed = [Bool](repeating: false, count: items.times.count)
        for quantity in quantities {
            for reading in items.readings(quantity) { isUsed[reading.row] = true }
        }
        let rows = items.times.indices.filter { isUsed[$0] }
        times = rows.map { items.times[$0] }
        columns = quantities.map { quantity in
            var values = [Double?](repeating: nil, count: items.times.count)
            for reading in items.readings(quantity) { values[reading.row] = (reading.value * 1e6).rounded() / 1e6 }
            return Column(quantity: quantity, values: rows.map { values[$0] })
        }
    }
}
