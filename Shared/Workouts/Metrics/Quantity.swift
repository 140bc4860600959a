/// A quantity that a sample may contain. To add a quantity, append a case and its row in ``row``: payloads, stored
/// items, live metrics, summaries and files derive the rest from it. A test compares `asyncapi.yaml` with the rows.
///
/// The raw value is the quantity's bit in stored items: never reorder or remove a case.
package enum Quantity: Int, CaseIterable, Sendable {
    case heartRate, distance, activeEnergy, speed, steps, cadence, power, battery, temperature
    case rrIntervals, barometricAltitude, incline, leftPowerShare, verticalOscillation, groundContactTime, strideLength
    case respirationRate, bloodOxygen, muscleOxygen, totalHemoglobin, coreTemperature, strokes, poolLengths
    case ascent, descent

    private var row: Row {
        switch self {
        case .heartRate:
            Row("h", "heart_rate_bpm", "bpm", 20...300, [.average, .maximum], fit: .record(3, .uint8))
                .tcx("HeartRateBpm", 1...255).gpx("gpxtpx:hr", 1...255)
        case .distance:
            Row("d", "distance_m", "m", 0...10_000, .sum, fit: .record(5, .uint32, scale: 100)).tcx("DistanceMeters")
        case .activeEnergy: Row("k", "active_energy_kcal", "kcal", 0...1_000, .sum, fit: .record(33, .uint16))
        case .speed:
            Row("v", "speed_m_s", "m/s", 0...60, [.average, .maximum], fit: .record(73, .uint32, scale: 1000))
                .tcx("ns3:Speed").gpx("gpxtpx:speed")
        case .steps: Row("n", "steps", "steps", 0...10_000, .sum, fit: .record(19, .uint32))
        case .cadence:
            Row("cd", "cadence_per_min", "1/min", 0...1_000, .average, fit: .record(4, .uint8))
                .tcx("ns3:RunCadence", 0...254).gpx("gpxtpx:cad", 0...254)
        case .power:
            Row("w", "power_w", "W", 0...5_000, [.average, .maximum], fit: .record(7, .uint16))
                .tcx("ns3:Watts", 0...65_535).gpx("gpxpx:PowerInWatts", 0...65_535)
        case .battery: Row("b", "battery", "1", 0...1, [], fit: .absent)
        case .temperature: Row("tp", "temperature_c", "°C", -60...80, [], fit: .record(13, .sint8)).gpx("gpxtpx:atemp")
        // Milliseconds between heart beats: as many as there were since the previous item.
        case .rrIntervals: Row("rr", "rr_intervals_ms", "ms", 200...3_000, .list, fit: .developer)
        // FIT's altitude is the one of the route.
        case .barometricAltitude: Row("al", "barometric_altitude_m", "m", -1_000...20_000, [.average, .maximum])
        case .incline:
            Row("in", "incline_percent", "%", -100...100, [.average, .maximum], fit: .record(9, .sint16, scale: 100))
        // FIT has the share of the right, marked by the top bit.
        case .leftPowerShare:
            Row(
                "bl", "left_power_share_percent", "%", 0...100, .average,
                fit: .record(30, .uint8, scale: -1, offset: -228))
        case .verticalOscillation:
            Row("vo", "vertical_oscillation_mm", "mm", 0...1_000, .average, fit: .record(39, .uint16, scale: 10))
        case .groundContactTime:
            Row("gc", "ground_contact_time_ms", "ms", 0...5_000, .average, fit: .record(41, .uint16, scale: 10))
        case .strideLength: Row("sl", "stride_length_m", "m", 0...6, .average, fit: .record(85, .uint16, scale: 10_000))
        case .respirationRate:
            Row(
                "rs", "respiration_rate_per_min", "1/min", 0...120, [.average, .maximum],
                fit: .record(108, .uint16, scale: 100))
        case .bloodOxygen: Row("so", "blood_oxygen_percent", "%", 0...100, .average)
        case .muscleOxygen:
            Row("sm", "muscle_oxygen_percent", "%", 0...100, .average, fit: .record(57, .uint16, scale: 10))
        case .totalHemoglobin:
            Row("th", "total_hemoglobin_g_dl", "g/dl", 0...100, .average, fit: .record(54, .uint16, scale: 100))
        case .coreTemperature:
            Row(
                "ct", "core_temperature_c", "°C", 20...50, [.average, .maximum], fit: .record(139, .uint16, scale: 100))
        case .strokes: Row("st", "strokes", "strokes", 0...10_000, .sum)
        case .poolLengths: Row("ln", "pool_lengths", "lengths", 0...1_000, .sum)
        // Metres up and down as the device counts them.
        case .ascent: Row("as", "ascent_m", "m", 0...10_000, .sum)
        case .descent: Row("de", "descent_m", "m", 0...10_000, .sum)
        }
    }

    private static let rows = allCases.map(\.row)
    private var stored: Row { Self.rows[rawValue] }
}

