import FIT
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

@Suite struct RecordingTests {
    private let start = 1_700_000_000

    private func recording(_ bytes: [UInt8]) throws -> Recording {
        Recording(try FITActivity(try FITFile(bytes)))
    }

    /// A session of 60 s with the given records, each with a time since the start and a distance in metres.
    private func recording(
        sessionDistance: Double? = nil, sport: Int = 1, subSport: Int? = nil,
        timer: [(time: Int, starts: Bool)] = [], _ records: [(time: Int, distance: Double?)]
    ) throws -> Recording {
        var fixture = FITFixture()
        for record in records {
            var fields: [FITFixture.Field] = [.time(253, start + record.time)]
            if let distance = record.distance { fields.append(.init(5, .uint32, Int((distance * 100).rounded()))) }
            fixture.add(20, local: 1, fields)
        }
        for event in timer {
            fixture.add(
                21, local: 2,
                [
                    .time(253, start + event.time), .init(0, .enumeration, 0),
                    .init(1, .enumeration, event.starts ? 0 : 4),
                ])
        }
        var session: [FITFixture.Field] = [
            .time(253, start + 60), .time(2, start), .init(7, .uint32, 60_000), .init(5, .enumeration, sport),
        ]
        if let subSport { session.append(.init(6, .enumeration, subSport)) }
        if let sessionDistance { session.append(.init(9, .uint32, Int((sessionDistance * 100).rounded()))) }
        fixture.add(18, local: 3, session)
        return try recording(fixture.bytes)
    }

    private func time(_ seconds: Int) -> Timestamp { Timestamp(seconds: Double(start + seconds)) }

    @Test func `pauses become pause and resume, the last stop becomes the end`() throws {
        let recording = try recording(
            FITFixture.workout(start: start, duration: 100, pauses: [20...35, 60...70], interval: 5))
        let commands = recording.steps.compactMap { step -> (Timestamp, SessionAction)? in
            if case .command(let action) = step.kind { (step.at, action) } else { nil }
        }
        #expect(commands.map(\.1.name) == ["start", "pause", "resume", "pause", "resume", "end"])
        #expect(commands.map(\.0) == [0, 20, 35, 60, 70, 100].map(time))
        guard case .start(let started)? = commands.first?.1 else {
            Issue.record("no start")
            return
        }
        #expect(started.countdown == 0)
        #expect(started.activity == .running)
    }

    @Test func `the items that count add up to the recorded distance`() throws {
        let bytes = FITFixture.workout(start: start, duration: 100, pauses: [20...35], interval: 3)
        let recorded = try FITActivity(try FITFile(bytes)).session.distance
        let recording = try recording(bytes)
        let total = recording.samples.compactMap { $0[.distance] }.reduce(0, +)
        #expect(abs(total - (recorded ?? 0)) < 0.005)
        #expect(recording.steps.last?.at == time(100))
    }

    @Test func `a session that ends in a pause is paused before its end`() throws {
        let recording = try recording(timer: [(0, true), (40, false)], [(0, 0), (30, 100)])
        let last = recording.steps.suffix(2)
        #expect(last.map(\.at) == [time(40), time(60)])
        #expect(last.map(\.kind) == [.command(.pause), .command(.end(streams: [:]))])
    }

    @Test func `steps are in order of time`() throws {
        let recording = try recording(
            FITFixture.workout(start: start, duration: 300, pauses: [20...35, 60...70], interval: 1))
        let times = recording.steps.map(\.at)
        #expect(times == times.sorted())
    }

    @Test func `records outside the session are left out and the rest is sorted`() throws {
        let recording = try recording([(-1, nil), (30, nil), (10, nil), (60, nil), (61, nil)])
        #expect(recording.samples.map(\.time) == [10, 30, 60].map(time))
    }

    @Test func `distance counts from the last record before the session`() throws {
        let recording = try recording(sessionDistance: 1, [(-5, 400), (-1, nil), (0, 410), (10, 450)])
        #expect(recording.samples.map { $0[.distance] } == [10, 40])
    }

