import Bus
import FIT
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats
@testable import Streams

/// Each row of the table of quantities, from a device's JSON to files and back. A new row needs no other test.
struct QuantityTests {
    private static let watch = Device("watch-1")!
    private static let begin = Recording.begin
    private static let segments = [Segment(start: begin, end: begin + 3)]

    /// The values of three items a second apart, in the range of every format.
    private func values(_ quantity: Quantity) -> [[Double]] {
        let span = quantity.range.upperBound - quantity.range.lowerBound
        let values = [0.1, 0.15, 0.2].map { part in
            ((quantity.range.lowerBound + span * part) * 100).rounded() / 100
        }
        return quantity.isList ? [[values[0], values[1]], [values[2]], values] : values.map { [$0] }
    }

    private func samples(_ quantity: Quantity) -> [Sample] {
        values(quantity).enumerated().map { second, values in
            var sample = Sample(time: Self.begin + Double(second))
            sample[all: quantity] = values
            return sample
        }
    }

    /// The export of a run with a position in each second.
    private func exported(_ quantity: Quantity) throws -> ExportedWorkout {
        let samples = samples(quantity)
        let locations = samples.indices.map {
            Location(time: samples[$0].time, latitude: 50 + Double($0) * 2e-5, longitude: 8)
        }
        let recording = Recording(
            start: Self.begin, end: Self.begin + 3, segments: [Self.begin...Self.begin + 3], activity: .running,
            samples: samples, locations: locations)
        return try PlayedWorkout(recording).exported
    }

    private func object(_ bytes: some Sequence<UInt8>) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    private func expect(_ found: [Double?], _ expected: [Double], within tolerance: Double = 1e-9) {
        #expect(found.count == expected.count)
        for (found, expected) in zip(found, expected) {
            #expect(found.map { abs($0 - expected) <= tolerance } == true, "\(found as Any), not \(expected)")
        }
    }

    /// The values of the exported points: the distance since the start, otherwise the measured values.
    private func written(_ quantity: Quantity) -> [[Double]] {
        let values = values(quantity)
        guard quantity == .distance else { return values }
        var sum = 0.0
        return values.map {
            sum += $0[0]
            return [sum]
        }
    }

    @Test func `keys and names are unique`() {
        #expect(Set(Quantity.allCases.map(\.key)).count == Quantity.allCases.count)
        #expect(Set(Quantity.allCases.map(\.csvName)).count == Quantity.allCases.count)
        // Items' bits, and the keys of `metrics`.
        #expect(Quantity.allCases.count <= 63)
        var snapshot = MetricsSnapshot(user: User("anna")!, revision: 1)
        for quantity in Quantity.allCases where !quantity.isNamed {
            snapshot.others[quantity] = [quantity.range.upperBound]
        }
        let text = String(decoding: snapshot.payload, as: UTF8.self)
        for quantity in Quantity.allCases where !quantity.isNamed {
            #expect(text.ranges(of: "\"\(quantity.key)\":").count == 1)
        }
        let keys = text.matches(of: /"([a-z]+)":/).map { String($0.output.1) }
        #expect(keys == keys.sorted())
    }

    @Test(arguments: Quantity.allCases)
    func `a device's JSON is read, written and stored exactly`(quantity: Quantity) throws {
        let items = values(quantity).enumerated().map { second, values in
            let numbers = values.map(\.description).joined(separator: ",")
            let value = quantity.isList ? "[\(numbers)]" : numbers
            return "{\"c\":\((Self.begin + Double(second)).seconds),\"\(quantity.key)\":\(value)}"
        }
        let text = "{\"s\":0,\"x\":[\(items.joined(separator: ","))]}"
        let times = AcceptedTimes(now: Self.begin)
        let batch = try SampleBatch(Array(text.utf8)[...], accepting: times)
        #expect(batch.items == samples(quantity) && batch.invalidValues == 0)
        #expect(try SampleBatch(batch.payload[...], accepting: times) == batch)
        var chunk = ItemChunk<Sample>()
        for item in batch.items { chunk.append(item) }
        #expect(try ItemChunk<Sample>.items(chunk.bytes) == batch.items)
    }

