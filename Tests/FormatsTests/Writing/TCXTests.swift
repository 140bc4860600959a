import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

@Suite struct TCXTests {
    private static let extensions = "http://www.garmin.com/xmlschemas/ActivityExtension/v2"

    private func text(_ recording: Recording, name: String? = nil, laps: [Double] = []) async throws
        -> XMLText
    {
        let played = try PlayedWorkout(recording, name: name, laps: laps.map { Recording.begin + $0 })
        let bytes = TCXExport.bytes(of: played.exported)
        #expect(try await XMLSchema.tcx.validate(bytes) == "")
        return try XMLText(bytes)
    }

    private func times(_ values: [Double]) -> [String] {
        values.map { value in
            var bytes: [UInt8] = []
            bytes.append(Recording.begin + value, decimals: value == value.rounded() ? 0 : 3)
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    @Test func `a trackpoint has the measurements of its time, in the order of the schemas`()
        throws
    {
        let recording = Recording(
            .cycling, segments: [0...1.25],
            samples: [
                (0, [.heartRate: 120, .cadence: 85, .power: 210.4, .speed: 5.1234567, .distance: 0]),
                (1.25, [.distance: 6.5]),
            ], places: [(0, 46.16464198, -6.5)])
        let bytes = TCXExport.bytes(of: try PlayedWorkout(recording).exported)
        let track = """
                <Track>
                 <Trackpoint>
                  <Time>2023-11-14T22:13:20Z</Time>
                  <Position>
                   <LatitudeDegrees>46.16464198</LatitudeDegrees>
                   <LongitudeDegrees>-6.5</LongitudeDegrees>
                  </Position>
                  <DistanceMeters>0</DistanceMeters>
                  <HeartRateBpm>
                   <Value>120</Value>
                  </HeartRateBpm>
                  <Cadence>85</Cadence>
                  <Extensions>
                   <ns3:TPX>
                    <ns3:Speed>5.123</ns3:Speed>
                    <ns3:Watts>210</ns3:Watts>
                   </ns3:TPX>
                  </Extensions>
                 </Trackpoint>
                 <Trackpoint>
                  <Time>2023-11-14T22:13:21.250Z</Time>
                  <DistanceMeters>6.5</DistanceMeters>
                 </Trackpoint>
                </Track>

            """
        #expect(String(decoding: bytes, as: UTF8.self).contains(track))
    }

    @Test
    func
        `a pause starts a new track, and ends without measurements are points with a time only`()
        async throws
    {
        let text = try await text(
            Recording(
                segments: [0...10.5, 60...70],
                samples: [(0, [.heartRate: 100]), (9, [:]), (62, [.heartRate: 90])]))
        #expect(try text.elements("Lap").count == 1)
        #expect(try text.counts("Track") == [2, 3])
        #expect(try text.texts("Trackpoint/Time") == times([0, 10.5, 60, 62, 70]))
        #expect(try text.texts("Trackpoint/HeartRateBpm") == ["100", "90"])
        #expect(try text.numbers("TotalTimeSeconds") == [20.5])
    }

    @Test func `laps have their own totals, and a point between two belongs to the later`() async throws {
        let samples = (0...40).map {
            (Double($0), [Quantity.distance: 2.5, .heartRate: 100 + Double($0), .activeEnergy: 0.5])
        }
        let text = try await text(
            Recording(segments: [0...20, 100...140], samples: samples), laps: [10, 120])
        #expect(
            try text.attributes("StartTime", of: "Lap") == times([0, 10, 120]))
        #expect(try text.numbers("TotalTimeSeconds") == [10, 30, 20])
        #expect(try text.numbers("Lap/DistanceMeters") == [27.5, 25, 0])
        #expect(try text.numbers("Calories") == [6, 5, 0])
        #expect(try text.counts("Lap/Track") == [10, 11, 1, 1])
        #expect(try text.numbers("AverageHeartRateBpm/Value") == [105, 115])
        #expect(try text.numbers("MaximumHeartRateBpm/Value") == [110, 120])
    }

    @Test func `a lap that begins with a pause starts when the clock runs again`() async throws {
        let samples = [0.0, 5, 10, 60, 65].map { ($0, [Quantity.heartRate: 100.0]) }
        let text = try await text(Recording(segments: [0...10, 60...65], samples: samples), laps: [10])
        #expect(try text.attributes("StartTime", of: "Lap") == times([0, 60]))
        #expect(try text.counts("Lap/Track") == [3, 2])
    }

    @Test(arguments: [(Activity.running, "Running"), (.hiking, "Other"), (.walking, "Other")])
    func `cadence on foot is in strides`(activity: Activity, sport: String)
        async throws
    {
        let text = try await text(
            Recording(activity, samples: [(0, [.cadence: 170]), (60, [.cadence: 600])]))
        #expect(try text.attributes("Sport", of: "Activity") == [sport])
        #expect(try text.texts("TPX/RunCadence") == ["85"])
        #expect(try text.texts("LX/AvgRunCadence") == ["85"])
        #expect(try text.elements("Cadence").isEmpty)
    }

    @Test func `extensions are in the order of their schema`() async throws {
        let values: [Quantity: Double] = [
            .speed: 3, .cadence: 170, .power: 250, .steps: 3, .distance: 3, .heartRate: 99,
        ]
        let text = try await text(Recording(samples: (0...60).map { (Double($0), values) }))
        #expect(try text.elements("TPX").count == 61)
        #expect(
            try text.hasOrder(["Speed", "RunCadence", "Watts"], in: "TPX", namespace: Self.extensions))
        #expect(
            try text.hasOrder(
                [
                    "AvgSpeed", "MaxBikeCadence", "AvgRunCadence", "MaxRunCadence", "Steps", "AvgWatts",
                    "MaxWatts",
                ],
                in: "LX", namespace: Self.extensions))
        #expect(try text.counts("LX") == [5])
        #expect(try text.texts("Steps") == ["183"])
    }

    @Test func `the notes contain a name of any characters, except those that XML forbids`()
        async throws
    {
        let name = "]]> <b> & \"quoted\" 'so' \u{0}\u{8}\u{FFFE}🏃🏽‍♀️ ü\r\n\tend"
        let text = try await text(Recording(), name: name)
        #expect(try text.texts("Notes") == ["]]> <b> & \"quoted\" 'so' 🏃🏽‍♀️ ü\r\n\tend"])
    }

    @Test func `heart rates and cadences out of the format's range are left out`() async throws {
        let text = try await text(Recording(.rowing, samples: [(0, [.heartRate: 280, .cadence: 300])]))
        #expect(
            try text.elements("HeartRateBpm").isEmpty && text.elements("MaximumHeartRateBpm").isEmpty)
        #expect(try text.elements("Cadence").isEmpty)
    }

    @Test func `a workout without measurements is a lap with its times`() async throws {
        let text = try await text(Recording(.traditionalStrength, segments: [0...600]))
        #expect(try text.numbers("TotalTimeSeconds") == [600])
        #expect(try text.texts("Calories") == ["0"] && text.numbers("Lap/DistanceMeters") == [0])
        #expect(try text.texts("Time") == times([0, 600]))
    }
}