    @Test func `without a record before it, distance counts back from the session's total`() throws {
        let recording = try recording(sessionDistance: 90, [(0, 510), (60, 590)])
        #expect(recording.samples.map { $0[.distance] } == [10, 80])
    }

    @Test(arguments: [(200.0, 0.0), (10.0, 50.0)])
    func `the base is between 0 and the first distance`(session: Double, base: Double) throws {
        let recording = try recording(sessionDistance: session, [(0, 50), (60, 100)])
        #expect(recording.samples.map { $0[.distance] } == [50 - base, 50])
    }

    @Test func `without a session's distance the whole distance counts`() throws {
        let recording = try recording([(0, 50), (60, 100)])
        #expect(recording.samples.map { $0[.distance] } == [50, 50])
    }

    @Test func `a decreasing distance counts nothing until it exceeds the counted one`() throws {
        let recording = try recording([(0, 0), (10, 100), (20, 40), (30, nil), (40, 90), (50, 130)])
        #expect(recording.samples.map { $0[.distance] } == [0, 100, 0, nil, 0, 30])
    }

    @Test func `a record in a pause has no distance, and the next record includes it`() throws {
        let recording = try recording(
            timer: [(0, true), (20, false), (40, true), (60, false)], [(0, 0), (20, 50), (30, 70), (40, 80), (60, 100)])
        #expect(recording.samples.map { $0[.distance] } == [0, 50, nil, 30, 20])
    }

    @Test func `a distance beyond an item's limit is spread over the following items`() throws {
        let recording = try recording([(0, 0), (10, 25_000), (20, 25_010), (30, 25_020)])
        #expect(recording.samples.map { $0[.distance] } == [0, 10_000, 10_000, 5_020])
    }

    @Test(arguments: [(1, 170.0), (11, 170), (17, 170), (2, 85), (15, 85)])
    func `cadence is in steps for activities on foot`(sport: Int, cadence: Double) throws {
        var fixture = FITFixture()
        fixture.add(20, local: 1, [.time(253, start), .init(4, .uint8, 85)])
        fixture.add(
            18, local: 2,
            [.time(253, start + 60), .time(2, start), .init(7, .uint32, 60_000), .init(5, .enumeration, sport)])
        #expect(try recording(fixture.bytes).samples.map { $0[.cadence] } == [cadence])
    }

    @Test func `values out of an item's range are left out`() throws {
        var fixture = FITFixture()
        fixture.add(
            20, local: 1,
            [.time(253, start), .init(3, .uint8, 10), .init(6, .uint16, 61_000), .init(7, .uint16, 5_001)])
        fixture.add(
            20, local: 1,
            [.time(253, start + 1), .init(3, .uint8, 140), .init(6, .uint16, 3_000), .init(7, .uint16, 250)])
        fixture.add(18, local: 2, [.time(253, start + 60), .time(2, start), .init(7, .uint32, 60_000)])
        let samples = try recording(fixture.bytes).samples
        #expect(samples.count == 2)
        for (quantity, value) in [(Quantity.heartRate, 140.0), (.speed, 3), (.power, 250)] {
            #expect(samples.map { $0[quantity] } == [nil, value])
        }
    }

    @Test func `a record's position becomes a location, and an altitude without a position too`() throws {
        var fixture = FITFixture()
        let (latitude, longitude) = (1 << 29, -(1 << 30))
        fixture.add(20, local: 1, [.time(253, start), .init(2, .uint16, (120 + 500) * 5)])
        fixture.add(
            20, local: 2,
            [
                .time(253, start + 1), .init(0, .sint32, latitude), .init(1, .sint32, longitude),
                .init(2, .uint16, (120 + 500) * 5), .init(78, .uint32, (123 + 500) * 5), .init(6, .uint16, 3_000),
                .init(31, .uint8, 4),
            ])
        fixture.add(
            20, local: 3, [.time(253, start + 2), .init(0, .sint32, latitude), .init(1, .sint32, longitude)])
        fixture.add(18, local: 4, [.time(253, start + 60), .time(2, start), .init(7, .uint32, 60_000)])
        let locations = try recording(fixture.bytes).locations
        var whole = Location(time: time(1), latitude: 45, longitude: -90)
        whole[.altitude] = 123
        whole[.speed] = 3
        whole[.horizontalAccuracy] = 4
        var altitude = Location(time: time(0))
        altitude[.altitude] = 120
        #expect(locations == [altitude, whole, Location(time: time(2), latitude: 45, longitude: -90)])
    }

