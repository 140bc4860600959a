import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

/// GPX and TCX as recordings.
@Suite struct TrackRecordingTests {
    private typealias Fixture = TrackFixture

    private func recording(_ text: String) throws -> Recording {
        let folder = try TemporaryFolder()
        return try RecordingFile(path: try folder.write(text, to: "recording")).recording
    }

    private func problem(_ text: String) -> String {
        let error = #expect(throws: RecordingFile.Problem.self) { try recording(text) }
        return error?.description ?? ""
    }

    /// Bounds in seconds since the fixture's start.
    private func segments(_ recording: Recording) -> [[Double]] {
        recording.segments.map { [$0.lowerBound.seconds - Fixture.start, $0.upperBound.seconds - Fixture.start] }
    }

    @Test func `a new segment of a GPX track begins after a pause`() throws {
        let recording = try recording(
            Fixture.gpx([[Fixture.point(0), Fixture.point(4.5)], [Fixture.point(60), Fixture.point(61)]]))
        #expect(segments(recording) == [[0, 4.5], [60, 61]])
        #expect(recording.activity == .running)
        #expect(recording.samples.map { $0.time?.seconds } == [0, 4.5, 60, 61].map { Fixture.start + $0 })
    }

    @Test func `GPX extensions are read whatever their namespace`() throws {
        let garmin = """
            <gpxtpx:TrackPointExtension><gpxtpx:atemp>21</gpxtpx:atemp><gpxtpx:hr>140</gpxtpx:hr>
            <gpxtpx:cad>85</gpxtpx:cad><gpxtpx:speed>3.5</gpxtpx:speed></gpxtpx:TrackPointExtension><power>250</power>
            """
        let cluetrust = "<gpxdata:hr>141</gpxdata:hr><gpxdata:cadence>86</gpxdata:cadence>"
        let samples = try recording(Fixture.gpx([[Fixture.point(0, garmin), Fixture.point(1, cluetrust)]])).samples
        #expect(samples.map { $0[.heartRate] } == [140, 141])
        #expect(samples.map { $0[.cadence] } == [170, 172])
        #expect(samples.map { $0[.speed] } == [3.5, nil])
        #expect(samples.map { $0[.power] } == [250, nil])
    }

    @Test func `a recorded distance becomes metres since the previous item, over pauses too`() throws {
        func point(_ second: Double, _ distance: Double) -> String {
            Fixture.point(second, "<gpxdata:distance>\(distance)</gpxdata:distance>")
        }
        let samples = try recording(Fixture.gpx([[point(0, 10), point(2, 13.04)], [point(60, 15), point(62, 21)]]))
            .samples
        #expect(samples.map { $0[.distance] } == [10, 3.04, 1.96, 6])
    }

    @Test func `without a recorded distance no item has one`() throws {
        let samples = try recording(Fixture.gpx([[Fixture.point(0), Fixture.point(1)]])).samples
        #expect(samples.allSatisfy { $0[.distance] == nil })
    }

    @Test(
        arguments: [
            (nil, Activity.other), ("running", .running), ("trail_running", .running), ("Biking", .cycling),
            ("road cycling", .cycling), ("Hiking", .hiking), ("walking", .walking), ("chess", .other),
        ] as [(String?, Activity)])
    func `the track's type names the activity`(type: String?, activity: Activity) throws {
        #expect(try recording(Fixture.gpx(type: type, [[Fixture.point(0)]])).activity == activity)
    }

    @Test func `points without a usable time or value are left out, and the others are kept`() throws {
        let odd = "<trkpt lat=\"1\" lon=\"1\"><time>yesterday</time></trkpt><trkpt lat=\"1\" lon=\"1\"/>"
        let text = Fixture.gpx([
            [odd, Fixture.point(3, "<hr>fast</hr>"), Fixture.point(1, "<hr>500</hr>"), Fixture.point(2, "<hr>99</hr>")]
        ])
        let samples = try recording(text).samples
        #expect(samples.compactMap { $0.time?.seconds } == [1, 2, 3].map { Fixture.start + $0 })
        #expect(samples.map { $0[.heartRate] } == [nil, 99, nil])
    }

    @Test(arguments: ["nan", "inf", "-5", "1e300", "far"])
    func `impossible numbers count as absent`(number: String) throws {
        let gpx = Fixture.gpx([
            [Fixture.point(0, "<distance>\(number)</distance>"), Fixture.point(1, "<distance>3</distance>")]
        ])
        #expect(try recording(gpx).samples.map { $0[.distance] } == [nil, 3])
        let laps = [
            Fixture.lap(0, duration: 7, distance: 30, [[Fixture.trackpoint(0, distance: 10)]]),
            Fixture.lap(9, duration: 7, [[Fixture.trackpoint(9, distance: 30)]]),
        ]
        let tcx = Fixture.tcx(laps).replacingOccurrences(of: ">7.0<", with: ">\(number)<")
        #expect(segments(try recording(tcx)) == [[0, 0], [9, 9]])
    }

