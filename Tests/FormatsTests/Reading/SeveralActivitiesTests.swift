import FIT
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

private typealias Fixture = TrackFixture

/// Files with several activities, and files that are none.
@Suite struct SeveralActivitiesTests {
    private static let start = 1_700_000_000

    private func files(_ bytes: [UInt8]) throws -> [RecordingFile] {
        let folder = try TemporaryFolder()
        let path = folder.file("recording")
        try Data(bytes).write(to: URL(filePath: path))
        return try RecordingFile.all(path: path)
    }

    private func files(_ text: String) throws -> [RecordingFile] { try files(Array(text.utf8)) }

    private func problem(_ bytes: [UInt8]) -> String {
        let error = #expect(throws: RecordingFile.Problem.self) { try files(bytes) }
        return error?.description ?? ""
    }

    private func distance(_ file: RecordingFile) -> Double {
        file.recording.samples.compactMap { $0[.distance] }.reduce(0, +)
    }

    /// A swim of 100 s and a run of 200 s, one after the other.
    private func triathlon(restarts: Bool) -> [UInt8] {
        var fixture = FITFixture()
        for time in stride(from: 0, through: 300, by: 10) {
            let distance = restarts && time >= 100 ? (time - 100) * 300 : time * 300
            fixture.add(20, local: 1, [.time(253, Self.start + time), .init(5, .uint32, distance)])
        }
        for (from, duration, distance, sport) in [(0, 95, 285, 5), (100, 200, 600, 1)] {
            fixture.add(
                18, local: 2,
                [
                    .time(2, Self.start + from), .init(7, .uint32, duration * 1_000),
                    .init(9, .uint32, distance * 100), .init(5, .enumeration, sport),
                ])
        }
        return fixture.bytes
    }

    @Test(arguments: [true, false])
    func `each session of a FIT file is a workout with its own distance`(restarts: Bool) throws {
        let files = try files(triathlon(restarts: restarts))
        #expect(files.map(\.number) == [1, 2] && files.map(\.count) == [2, 2])
        #expect(files.map(\.recording.activity) == [.swimming, .running])
        #expect(files.map { $0.recording.samples.count } == [10, 21])
        #expect(abs(distance(files[1]) - (restarts ? 600 : 630)) < 0.01)
        #expect(Set(files.map(\.fingerprint)).count == 2)
    }

    @Test func `each activity of a TCX file is a workout, those of a multi-sport session too`() throws {
        let lap = Fixture.lap(
            0, duration: 9, [[Fixture.trackpoint(0, distance: 0), Fixture.trackpoint(9, distance: 30)]])
        let later = Fixture.lap(
            100, duration: 9, [[Fixture.trackpoint(100, distance: 0), Fixture.trackpoint(109, distance: 50)]])
        let text = """
            <TrainingCenterDatabase><Activities><MultiSportSession><FirstSport><Activity Sport="Running">\(lap)</Activity>
            </FirstSport><NextSport><Transition>\(lap)</Transition><Activity Sport="Biking">\(later)</Activity></NextSport>
            </MultiSportSession></Activities><Courses><Course>\(lap)</Course></Courses></TrainingCenterDatabase>
            """
        let files = try files(text)
        #expect(files.map(\.recording.activity) == [.running, .cycling])
        #expect(files.map(distance) == [30, 50])
        #expect(files.map { $0.recording.start.seconds } == [Fixture.start, Fixture.start + 100])
    }

    @Test func `each track of a GPX file with times is a workout`() throws {
        let second = "<trk><type>cycling</type><trkseg>\(Fixture.point(900))\(Fixture.point(950))</trkseg></trk></gpx>"
        let text = Fixture.gpx([[Fixture.point(0), Fixture.point(5)]])
            .replacingOccurrences(of: "<trk>", with: "<trk><trkseg><trkpt lat=\"1\" lon=\"1\"/></trkseg></trk><trk>")
            .replacingOccurrences(of: "</gpx>", with: second)
        let files = try files(text)
        #expect(files.map(\.recording.activity) == [.running, .cycling])
        #expect(files.map { $0.recording.segments.duration } == [5, 50])
    }