    @Test(arguments: Quantity.allCases)
    func `live metrics and the summary have it`(quantity: Quantity) throws {
        let (samples, values) = (samples(quantity), values(quantity))
        let numbers = values.map { $0[0] }
        let sum = numbers.reduce(0, +)
        var live = LiveMetrics()
        live.addItems(samples, from: Self.watch, segments: Self.segments, now: Self.begin)
        #expect(live.latest(quantity) == numbers[2])
        let session = Session(
            key: SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!),
            start: SessionStart(activity: .running, countdown: 0), at: Self.begin, now: Self.begin)
        let snapshot = live.snapshot(session.state(revision: 1), revision: 2, count: 3, isSilent: false)
        #expect(try MetricsSnapshot(snapshot.payload) == snapshot)
        let items = CountedItems(streams: [Self.watch: samples], segments: Self.segments)
        let summary = try object(JSONCoding.encode(items.summary(laps: [], units: .metric)))
        func total(_ named: String, _ group: String) -> Double? {
            (quantity.isNamed ? summary[named] : (summary[group] as? [String: Any])?[quantity.name]) as? Double
        }
        let name = quantity.name.prefix(1).uppercased() + quantity.name.dropFirst()
        if quantity.totals.contains(.sum) { expect([total(quantity.name, "sums")], [sum], within: 0.001) }
        if quantity.totals.contains(.maximum) { expect([total("maximum\(name)", "maxima")], [numbers[2]]) }
        // The average speed is distance divided by time.
        if quantity.totals.contains(.average), quantity != .speed {
            expect([total("average\(name)", "averages")], [sum / 3], within: 0.001)
        }
        guard !quantity.isNamed else { return }
        let payload = try object(snapshot.payload)
        if quantity.isList {
            #expect(payload[quantity.key] as? [Double] == values[2])
        } else {
            expect([payload[quantity.key] as? Double], [quantity.isDelta ? sum : numbers[2]], within: 0.001)
        }
        let silent = live.snapshot(session.state(revision: 1), revision: 2, count: 3, isSilent: true)
        #expect((silent.others[quantity] != nil) == quantity.isDelta)
    }

    @Test(arguments: Quantity.recorded)
    func `CSV and JSON have it`(quantity: Quantity) throws {
        let exported = try exported(quantity)
        let lines = String(decoding: CSVExport.bytes(of: exported), as: UTF8.self).split(separator: "\r\n")
        let column = try #require(lines[0].split(separator: ",").firstIndex { $0 == quantity.csvName })
        let cells = lines.dropFirst().map {
            $0.split(separator: ",", omittingEmptySubsequences: false)[column].split(separator: " ").compactMap {
                Double($0)
            }
        }
        #expect(cells == written(quantity))
        let points = try #require(try object(JSONExport.bytes(of: exported))["points"] as? [[String: Any]])
        let found = points.map { point in
            point[quantity.name] as? [Double] ?? (point[quantity.name] as? Double).map { [$0] } ?? []
        }
        #expect(found == written(quantity))
    }

    @Test(arguments: Quantity.recorded)
    func `TCX and GPX are read back with it if they have an element for it`(quantity: Quantity) async throws {
        let exported = try exported(quantity)
        for (element, bytes, schema) in [
            (quantity.tcx, TCXExport.bytes(of: exported), XMLSchema.tcx),
            (quantity.gpx, GPXExport.bytes(of: exported), .gpx),
        ] {
            #expect(try await schema.validate(bytes) == "")
            guard let element else { continue }
            let document = try XMLText(bytes)
            #expect(try document.elements(element.localName).count >= 3)
            let read = try #require(Recording(try XMLRecording(Data(bytes)).track)).samples.compactMap { $0[quantity] }
            #expect(read == values(quantity).map { $0[0] })
        }
    }

    @Test(arguments: Quantity.recorded)
    func `a FIT file is read back with it, by independent readers too`(quantity: Quantity) async throws {
        let bytes = FITExport.bytes(of: try exported(quantity))
        let recording = Recording(try FITActivity(try FITFile(bytes)))
        let read = recording.samples.map { $0[all: quantity] }.filter { !$0.isEmpty }
        #expect(read.count == 3)
        for (read, values) in zip(read, values(quantity)) {
            expect(read, values, within: 1e-6 * max(1, abs(values[0])))
        }
        guard !IndependentReader.isAnyMissing else { return print("skipped: PYTHON lacks a FIT reader") }
        let folder = try TemporaryFolder()
        let file = URL(filePath: folder.file("workout.fit"))
        try Data(bytes).write(to: file)
        let records = try await IndependentReader.fields(of: file)
        for (reader, records) in records {
            let found = records.compactMap { record in
                record.first { field in
                    switch quantity.fit {
                    case .record(let number, _, _, _): field.number == number
                    case .developer: field.number == nil && field.name == quantity.name
                    case .absent: false
                    }
                }
            }
            #expect(found.count == 3, "\(reader)")
            var sum = 0.0
            for (field, values) in zip(found, written(quantity)) {
                sum += values[0]
                let isSum = quantity.isDelta && quantity != .distance
                let strides = [.cadence, .steps].contains(quantity) ? 0.5 : 1
                let expected = isSum ? [sum * strides] : values.map { $0 * strides }
                guard case .record(_, _, let scale, let offset) = quantity.fit else {
                    expect(field.values, expected, within: 1e-6 * max(1, abs(expected[0])))
                    continue
                }
                // A reader uses our unit or a thousandth of it. Without a scale it shows the stored value.
                let shown = try #require(field.values.first)
                let stored = (expected[0] + offset) * scale
                #expect(
                    [expected[0], expected[0] * 1000, stored].contains { abs($0 - shown) < 0.51 / abs(scale) },
                    "\(reader): \(shown), not \(expected[0])")
                #expect(!field.name.contains("unknown"), "\(reader)")
                if reader == "garmin-fit-sdk", let name = Self.profile[quantity] { #expect(field.name == name) }
            }
        }
    }

    /// The names of quantities' fields in Garmin's profile.
    private static let profile: [Quantity: String] = [
        .heartRate: "heart_rate", .distance: "distance", .activeEnergy: "calories", .speed: "enhanced_speed",
        .steps: "total_cycles", .cadence: "cadence", .power: "power", .temperature: "temperature", .incline: "grade",
        .leftPowerShare: "left_right_balance", .verticalOscillation: "vertical_oscillation",
        .groundContactTime: "stance_time", .strideLength: "step_length",
        .respirationRate: "enhanced_respiration_rate", .muscleOxygen: "saturated_hemoglobin_percent",
        .totalHemoglobin: "total_hemoglobin_conc", .coreTemperature: "core_temperature",
    ]

    /// A value in the unit of Garmin's profile.
    private func inProfile(_ quantity: Quantity, _ value: Double) -> Double {
        switch quantity {
        // Strides, and the strides since the start.
        case .cadence, .steps: value / 2
        // Millimetres.
        case .strideLength: value * 1_000
        // The share of the right leg, marked by the top bit.
        case .leftPowerShare: 0x80 + 100 - value
        default: value
        }
    }

    @Test func `replay reads every column of a file that Garmin's SDK wrote`() async throws {
        guard !IndependentReader.isAnyMissing else { return print("skipped: PYTHON lacks a FIT writer") }
        var columns: [String: [Double]] = [:]
        for (quantity, name) in Self.profile {
            var sum = 0.0
            columns[name] = values(quantity).map { values in
                sum += values[0]
                return inProfile(quantity, quantity.isDelta ? sum : values[0])
            }
        }
        let own = Quantity.recorded.filter { Self.profile[$0] == nil }
        #expect(own.allSatisfy { $0.fit == .developer })
        let developer = Dictionary(
            uniqueKeysWithValues: own.map { quantity in
                var sum = 0.0
                return (
                    quantity.name,
                    values(quantity).map { values in
                        sum += values[0]
                        return quantity.isDelta ? [sum] : values
                    }
                )
            })
        let folder = try TemporaryFolder()
        let file = folder.file("garmin.fit")
        try await IndependentReader.write(
            URL(filePath: file), start: Int(Self.begin.seconds), columns: columns, developer: developer)
        let samples = try RecordingFile(path: file).recording.samples
        #expect(samples.map(\.time) == [0, 1, 2].map { Self.begin + $0 })
        for quantity in Quantity.recorded {
            for (sample, values) in zip(samples, values(quantity)) {
                #expect(sample[all: quantity].count == values.count, "\(quantity)")
                expect(sample[all: quantity], values, within: 1e-6 * max(1, abs(values[0])))
            }
        }
    }

    @Test func `a list keeps the values in range, at most 32, and may be one number`() throws {
        func item(_ rr: String) throws -> (values: [Double], invalid: Int) {
            let text = "{\"s\":0,\"x\":[{\"c\":1700000000,\"rr\":\(rr)}]}"
            let batch = try SampleBatch(Array(text.utf8)[...], accepting: AcceptedTimes(now: Self.begin))
            return (batch.items[0][all: .rrIntervals], batch.invalidValues)
        }
        #expect(try item("800") == ([800], 0))
        #expect(try item("[ 800 , 199.9, 3001, \"x\", null, [], 810.5 ]") == ([800, 810.5], 5))
        #expect(try item("[]") == ([], 0))
        #expect(try item("\"x\"") == ([], 1))
        let long = [String](repeating: "800", count: 40).joined(separator: ",")
        #expect(try item("[\(long)]") == ([Double](repeating: 800, count: 32), 8))
        #expect(try item("[700],\"rr\":[900]") == ([900], 0))
    }
}