    @Test func `the first track with times is the recording`() throws {
        let route = "<trk><trkseg><trkpt lat=\"1\" lon=\"1\"/></trkseg></trk>"
        let second = "<trk><trkseg>\(Fixture.point(900))</trkseg></trk></gpx>"
        let text = Fixture.gpx([[Fixture.point(0), Fixture.point(5)]])
            .replacingOccurrences(of: "<trk>", with: "\(route)<trk>").replacingOccurrences(of: "</gpx>", with: second)
        #expect(segments(try recording(text)) == [[0, 5]])
    }

    @Test func `a new track within a TCX lap begins after a pause`() throws {
        let laps = [
            Fixture.lap(
                0, duration: 20,
                [
                    [Fixture.trackpoint(0), Fixture.trackpoint(10)], [Fixture.trackpoint(40), Fixture.trackpoint(50)],
                ])
        ]
        #expect(segments(try recording(Fixture.tcx(laps))) == [[0, 10], [40, 50]])
    }

    @Test func `a lap that follows at once continues the segment, one after a gap begins after a pause`() throws {
        let laps = [
            Fixture.lap(
                0, duration: 26,
                [[Fixture.trackpoint(0), Fixture.trackpoint(10)], [Fixture.trackpoint(30), Fixture.trackpoint(42)]]),
            // By its duration, the previous lap lasts until 46.
            Fixture.lap(46, duration: 14, [[Fixture.trackpoint(48), Fixture.trackpoint(60)]]),
            Fixture.lap(90, duration: 10, [[Fixture.trackpoint(91), Fixture.trackpoint(100)]]),
        ]
        #expect(segments(try recording(Fixture.tcx(laps))) == [[0, 10], [30, 60], [91, 100]])
    }

    @Test func `the clock runs from the first lap's start`() throws {
        let laps = [Fixture.lap(0, duration: 10, [[Fixture.trackpoint(3), Fixture.trackpoint(10)]])]
        #expect(segments(try recording(Fixture.tcx(laps))) == [[0, 10]])
    }

    @Test func `a TCX trackpoint's values are read, a lap's averages are not`() throws {
        let more = """
            <HeartRateBpm><Value>140</Value></HeartRateBpm><Extensions><ns3:TPX><ns3:Speed>3.5</ns3:Speed>
            <ns3:RunCadence>85</ns3:RunCadence><ns3:Watts>250</ns3:Watts></ns3:TPX></Extensions>
            """
        let laps = [Fixture.lap(0, duration: 1, [[Fixture.trackpoint(0, more), Fixture.trackpoint(1)]])]
        let recording = try recording(Fixture.tcx(laps))
        #expect(recording.activity == .running)
        for (quantity, value) in [(Quantity.heartRate, 140.0), (.speed, 3.5), (.cadence, 170), (.power, 250)] {
            #expect(recording.samples.map { $0[quantity] } == [value, nil])
        }
    }

    @Test func `a trackpoint's position becomes a location`() throws {
        let position = """
            <Position><LatitudeDegrees>47.5</LatitudeDegrees><LongitudeDegrees>-9.25</LongitudeDegrees></Position>
            <AltitudeMeters>-3.5</AltitudeMeters><Extensions><ns3:TPX><ns3:Speed>3.5</ns3:Speed></ns3:TPX></Extensions>
            """
        let laps = [Fixture.lap(0, duration: 1, [[Fixture.trackpoint(0, position), Fixture.trackpoint(1)]])]
        var location = Location(time: Timestamp(seconds: Fixture.start), latitude: 47.5, longitude: -9.25)
        location[.altitude] = -3.5
        location[.speed] = 3.5
        #expect(try recording(Fixture.tcx(laps)).locations == [location])
    }

    @Test func `trackpoints without any position have barometric altitude`() throws {
        let altitudes = [0, 1].map { Fixture.trackpoint($0, "<AltitudeMeters>\(500 + $0)</AltitudeMeters>") }
        let recording = try recording(Fixture.tcx([Fixture.lap(0, duration: 1, [altitudes])]))
        #expect(recording.samples.map { $0[.barometricAltitude] } == [500, 501])
        #expect(recording.locations.isEmpty)
    }