extension Quantity {
    /// The totals of a quantity in a summary; empty if the summary omits it.
    package struct Totals: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let average = Totals(rawValue: 1)
        package static let maximum = Totals(rawValue: 2)
        /// Each value counts from the previous item.
        package static let sum = Totals(rawValue: 4)
        /// An item carries several values, and none of them is summed up.
        fileprivate static let list = Totals(rawValue: 8)
    }

    /// The field of a quantity in the records of a FIT file.
    package enum FITColumn: Equatable, Sendable {
        /// Raw values are FIT's base types.
        package enum Base: UInt8, Sendable {
            case sint8 = 1
            case uint8, sint16, uint16, sint32, uint32
        }

        /// A field of FIT's profile: stored = (value + offset) × scale.
        case record(UInt8, Base, scale: Double = 1, offset: Double = 0)
        /// A developer field of the quantity's name.
        case developer
        case absent
    }

    /// An element of TCX or GPX with its prefix; a whole number within `whole`, otherwise a decimal number.
    package struct XMLElement: Sendable {
        package let name: StaticString
        package let whole: ClosedRange<Int64>?

        package init(name: StaticString, whole: ClosedRange<Int64>?) {
            self.name = name
            self.whole = whole
        }

        package var localName: String { String(name.description.split(separator: ":").last ?? "") }
        /// Whether the element is part of an extension, not of the format itself.
        package var isExtension: Bool { name.description.contains(":") }
    }

    /// The facts about a quantity: key in payloads, column in CSV, unit, the range of accepted values, how it is summed up,
    /// and its place in files. Without an element a quantity is absent in TCX or GPX.
    private struct Row: Sendable {
        let key: String
        let csv: String
        let unit: String
        let range: ClosedRange<Double>
        let totals: Totals
        let fit: FITColumn
        var tcx: XMLElement?
        var gpx: XMLElement?

        init(
            _ key: String, _ csv: String, _ unit: String, _ range: ClosedRange<Double>, _ totals: Totals,
            fit: FITColumn = .developer
        ) {
            self.key = key
            self.csv = csv
            self.unit = unit
            self.range = range
            self.totals = totals
            self.fit = fit
        }

        func tcx(_ name: StaticString, _ whole: ClosedRange<Int64>? = nil) -> Row {
            var row = self
            row.tcx = XMLElement(name: name, whole: whole)
            return row
        }

        func gpx(_ name: StaticString, _ whole: ClosedRange<Int64>? = nil) -> Row {
            var row = self
            row.gpx = XMLElement(name: name, whole: whole)
            return row
        }
    }

    /// The key in batches, live metrics and series: one or two lower-case letters, `c` aside.
    package var key: String { stored.key }
    /// The name in summaries, JSON files and FIT's developer fields.
    package var name: String { "\(self)" }
    package var csvName: String { stored.csv }
    package var unit: String { stored.unit }
    /// The accepted values; a field outside them is dropped.
    package var range: ClosedRange<Double> { stored.range }
    package var totals: Totals { stored.totals.subtracting(.list) }
    /// Whether each value counts from the previous item.
    package var isDelta: Bool { stored.totals.contains(.sum) }
    /// Whether an item carries a list of values.
    package var isList: Bool { stored.totals.contains(.list) }
    package var fit: FITColumn { stored.fit }
    package var tcx: XMLElement? { stored.tcx }
    package var gpx: XMLElement? { stored.gpx }

    /// Whether live metrics and summaries have their own properties for the quantity, or omit it. They contain all
    /// others under key or name.
    package var isNamed: Bool { rawValue <= Quantity.temperature.rawValue }

    /// The quantities of series and files.
    package static let recorded = allCases.filter { $0 != .battery }

    /// The most values of a list in one item; more are dropped.
    package static let listLimit = 32
}
