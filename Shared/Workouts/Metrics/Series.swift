/// The final time series of a session: a row for each counted item, each at its own time, without resampling.
///
/// A column holds the values of its quantity's source. A delta is its contribution to the total: the column sums up to
/// the session's total.
package struct Series: Equatable, Sendable {
    package struct Column: Equatable, Sendable {
        package let quantity: Quantity
        /// The value of each row, NaN for none; the values of a list one after the other.
        private let numbers: CompactNumbers
        /// The end of each row's values; empty unless the quantity is a list.
        private let ends: [UInt32]

        package init(quantity: Quantity, values: [Double?]) {
            self.init(quantity: quantity, lists: values.map { $0.map { [$0] } ?? [] })
        }

        package init(quantity: Quantity, lists: [[Double]]) {
            if quantity.isList {
                self.init(quantity: quantity, lists: NumberLists(lists))
            } else {
                self.init(quantity: quantity, numbers: CompactNumbers(lists.map { $0.first ?? .nan }))
            }
        }

        init(quantity: Quantity, numbers: CompactNumbers) {
            self.quantity = quantity
            self.numbers = numbers
            ends = []
        }

        init(quantity: Quantity, lists: NumberLists) {
            self.quantity = quantity
            numbers = lists.numbers
            ends = lists.ends
        }

        package var count: Int { quantity.isList ? ends.count : numbers.count }

        package var values: [Double?] { (0..<count).map { self[$0] } }

        /// The value of a row, of a list the first.
        package subscript(row: Int) -> Double? {
            let places = places(row)
            guard !places.isEmpty, !numbers[places.lowerBound].isNaN else { return nil }
            return numbers[places.lowerBound]
        }

        /// All values of a row; more than one only of a list.
        package subscript(all row: Int) -> [Double] {
            places(row).lazy.map { numbers[$0] }.filter { !$0.isNaN }
        }

        private func places(_ row: Int) -> Range<Int> {
            guard quantity.isList else { return row..<row + 1 }
            return (row == 0 ? 0 : Int(ends[row - 1]))..<Int(ends[row])
        }

        /// The most values of a row.
        package var width: Int { quantity.isList ? (0..<count).lazy.map { places($0).count }.max() ?? 1 : 1 }

        /// The column without the rows that are not used.
        fileprivate func keeping(_ isUsed: [Bool]) -> Column {
            let rows = (0..<count).lazy.filter { isUsed[$0] }
            guard quantity.isList else {
                var kept = CompactNumbers()
                for row in rows { kept.append(numbers[row]) }
                return Column(quantity: quantity, numbers: kept)
            }
            var kept = NumberLists()
            for row in rows { kept.append(self[all: row]) }
            return Column(quantity: quantity, lists: kept)
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
                return Column(quantity: quantity, lists: items.lists(quantity, of: readings, Self.millionths))
            }
            var numbers = CompactNumbers(count: items.times.count)
            for reading in readings { numbers[reading.row] = Self.millionths(reading.value) }
            return Column(quantity: quantity, numbers: numbers)
        }
        let areUsed = !isUsed.contains(false)
        times = areUsed ? items.times : items.times.indices.lazy.filter { isUsed[$0] }.map { items.times[$0] }
        self.columns = areUsed ? columns : columns.map { $0.keeping(isUsed) }
    }

    private static func millionths(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
}

/// A column of lists of numbers.
struct NumberLists {
    fileprivate(set) var numbers = CompactNumbers()
    /// The end of each row's numbers.
    fileprivate(set) var ends: [UInt32] = []

    init() {}

    init(_ lists: [[Double]]) {
        ends.reserveCapacity(lists.count)
        for list in lists { append(list) }
    }

    /// Lists of known lengths; their numbers follow by ``set(_:row:)``.
    init(lengths: [UInt32]) {
        var end: UInt32 = 0
        ends = lengths
        for row in ends.indices {
            end += ends[row]
            ends[row] = end
        }
        numbers = CompactNumbers(count: Int(end))
    }

    mutating func append(_ list: [Double]) {
        for number in list { numbers.append(number) }
        ends.append(UInt32(numbers.count))
    }

    mutating func set(_ list: [Double], row: Int) {
        let start = row == 0 ? 0 : Int(ends[row - 1])
        for (index, number) in list.enumerated() { numbers[start + index] = number }
    }
}