    @Test
    func `a track point's position becomes a location with speed and course, an impossible one leaves its altitude`()
        throws
    {
        let point = Fixture.point(0, "<gpxtpx:speed>3.5</gpxtpx:speed><gpxtpx:course>270</gpxtpx:course>")
        let impossible = Fixture.point(1).replacing("lat=\"47.2\"", with: "lat=\"97.2\"")
        var location = Location(time: Timestamp(seconds: Fixture.start), latitude: 47.2, longitude: 9.04)
        location[.altitude] = 787
        location[.speed] = 3.5
        location[.course] = 270
        let recording = try recording(Fixture.gpx([[point, impossible]]))
        var altitude = Location(time: Timestamp(seconds: Fixture.start + 1))
        altitude[.altitude] = 787
        #expect(recording.locations == [location, altitude])
        #expect(recording.samples.count == 2)
    }

    @Test func `a track with positions is outdoors for any activity`() throws {
        func environment(_ text: String) throws -> Workouts.Environment? {
            guard case .command(.start(let start))? = try recording(text).steps.first?.kind else { return nil }
            return start.environment
        }
        #expect(try environment(Fixture.gpx(type: nil, [[Fixture.point(0)]])) == .outdoor)
        #expect(try environment(Fixture.tcx([Fixture.lap(0, duration: 1, [[Fixture.trackpoint(0)]])])) == nil)
    }

    /// A virtual ride of 1 km in 100 s that climbs 50 m, with a pause and a jump in its middle, and a position far away.
    private func virtualRide(totals: [String: Double] = [:], _ extensions: String = "") throws -> Recording {
        func point(_ second: Double, latitude: Double? = nil) -> String {
            let isLater = second > 50
            let north = second * 10 + (isLater ? 900 : 0)
            return Fixture.point(
                second + (isLater ? 100 : 0), latitude: latitude ?? 47.2 + north / 111_195, extensions
            ).replacing(">787<", with: ">\(787 + second / 2)<")
        }
        func points(_ seconds: ClosedRange<Int>) -> [String] { seconds.map { point(Double($0)) } }
        let parts = [points(0...25) + [point(25.5, latitude: 0)] + points(26...50), points(51...101)]
        return try recording(Fixture.gpx(type: "VirtualRide", totals: totals, parts))
    }

    @Test func `a virtual ride keeps its distance and ascent`() throws {
        let recording = try virtualRide()
        #expect(recording.activity == .cycling && recording.environment == .indoor)
        let workout = try PlayedWorkout(recording).workout
        // Without the second around the position far away.
        #expect(abs(try #require(workout.distance) - 990) < 1)
        #expect(abs(try #require(workout.ascent) - 50) <= 5)
        #expect(recording.samples[1][.distance] == 10)
    }

    @Test func `a virtual ride's own distance wins over its positions`() throws {
        let total = try virtualRide(totals: ["Distance": 1_020])
        #expect(abs(try #require(PlayedWorkout(total).workout.distance) - 1_020) < 1)
        #expect(abs(try #require(total.samples[1][.distance]) - 10 * 1_020 / 990) < 0.02)
        let measured = try virtualRide("<gpxdata:distance>7</gpxdata:distance>")
        #expect(measured.samples.compactMap { $0[.distance] }.reduce(0, +) == 7)
    }

    @Test func `cadence on a bicycle stays as it is`() throws {
        let laps = [Fixture.lap(0, duration: 1, [[Fixture.trackpoint(0, "<Cadence>85</Cadence>")]])]
        let recording = try recording(Fixture.tcx(sport: "Biking", laps))
        #expect(recording.activity == .cycling)
        #expect(recording.samples.map { $0[.cadence] } == [85])
    }

    @Test func `distance from before the first lap is left out`() throws {
        let laps = [
            Fixture.lap(0, duration: 9, distance: 30, [[Fixture.trackpoint(0, distance: 500)]]),
            Fixture.lap(
                9, duration: 9, distance: 40,
                [[Fixture.trackpoint(9, distance: 530), Fixture.trackpoint(18, distance: 570)]]),
        ]
        #expect(try recording(Fixture.tcx(laps)).samples.map { $0[.distance] } == [0, 30, 40])
    }

    @Test func `an error about a file that is no recording has the reason`() throws {
        #expect(problem("<html></html>").contains("neither GPX nor TCX"))
        #expect(problem("<gpx><trk>").contains("beyond line 1"))
        #expect(problem("<gpx>\n<trk></gpx>").contains("beyond line 2"))
        #expect(problem(Fixture.gpx([[Fixture.point(0)]]) + "more").contains("cannot be read"))
        #expect(problem(Fixture.gpx([])).contains("no track with times"))
        #expect(problem(Fixture.tcx([])).contains("no track with times"))
        #expect(problem("").contains("recording"))
        #expect(problem("<").contains("line 1"))
    }

