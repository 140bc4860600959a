/// The final time series of a session: a row for each counted item, each at its own time, without resampling.
///
/// A column holds the values of its quantity's source. A delta is its contribution to the total: the column sums up to
/// the session's total.
package struct Series: Equatable, Sendable {
    package struct Column: Equatable, Sendable {
        package let quantity: Quantity
        /// For a list, the first value.
        package let values: [Double?]
        /// All values of each row; empty unless the quantity is a list.
        package let lists: [[Double]]

        package init(quantity: Quantity, values: [Double?]) {
            self.quantity = quantity
            self.values = values
            lists = quantity.isList ? values.map { $0.map { [$0] } ?? [] } : []
        }

        package init(quantity: Quantity, lists: [[Double]]) {
            self.quantity = quantity
            values = lists.map(\.first)
            self.lists = quantity.isList ? lists : []
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
        let quantities = Quantity.recorded.filter { !items.readings($0).isEmpty }
        var isUsed = [Bool](repeating: false, count: items.times.count)
        for quantity in quantities {
            for reading in items.readings(quantity) { isUsed[reading.row] = true }
        }
        let rows = items.times.indices.filter { isUsed[$0] }
        times = rows.map { items.times[$0] }
        columns = quantities.map { quantity in
            var values = [[Double]](repeating: [], count: items.times.count)
            for reading in items.readings(quantity) {
                values[reading.row] = items.values(quantity, of: reading).map { ($0 * 1e6).rounded() / 1e6 }
            }
            return Column(quantity: quantity, lists: rows.map { values[$0] })
        }
    }
}
