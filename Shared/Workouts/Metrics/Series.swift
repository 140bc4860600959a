/// The final time series of a session: a row for each counted item, each at its own time, without resampling.
///
/// A column holds the values of its quantity's source. A delta is its contribution to the total: the column sums up to
/// the session's total.
package struct Series: Equatable, Sendable {
    package struct Column: Equatable, Sendable {
        package let quantity: Quantity
        /// The value of each row, of a list the first; NaN without one.
        package let numbers: [Double]
        /// All values of each row; empty unless the quantity is a list.
        package let lists: [[Double]]

        package init(quantity: Quantity, values: [Double?]) {
            self.init(quantity: quantity, lists: values.map { $0.map { [$0] } ?? [] })
        }

        package init(quantity: Quantity, lists: [[Double]]) {
            self.init(quantity: quantity, numbers: lists.map { $0.first ?? .nan }, lists: quantity.isList ? lists : [])
        }

        fileprivate init(quantity: Quantity, numbers: [Double], lists: [[Double]] = []) {
            self.quantity = quantity
            self.numbers = numbers
            self.lists = lists
        }

        package var values: [Double?] { numbers.indices.map { self[$0] } }

        /// The value of a row, of a list the first.
        package subscript(row: Int) -> Double? { numbers[row].isNaN ? nil : numbers[row] }

        /// The column without the rows that are not used.
        fileprivate func keeping(_ isUsed: [Bool]) -> Column {
            Column(
                quantity: quantity, numbers: numbers.indices.lazy.filter { isUsed[$0] }.map { numbers[$0] },
                lists: lists.indices.lazy.filter { isUsed[$0] }.map { lists[$0] })
        }

        package static func == (left: Column, right: Column) -> Bool {
            left.quantity == right.quantity && left.lists == right.lists && left.numbers.count == right.numbers.count
                && left.numbers.indices.allSatisfy { left[$0] == right[$0] }
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
        var isUsed = [Bool](repeating: false, count: items.times.count)
        let columns = Quantity.recorded.filter(items.has).map { quantity in
            let readings = items.readings(quantity)
            for reading in readings { isUsed[reading.row] = true }
            if quantity.isList {
                let lists = items.lists(quantity, of: readings).map { list in list.map(Self.millionths) }
                return Column(quantity: quantity, lists: lists)
            }
            var numbers = [Double](repeating: .nan, count: items.times.count)
            for reading in readings { numbers[reading.row] = Self.millionths(reading.value) }
            return Column(quantity: quantity, numbers: numbers)
        }
        let areUsed = !isUsed.contains(false)
        times = areUsed ? items.times : items.times.indices.lazy.filter { isUsed[$0] }.map { items.times[$0] }
        self.columns = areUsed ? columns : columns.map { $0.keeping(isUsed) }
    }

    private static func millionths(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
}