    /// An hour that climbs 100 m and descends again.
    private func climb(
        sport: Int, subSport: Int, laps: [Int] = [], totals: [FITFixture.Field] = [], hasPosition: (Int) -> Bool
    ) throws -> Recording {
        var fixture = FITFixture()
        for second in 0...3_600 {
            let altitude = 500 + 100 * (1 - abs(Double(second - 1_800)) / 1_800)
            var fields: [FITFixture.Field] = [
                .time(253, start + second), .init(78, .uint32, Int((altitude + 500) * 5)), .init(3, .uint8, 140),
            ]
            if hasPosition(second) {
                fields += [.init(0, .sint32, 1 << 29 + second * 300), .init(1, .sint32, 1 << 28)]
            }
            fixture.add(20, local: hasPosition(second) ? 1 : 2, fields)
        }
        for (index, ascent) in laps.enumerated() {
            let length = 3_600 / laps.count
            fixture.add(
                19, local: 4,
                [
                    .time(253, start + (index + 1) * length), .time(2, start + index * length),
                    .init(7, .uint32, length * 1_000), .init(21, .uint16, ascent),
                ])
        }
        fixture.add(
            18, local: 3,
            [
                .time(253, start + 3_600), .time(2, start), .init(7, .uint32, 3_600_000), .init(5, .enumeration, sport),
                .init(6, .enumeration, subSport),
            ] + totals)
        return try recording(fixture.bytes)
    }

    /// A run outdoors and one on a treadmill, without positions, with all, with some, and with one.
    @Test(arguments: [0, 1], [0, 1, 2, 3_601])
    func `altitudes give the ascent, without positions and of a virtual route too`(subSport: Int, divisor: Int) throws {
        let recording = try climb(sport: 1, subSport: subSport) { divisor > 0 && $0 % divisor == divisor / 3 }
        let isRoute = divisor > 0 && subSport == 0
        let count = divisor > 0 ? (0...3_600).count { $0 % divisor == divisor / 3 } : 0
        #expect(recording.locations.count == (isRoute ? 3_601 : count))
        #expect(recording.samples.count { $0[.barometricAltitude] != nil } == (isRoute ? 0 : 3_601))
        let workout = try PlayedWorkout(recording).workout
        #expect(abs(try #require(workout.ascent) - 100) <= 5)
    }

    @Test(arguments: [[], [90, 30, 10, 0]], [0, 1])
    func `ascent and descent are those of the file's session and laps`(laps: [Int], subSport: Int) throws {
        let totals: [FITFixture.Field] = [.init(22, .uint16, 130), .init(23, .uint16, 80)]
        let recording = try climb(sport: 1, subSport: subSport, laps: laps, totals: totals) { _ in true }
        #expect(recording.totals.ascent == 130 && recording.totals.descent == 80)
        let workout = try PlayedWorkout(recording).workout
        #expect(abs(try #require(workout.ascent) - 130) < 0.01)
        #expect(abs(try #require(workout.descent) - 80) < 0.01)
        // A lap ends between two samples of its climb.
        for (lap, ascent) in zip(workout.laps, laps) {
            let found = try #require(lap.ascent)
            #expect(abs(found - Double(ascent)) < 0.1)
        }
        // It grows where the altitude does.
        let climbing = recording.samples.prefix { $0.time! <= Recording.begin + 1_000 }.compactMap { $0[.ascent] }
        let expected = (laps.first.map { Double($0) / 900 } ?? 130.0 / 1_800) * 900
        #expect(abs(climbing.reduce(0, +) - expected) < 10)
    }

