import FIT
import Workouts

extension FITExport {
    /// A field of the records and its value in a point.
    typealias Column = (field: FITField, value: (ExportedPoint) -> Double?)

    /// A pass over the points of each second, merged. The last value of a quantity counts. The highest heart rate counts,
    /// which keeps the workout's maximum. Lists keep all values. Deltas are sums since the start.
    struct Seconds {
        private var points: ExportedPoints
        private let clock: Clock
        private var collected: (second: Double, point: ExportedPoint)?
        private var sums = [Double](repeating: 0, count: Quantity.allCases.count)

        init(_ points: ExportedPoints, _ clock: Clock) {
            self.points = points
            self.clock = clock
        }

        mutating func next() throws -> (second: Double, point: ExportedPoint)? {
            while var point = try points.next() {
                for quantity in point.values.quantities where quantity.isDelta && quantity != .distance {
                    sums[quantity.rawValue] += point[quantity] ?? 0
                    point[quantity] = sums[quantity.rawValue]
                }
                let second = clock[point.time]
                let earlier = collected
                if let earlier, earlier.second == second { point.add(earlier: earlier.point) }
                collected = (second, point)
                if let earlier, earlier.second != second { return earlier }
            }
            defer { collected = nil }
            return collected
        }
    }

    /// The fields of the records: those for which any point has a value.
    var recordColumns: [Column] {
        typealias Field = FITProfile.Record
        let activity = workout.activity
        let survey = exported.survey
        var columns: [Column] = []
        if survey.firstOnEarth != nil { columns += [(Field.latitude, \.latitude), (Field.longitude, \.longitude)] }
        if survey.hasAccuracy { columns.append((Field.gpsAccuracy, \.wholeAccuracy)) }
        if survey.hasAltitude { columns.append((Field.enhancedAltitude, \.altitude)) }
        for quantity in Quantity.recorded where survey.has(quantity) {
            guard let field = quantity.fitField else { continue }
            switch quantity {
            case .cadence:
                columns.append((field, { activity.cadenceInFiles($0[.cadence]).map { Turns($0).whole } }))
                columns.append(
                    (Field.fractionalCadence, { activity.cadenceInFiles($0[.cadence]).map { Turns($0).fraction } }))
            // In other activities FIT counts other things than steps.
            case .steps:
                if activity.countsStrides { columns.append((field, { $0[.steps].map { $0 / 2 } })) }
            default: columns.append((field, { $0[quantity] }))
            }
        }
        return columns
    }

    /// The quantities in developer fields, each with the most values of a second.
    var developerColumns: [(quantity: Quantity, count: Int)] {
        get throws {
            let quantities = Quantity.recorded.filter { $0.fit == .developer && exported.survey.has($0) }
            var counts = [Int](repeating: 1, count: quantities.count)
            guard quantities.contains(where: \.isList) else { return quantities.map { ($0, 1) } }
            var points = Seconds(exported.points, clock)
            while let (_, point) = try points.next() {
                for (index, quantity) in quantities.enumerated() where quantity.isList {
                    counts[index] = max(counts[index], point.values[all: quantity].count)
                }
            }
            return zip(quantities, counts).map { ($0, $1) }
        }
    }
}

extension Quantity {
    /// The field of FIT's profile; `nil` without one.
    var fitField: FITField? {
        guard case .record(let number, let base, let scale, let offset) = fit else { return nil }
        return FITBaseType(rawValue: base.rawValue).map { FITField(number, $0, scale: scale, offset: offset) }
    }
}

extension ExportedPoint {
    fileprivate mutating func add(earlier: ExportedPoint) {
        if let before = earlier[.heartRate] { self[.heartRate] = max(before, self[.heartRate] ?? before) }
        for quantity in PresentFields<Quantity>(values.lists & earlier.values.lists) {
            values[all: quantity] = earlier.values[all: quantity] + values[all: quantity]
        }
        fill(from: earlier)
    }

    var latitude: Double? { place.flatMap { abs($0.la) <= 90 && abs($0.lo) <= 180 ? $0.la : nil } }

    /// FIT cannot represent 180°, which equals -180°.
    var longitude: Double? { latitude == nil ? nil : place.map { $0.lo > 180 - 2e-7 ? -180 : $0.lo } }

    /// Whole metres, rounded down, so that a replay accepts the same places.
    fileprivate var wholeAccuracy: Double? { horizontalAccuracy?.rounded(.down) }
}

/// A cadence in FIT: whole turns a minute, and a separate fraction in 128ths.
struct Turns {
    private static let limit = 254.0

    let whole: Double
    let fraction: Double

    init(_ turns: Double) {
        let rounded = (turns * 128).rounded() / 128
        whole = min(rounded.rounded(.down), Self.limit)
        fraction = rounded < Self.limit + 1 ? rounded - whole : 0
    }
}
