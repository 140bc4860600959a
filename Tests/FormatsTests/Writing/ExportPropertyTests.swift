import Foundation
import TestSupport
import Testing

@testable import Formats
@testable import Workouts

/// Any record and any points become a file.
@Suite struct ExportPropertyTests {
    @Test func `any workout becomes files that are valid in their formats`() async throws {
        var random = SeededRandom()
        for round in 0..<Tier.runs(60, nightly: 300) {
            let exported = try random.oddWorkout()
            let tcx = TCXExport.bytes(of: exported)
            let gpx = GPXExport.bytes(of: exported)
            if round < 12 {
                #expect(try await XMLSchema.tcx.validate(tcx) == "", "round \(round)")
                #expect(try await XMLSchema.gpx.validate(gpx) == "", "round \(round)")
            }
            #expect(try XMLText(tcx).texts("Notes") == [exported.workout.name.writable], "round \(round)")
            #expect(try XMLText(gpx).texts("trk/name") == [exported.workout.name.writable], "round \(round)")
            for number in try XMLText(tcx).texts("Trackpoint/DistanceMeters") { #expect(!number.contains("e")) }
            _ = try JSONSerialization.jsonObject(with: Data(JSONExport.bytes(of: exported)))
            let lines = String(decoding: CSVExport.bytes(of: exported), as: UTF8.self).split(separator: "\r\n")
            #expect(lines.count == exported.allPoints.count + 1)
            #expect(Set(lines.map { $0.count { $0 == "," } }).count == 1)
            for format in ExportFormat.allCases {
                #expect(format.bytes(of: exported) == format.bytes(of: exported), "round \(round)")
            }
        }
    }
}

extension String {
    /// Its characters that XML 1.0 allows.
    fileprivate var writable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.filter {
                    $0.value >= 0x20 && $0.value != 0xFFFE && $0.value != 0xFFFF || "\t\n\r".unicodeScalars.contains($0)
                }))
    }
}

extension SeededRandom {
    fileprivate mutating func oddWorkout() throws -> ExportedWorkout {
        var workout = try PlayedWorkout(Recording(Activity.allCases.randomElement(using: &self)!)).workout
        workout.name = absurdName()
        workout.segments = (0..<Int.random(in: 0...4, using: &self)).map { _ in
            Segment(start: absurdTime(), end: Int.random(in: 0..<8, using: &self) == 0 ? nil : absurdTime())
        }
        if Bool.random(using: &self) { workout.segments.sort { $0.start < $1.start } }
        workout.startedAt = Bool.random(using: &self) ? absurdTime() : nil
        workout.endedAt = Bool.random(using: &self) ? absurdTime() : nil
        workout.laps = (0..<Int.random(in: 0...4, using: &self)).map { _ in
            MetricsSummary.Lap(
                startedAt: absurdTime(), endedAt: absurdTime(), duration: absurdNumber() ?? 0,
                distance: absurdNumber(), activeEnergy: absurdNumber(), averageHeartRate: absurdNumber(),
                maximumHeartRate: absurdNumber())
        }
        workout.activeDuration = absurdNumber() ?? 0
        for total: WritableKeyPath<WorkoutRecord, Double?> in [
            \.distance, \.activeEnergy, \.averageHeartRate, \.maximumHeartRate, \.maximumSpeed, \.averageCadence,
            \.averagePower, \.maximumPower, \.steps, \.ascent,
        ] {
            workout[keyPath: total] = absurdNumber()
        }
        let series = absurdTimes()
        let track = absurdTimes()
        return ExportedWorkout(
            workout: workout,
            series: Series(
                times: series,
                columns: Quantity.allCases.map { quantity in
                    .init(quantity: quantity, values: series.map { _ in absurdNumber() })
                }),
            track: Track(
                times: track,
                columns: Track.Kind.allCases.map { kind in .init(kind: kind, values: track.map { _ in absurdNumber() })
                }))
    }

    private mutating func absurdTimes() -> [Timestamp] {
        let times = (0..<Int.random(in: 0...20, using: &self)).map { _ in absurdTime() }
        return Bool.random(using: &self) ? times : times.sorted()
    }

    /// Mostly close to one another.
    private mutating func absurdTime() -> Timestamp {
        switch Int.random(in: 0..<20, using: &self) {
        case 0: Timestamp(seconds: .greatestFiniteMagnitude)
        case 1: Timestamp(seconds: -.greatestFiniteMagnitude)
        case 2: Timestamp(microseconds: 0)
        default: Recording.begin + Double(Int.random(in: 0...20_000, using: &self)) / 1_000
        }
    }

    private mutating func absurdNumber() -> Double? {
        switch Int.random(in: 0..<4, using: &self) {
        case 0: nil
        case 1: Double.random(in: 0...300, using: &self)
        case 2: Double(Int.random(in: -200...200, using: &self))
        default:
            [
                .nan, .infinity, -.infinity, 1e300, -1e300, 0, -0.0, 1e15, 255.5, 254.5, 65_535.6, 180, 90, 1e-300,
                .greatestFiniteMagnitude,
            ].randomElement(using: &self)!
        }
    }

    private mutating func absurdName() -> String {
        let parts = [
            "]]>", "&", "&amp;", "<", ">", "\"", "'", "\u{0}", "\u{B}", "\u{1F}", "\u{7F}", "\u{FFFE}", "\u{FFFF}",
            "\t", "\n",
            "\r", "\r\n", "🏃🏽‍♀️", "e\u{301}", "\u{2028}", "\u{10FFFF}", "\u{85}", " ", "Run", "<!--", "-->", "<?xml?>",
            "\\",
        ]
        return (0..<Int.random(in: 0...8, using: &self)).map { _ in parts.randomElement(using: &self)! }.joined()
    }
}
