import FIT
import Foundation
import TestSupport
import Testing

/// Real and generated recordings, read by Pacebus and by fitdecode.
@Suite(.disabled(if: IndependentReader.isMissing, "PYTHON has no fitdecode"))
struct IndependentReaderTests {
    static let recordings = ProcessInfo.processInfo.environment["RECORDINGS_DIR"].map { URL(filePath: $0) }

    @Test(
        .disabled(if: recordings == nil, "RECORDINGS_DIR is not set"),
        arguments: [("run-5km", 1.0), ("ride-39km-with-pauses", 2.0), ("walk-700m", 1.0)])
    func `a real recording equals the independent reader's result`(name: String, tolerance: Double) async throws {
        let file = try #require(Self.recordings).appending(path: "\(name).fit")
        let activity = try await Self.compare(file)
        let active = activity.activeSegments.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
        let timer = try await #require(IndependentReader.summary(of: file).sessions.first?["total_timer_time"])
        #expect(abs(active - timer) <= tolerance)
        for record in activity.records {
            #expect(activity.activeSegments.contains { $0.contains(record.time) }, "record at \(record.time)")
        }
    }

    @Test(arguments: [false, true])
    func `a generated workout equals the independent reader's result`(bigEndian: Bool) async throws {
        try await Self.compare(
            bytes: FITFixture.workout(
                start: 1_700_000_000, duration: 400, pauses: [50...60, 200...300], interval: 3, sport: 2,
                bigEndian: bigEndian))
    }

    @Test func `generated special cases equal the independent reader's result`() async throws {
        let start = 1_700_000_000
        var fixture = FITFixture(headerSize: 12, bigEndian: true)
        fixture.add(207, [.init(3, .uint8, 0)])
        fixture.add(
            206,
            [.init(0, .uint8, 0), .init(1, .uint8, 3), .init(2, .uint8, 2), .string(3, "heart_rate", size: 16)])
        fixture.add(20, [.time(253, start), .init(3, .uint8, 140)], developer: [.init(3, .uint8, 99)])
        for bits: UInt8 in [3, 9, 1] {
            fixture.add(20, local: 2, compressedTime: bits, [.init(3, .uint8, 150), .init(78, .uint32, 3000, 3100)])
        }
        fixture.add(0xFF00, local: 1, [.init(3, .uint16, 1, 2, 3), .string(4, "text", size: 5)])
        fixture.add(18, [.time(2, start), .init(7, .uint32, 100_000), .init(8, .uint32, 90_500)])
        try await Self.compare(bytes: fixture.bytes)
    }

    private static func compare(bytes: [UInt8]) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).fit")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await compare(file)
    }

    /// Expects equal values for every session, lap, record and timer event.
    @discardableResult
    private static func compare(_ file: URL) async throws -> FITActivity {
        let decoded = try FITFile(Data(contentsOf: file))
        let activity = try FITActivity(decoded)
        let expected = try await IndependentReader.summary(of: file)
        #expect(decoded.messages.count == expected.messages)
        try compare(activity.sessions.map(\.named), expected.sessions, "session")
        try compare(activity.laps.map(\.named), expected.laps, "lap")
        try compare(activity.records.map(\.named), expected.records.map(\.inOurUnits), "record")
        #expect(activity.timerEvents.map(\.time) == expected.timer.map(\.time))
        #expect(activity.timerEvents.map { "\($0.kind)".lowercased() } == expected.timer.map(\.type.squeezed))
        return activity
    }

    private static func compare(_ ours: [[String: Double?]], _ theirs: [[String: Double]], _ kind: String) throws {
        try #require(ours.count == theirs.count)
        for (index, (our, their)) in zip(ours, theirs).enumerated() {
            for (name, value) in our {
                let same = value == nil ? their[name] == nil : abs((their[name] ?? .infinity) - value!) < 1e-6
                #expect(same, "\(kind) \(index): \(name) is \(value as Any), not \(their[name] as Any)")
            }
        }
    }
}

extension String {
    /// Without the underscores of `stop_all`.
    fileprivate var squeezed: String { replacing("_", with: "") }
}

extension [String: Double] {
    /// fitdecode keeps positions in semicircles and the cadence's fraction separate.
    fileprivate var inOurUnits: Self {
        var fields = self
        for name in ["position_lat", "position_long"] { fields[name] = self[name].map { $0 * 180 / 2_147_483_648 } }
        fields["cadence"] = self["cadence"].map { $0 + (self["fractional_cadence"] ?? 0) }
        return fields
    }
}

/// Values by fitdecode's names.
extension FITActivity.Session {
    fileprivate var named: [String: Double?] {
        [
            "start_time": start, "total_elapsed_time": elapsedTime, "total_timer_time": timerTime,
            "total_distance": distance, "total_calories": calories, "avg_heart_rate": averageHeartRate,
            "max_heart_rate": maximumHeartRate, "enhanced_avg_speed": averageSpeed, "enhanced_max_speed": maximumSpeed,
            "avg_power": averagePower, "max_power": maximumPower, "total_ascent": ascent, "total_descent": descent,
        ]
    }
}

extension FITActivity.Lap {
    fileprivate var named: [String: Double?] {
        [
            "start_time": start, "total_elapsed_time": elapsedTime, "total_timer_time": timerTime,
            "total_distance": distance, "avg_heart_rate": averageHeartRate,
        ]
    }
}

extension FITActivity.Record {
    fileprivate var named: [String: Double?] {
        [
            "timestamp": time, "position_lat": latitude, "position_long": longitude, "enhanced_altitude": altitude,
            "heart_rate": heartRate, "cadence": cadence, "distance": distance, "enhanced_speed": speed, "power": power,
            "temperature": temperature,
        ]
    }
}