    @Test(
        arguments: [
            ("treadmill", .running, .indoor), ("Indoor Cycling", .cycling, .indoor), ("VirtualRide", .cycling, .indoor),
            ("indoor_rowing", .rowing, .indoor), ("lap_swimming", .swimming, .indoor),
            ("open_water_swimming", .swimming, .outdoor), ("spinning", .cycling, .indoor), ("running", .running, nil),
            ("traditionalStrength", .traditionalStrength, nil), ("rowing machine", .rowing, .indoor),
        ] as [(String, Activity, Workouts.Environment?)])
    func `words for equipment mean indoors`(words: String, activity: Activity, environment: Workouts.Environment?)
        throws
    {
        let gpx = try files(Fixture.gpx(type: words, [[Fixture.point(0)]]))[0].recording
        let tcx = try files(Fixture.tcx(sport: words, [Fixture.lap(0, duration: 1, [[Fixture.trackpoint(0)]])]))[0]
            .recording
        #expect([gpx.activity, tcx.activity] == [activity, activity])
        #expect([gpx.environment, tcx.environment] == [environment, environment])
    }

    @Test func `a file that is no recording is named for what it is`() {
        #expect(problem([]).hasSuffix("the file is empty"))
        #expect(problem(Array(" \n\n".utf8)).hasSuffix("the file is empty"))
        #expect(problem(Array("no workout".utf8)).contains("neither FIT (no .FIT signature), GPX nor TCX"))
        #expect(problem([0x1F, 0x8B, 8, 0]).contains("unpack it first"))
        #expect(problem(Array("PK\u{3}\u{4}".utf8)).contains("unpack it first"))
        #expect(problem(Array("<TrainingCenterDatabase/>".utf8)).contains("no activity"))
        let whole = FITFixture.workout(start: Self.start, duration: 20)
        #expect(problem(Array(whole.prefix(20))).contains("truncated FIT file"))
    }
}

/// Each column of the table of quantities, in a file of another program.
struct QuantityReadingTests {
    /// Three values in range of every format; sums grow by one.
    private func values(_ quantity: Quantity) -> [Double] {
        let span = quantity.range.upperBound - quantity.range.lowerBound
        return [0.1, 0.15, 0.2].map { (quantity.range.lowerBound + span * $0).rounded() }
    }

    @Test(arguments: Quantity.recorded)
    func `a FIT file's field is read`(quantity: Quantity) throws {
        guard case .record(let number, let base, let scale, let offset) = quantity.fit else { return }
        let type = try #require(FITBaseType(rawValue: base.rawValue))
        let values = quantity.isDelta ? [0, 2, 6] : values(quantity)
        var fixture = FITFixture()
        for (second, value) in values.enumerated() {
            let stored = Int(((value + offset) * scale).rounded())
            fixture.add(20, [.time(253, 1_700_000_000 + second), .init(number, type, stored)])
        }
        fixture.add(18, local: 1, [.time(2, 1_700_000_000), .init(7, .uint32, 2_000), .init(5, .enumeration, 1)])
        let samples = Recording(try FITActivity(try FITFile(fixture.bytes))).samples
        // Files count strides, which are two steps.
        let factor = [.cadence, .steps].contains(quantity) ? 2.0 : 1
        let expected = (quantity.isDelta ? [0, 2, 4] : values).map { $0 * factor }
        #expect(samples.count == 3)
        for (sample, expected) in zip(samples, expected) {
            #expect(abs(try #require(sample[quantity], "\(quantity)") - expected) < 0.01)
        }
    }

    @Test(arguments: Quantity.recorded)
    func `the elements of TCX and GPX are read`(quantity: Quantity) throws {
        let values = quantity.isDelta ? [0, 2, 6] : values(quantity)
        let expected = (quantity.isDelta ? [0, 2, 4] : values).map { $0 * (quantity == .cadence ? 2 : 1) }
        let folder = try TemporaryFolder()
        func read(_ text: String) throws -> [Double?] {
            try RecordingFile(path: try folder.write(text, to: "a")).recording.samples.map { $0[quantity] }
        }
        if let element = quantity.tcx {
            let points = values.enumerated().map { second, value in
                let name = element.localName
                let inner = quantity == .heartRate ? "<Value>\(value)</Value>" : "\(value)"
                let text = "<\(name)>\(inner)</\(name)>"
                return TrackFixture.trackpoint(
                    Double(second),
                    element.isExtension ? "<Extensions><TPX xmlns=\"urn:x\">\(text)</TPX></Extensions>" : text)
            }
            let text = TrackFixture.tcx([TrackFixture.lap(0, duration: 2, [points])])
            #expect(try read(text.replacingOccurrences(of: "<Calories>9</Calories>", with: "")) == expected)
        }
        if let element = quantity.gpx {
            let points = values.enumerated().map { second, value in
                TrackFixture.point(
                    Double(second), "<\(element.localName) xmlns=\"urn:y\">\(value)</\(element.localName)>")
            }
            #expect(try read(TrackFixture.gpx([points])) == expected)
        }
    }
}