    @Test func `no ascent counts if the device counted descent alone`() throws {
        let down: [FITFixture.Field] = [.init(22, .uint16, 0), .init(23, .uint16, 80)]
        let recording = try climb(sport: 1, subSport: 0, totals: down) { _ in true }
        #expect(try PlayedWorkout(recording).workout.ascent == 0)
        let none: [FITFixture.Field] = [.init(22, .uint16, 0), .init(23, .uint16, 0)]
        let unmeasured = try climb(sport: 1, subSport: 0, totals: none) { _ in true }
        #expect(abs(try #require(PlayedWorkout(unmeasured).workout.ascent) - 100) <= 5)
    }

    @Test func `a developer's barometric altitude wins over the record's`() throws {
        var sample = Sample(time: Recording.begin)
        sample[.barometricAltitude] = 700
        var recording = Recording(
            start: Recording.begin, end: Recording.begin + 1, segments: [Recording.begin...Recording.begin + 1],
            activity: .running, samples: [sample, Sample(time: Recording.begin + 1)])
        recording.take(
            [0, 1].map { second in
                Location(
                    time: Recording.begin + second, latitude: nil, longitude: nil, altitude: 500 + second, speed: nil)
            })
        #expect(recording.samples.map { $0[.barometricAltitude] } == [700, 501])
        #expect(recording.locations.isEmpty)
    }

    @Test func `without distance everything else stays, and the fingerprint differs`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("run.fit")
        try Data(FITFixture.workout(start: start, duration: 60)).write(to: URL(filePath: path))
        let (with, without) = (try RecordingFile(path: path), try RecordingFile(path: path, withoutDistance: true))
        #expect(with.recording.samples.contains { ($0[.distance] ?? 0) > 0 })
        #expect(without.recording.samples.allSatisfy { $0[.distance] == nil })
        #expect(without.recording.locations == with.recording.locations)
        #expect(without.recording.locations.count == 61)
        #expect(without.recording.samples.map { $0[.speed] } == with.recording.samples.map { $0[.speed] })
        #expect(with.fingerprint != without.fingerprint)
    }

    @Test func `a location follows the sample of its time, also around a pause`() throws {
        let steps = try recording(FITFixture.workout(start: start, duration: 20, pauses: [5...10])).steps
        let items = steps.filter { step in
            if case .command = step.kind { false } else { true }
        }
        for (sample, location) in zip(items, items.dropFirst()) {
            guard case .sample = sample.kind else { continue }
            guard case .location = location.kind else {
                Issue.record("no location at \(sample.at)")
                continue
            }
            #expect(sample.at == location.at)
        }
        #expect(items.count == 2 * 17)
    }

    @Test(
        arguments: [
            (1, nil, Activity.running, nil), (1, 1, .running, .indoor), (1, 3, .running, .outdoor),
            (2, 6, .cycling, .indoor), (2, 58, .cycling, .indoor), (4, 14, .rowing, .indoor),
            (10, 20, .traditionalStrength, nil),
            (62, nil, .hiit, nil), (5, 18, .swimming, .outdoor), (0, nil, .other, nil), (99, nil, .other, nil),
        ] as [(Int, Int?, Activity, Workouts.Environment?)])
    func `sport and sub-sport name the activity`(
        sport: Int, subSport: Int?, activity: Activity, environment: Workouts.Environment?
    ) throws {
        let recording = try recording(sport: sport, subSport: subSport, [(0, 0)])
        #expect(recording.activity == activity)
        #expect(recording.environment == environment)
    }

    @Test func `an error about a file that is no recording names the file`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("no workout", to: "notes.fit")
        #expect(throws: RecordingFile.Problem.self) { try RecordingFile(path: path) }
        let missing = #expect(throws: RecordingFile.Problem.self) { try RecordingFile(path: folder.file("none.fit")) }
        #expect(missing?.description.contains("none.fit") == true)
    }
}