    @Test func `a file of 12 MB is read`() throws {
        let comments = String(repeating: "<!-- \(String(repeating: "long ", count: 20)) -->", count: 120_000)
        let text = Fixture.gpx([[Fixture.point(0), comments, Fixture.point(1)]])
        #expect(text.utf8.count > 12_000_000)
        #expect(try recording(text).samples.count == 2)
    }

    @Test func `entities that expand exponentially are refused unread`() throws {
        let entities = (1...9).map { "<!ENTITY a\($0) \"\(String(repeating: "&a\($0 - 1);", count: 10))\">" }
        let bomb = """
            <?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY a0 "aaaaaaaaaa">\(entities.joined())]>
            <gpx><trk><type>&a9;</type></trk></gpx>
            """
        #expect(problem(bomb).contains("document type"))
    }

    @Test func `a million nested elements are refused`() throws {
        #expect(problem("<gpx>" + String(repeating: "<a>", count: 1_000_000)).contains("cannot be read"))
    }

    @Test func `damaged files are read or refused with a description`() throws {
        var random = SeededRandom()
        let gpx = Fixture.gpx([[Fixture.point(0, "<hr>99</hr>"), Fixture.point(1)], [Fixture.point(9)]])
        let laps = [
            Fixture.lap(0, duration: 5, distance: 9, [[Fixture.trackpoint(0, distance: 1)], [Fixture.trackpoint(4)]])
        ]
        let bytes = [gpx, Fixture.tcx(laps)].map { Array($0.utf8) }
        for _ in 0..<1_000 {
            var damaged = bytes[Int.random(in: 0..<bytes.count, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: damaged[index] = UInt8(ascii: "9")
                case 1: damaged[index] = .random(in: 1...255, using: &random)
                default: damaged.removeSubrange(index..<min(damaged.count, index + 20))
                }
            }
            do throws(XMLRecording.Problem) {
                let recording = Recording(try XMLRecording(Data(damaged)).track)
                // The first point of a track has a position, and neither metres nor a heart rate if these are damaged.
                // One with neither lasts: a lap may have its duration alone.
                #expect(recording.map { $0.samples.isEmpty && $0.locations.isEmpty && $0.start == $0.end } != true)
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }

    @Test func `an independent reader reads the same values`() async throws {
        let parts = (0..<5).map { part in
            (0..<200).map { number in
                let second = Double(part * 400 + number) + 0.34
                let distance = Double(part * 200 + number) * 2.75
                return Fixture.point(
                    second, "<gpxdata:distance>\(distance)</gpxdata:distance><gpxdata:hr>\(100 + part)</gpxdata:hr>")
            }
        }
        let folder = try TemporaryFolder()
        try await expectAgreement(try folder.write(Fixture.gpx(parts), to: "run.gpx"))
    }

    @Test func `run-8km keeps its own distance and times`() async throws {
        guard let folder = ProcessInfo.processInfo.environment["RECORDINGS_DIR"] else {
            print("skipped: RECORDINGS_DIR names no folder with run-8km.gpx")
            return
        }
        try await expectAgreement("\(folder)/run-8km.gpx")
    }

    /// Compares a recording with ``IndependentTrack``: times and heart rates of all points, pauses, the total distance.
    private func expectAgreement(_ path: String) async throws {
        let recording = try RecordingFile(path: path).recording
        let parts = try await IndependentTrack.parts(of: path)
        let points = parts.flatMap(\.self)
        #expect(recording.samples.compactMap { $0.time?.seconds } == points.map(\.time))
        #expect(recording.samples.map { $0[.heartRate] } == points.map(\.heartRate))
        #expect(recording.locations.map { $0.time?.seconds } == points.map(\.time))
        #expect(recording.locations.map(\.latitude) == points.map(\.latitude))
        #expect(recording.locations.map(\.longitude) == points.map(\.longitude))
        #expect(recording.locations.map(\.altitude) == points.map(\.altitude))
        #expect(
            recording.segments.map { [$0.lowerBound.seconds, $0.upperBound.seconds] }
                == parts.map { [$0[0].time, $0[$0.count - 1].time] })
        let segments = recording.segments.map { Segment(start: $0.lowerBound, end: $0.upperBound) }
        let summary = CountedItems(streams: [Device("watch-1")!: recording.samples], segments: segments)
            .summary(laps: [], units: .metric)
        let distance = try #require(points.last?.distance)
        #expect(abs(try #require(summary.distance) - distance) <= distance / 1_000)
    }
}
