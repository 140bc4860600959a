import Foundation
import TestSupport
import Testing
import Workouts

@testable import Formats

@Suite struct GPXTests {
    private func text(_ recording: Recording, name: String? = nil) async throws -> XMLText {
        try await text(try PlayedWorkout(recording, name: name).exported)
    }

    private func text(_ exported: ExportedWorkout) async throws -> XMLText {
        let bytes = GPXExport.bytes(of: exported)
        #expect(try await XMLSchema.gpx.validate(bytes) == "")
        return try XMLText(bytes)
    }

    /// Fixes at these seconds, on a line to the north.
    private func places(_ times: StrideThrough<Double>) -> [(Double, Double, Double)] {
        times.map { ($0, 50 + $0 * 2e-5, 8) }
    }

    /// The heart rate of each point.
    private func heartRates(_ text: XMLText) throws -> [Double?] {
        try text.texts("hr", inEach: "trkpt").map { $0.first.flatMap(Double.init) }
    }

    @Test func `a point has all values, in the order of the schemas`() async throws {
        let values: [Quantity: Double] = [
            .heartRate: 140, .cadence: 171, .power: 250, .temperature: -3.5, .speed: 3.25, .distance: 3,
        ]
        var recording = Recording(samples: [(0, values)], places: [(0, 50.1, 8.25)])
        recording.locations[0][.altitude] = 101.25
        recording.locations[0][.course] = 360
        let bytes = GPXExport.bytes(of: try PlayedWorkout(recording, name: "A & B").exported)
        let track = """
             <metadata>
              <name>A &amp; B</name>
              <time>2023-11-14T22:13:20Z</time>
              <bounds minlat="50.1" minlon="8.25" maxlat="50.1" maxlon="8.25"/>
             </metadata>
             <trk>
              <name>A &amp; B</name>
              <type>running</type>
              <trkseg>
               <trkpt lat="50.1" lon="8.25">
                <ele>101.25</ele>
                <time>2023-11-14T22:13:20Z</time>
                <extensions>
                 <gpxtpx:TrackPointExtension>
                  <gpxtpx:atemp>-3.5</gpxtpx:atemp>
                  <gpxtpx:hr>140</gpxtpx:hr>
                  <gpxtpx:cad>86</gpxtpx:cad>
                  <gpxtpx:speed>3.25</gpxtpx:speed>
                  <gpxtpx:course>0</gpxtpx:course>
                 </gpxtpx:TrackPointExtension>
                 <gpxpx:PowerExtension>
                  <gpxpx:PowerInWatts>250</gpxpx:PowerInWatts>
                 </gpxpx:PowerExtension>
                </extensions>
               </trkpt>
              </trkseg>
             </trk>
            </gpx>

            """
        #expect(String(decoding: bytes, as: UTF8.self).hasSuffix(track))
        let text = try await text(recording)
        #expect(
            try text.hasOrder(
                ["atemp", "wtemp", "depth", "hr", "cad", "speed", "course", "bearing"], in: "TrackPointExtension",
                namespace: "http://www.garmin.com/xmlschemas/TrackPointExtension/v2"))
        #expect(
            try text.hasOrder(
                ["PowerInWatts"], in: "PowerExtension", namespace: "http://www.garmin.com/xmlschemas/PowerExtension/v1")
        )
    }

    @Test func `a value between fixes counts at later fixes, for 15 s at most and never over a pause`()
        async throws
    {
        let samples = [(0.5, 100.0), (2.5, 102), (29.5, 130), (61.5, 90)].map { ($0, [Quantity.heartRate: $1]) }
        let recording = Recording(
            segments: [0...30, 60...64], samples: samples,
            places: places(stride(from: 0, through: 30, by: 1)) + places(stride(from: 60, through: 64, by: 1)))
        let rates = try heartRates(try await text(recording))
        let first =
            [nil, 100, 100] + [Double?](repeating: 102, count: 15) + [Double?](repeating: nil, count: 12) + [130]
        #expect(rates == first + [nil, nil, 90, 90, 90])
    }

    @Test func `values measured at fixes count at those fixes only`() async throws {
        let samples = stride(from: 0.0, through: 60, by: 5).map { ($0, [Quantity.heartRate: 100 + $0]) }
        let recording = Recording(samples: samples, places: places(stride(from: 0, through: 60, by: 1)))
        let rates = try heartRates(try await text(recording))
        #expect(rates.count == 61)
        #expect(rates.compactMap(\.self) == samples.map { $1[.heartRate]! })
    }

    @Test func `a value that coincides with a fix is time-weighted like the others`() async throws {
        let samples = [(0.3, 100.0), (5, 105), (10.3, 110), (15.3, 115)].map { ($0, [Quantity.heartRate: $1]) }
        let recording = Recording(samples: samples, places: places(stride(from: 0, through: 20, by: 1)))
        let rates = try heartRates(try await text(recording))
        #expect(rates.prefix(11) == [nil, 100, 100, 100, 100, 105, 105, 105, 105, 105, 105])
    }

    @Test func `each active segment with places is a segment, and a point between two belongs to the later`()
        async throws
    {
        let recording = Recording(
            segments: [0...10, 10...20, 30...40, 50...60],
            places: places(stride(from: 0, through: 20, by: 5)) + places(stride(from: 50, through: 60, by: 5)))
        let text = try await text(recording)
        #expect(try text.counts("trkseg") == [2, 3, 3])
    }

    @Test func `a workout without places is a track without points`() async throws {
        let text = try await text(Recording(environment: .indoor, samples: [(0, [.heartRate: 100])]))
        #expect(try text.texts("trk/type") == ["running"])
        #expect(try text.elements("trkseg").isEmpty && text.elements("bounds").isEmpty)
    }

    @Test func `a longitude of 180 is written as -180`() async throws {
        let text = try await text(Recording(places: [(0, -90, 180), (1, 90, -180), (2, 0, 179.999999996)]))
        #expect(try text.attributes("lon", of: "trkpt").allSatisfy { $0 == "-180" })
        #expect(try text.attributes("maxlon", of: "bounds") == ["-180"])
    }
}
