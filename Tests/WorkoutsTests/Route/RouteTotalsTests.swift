import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct RouteTotalsTests {
    @Test func `hills count as ascent and noise does not`() throws {
        var random = SeededRandom()
        var locations = random.way(seconds: 3_600, speed: 3)
        for index in locations.indices {
            locations[index][.altitude] = 500 - 25 * cos(Double(index) / 600 * 2 * .pi) + random.normal(1)
        }
        let summary = counted(["watch": locations], [segment(0, 3_600)]).summary()
        #expect(abs(try #require(summary.ascent) - 300) < 15)
        #expect(abs(try #require(summary.descent) - 300) < 15)
        for index in locations.indices { locations[index][.altitude] = 500 + random.normal(1.5) }
        #expect(counted(["watch": locations], [segment(0, 3_600)]).totals.ascent < 15)
    }

    @Test func `ascent during a pause does not count`() {
        var random = SeededRandom()
        var locations = random.way(seconds: 600, speed: 3)
        for index in locations.indices { locations[index][.altitude] = index < 300 ? 500 : 900 }
        let totals = counted(["watch": locations], [segment(0, 299), segment(300, 600)]).totals
        #expect(totals.ascent == 0 && totals.descent == 0)
        for index in locations.indices where index < 300 { locations[index][.altitude] = nil }
        #expect(counted(["watch": locations], [segment(0, 600)]).totals.ascent == 0)
    }

    @Test func `without altitudes ascent is unknown`() {
        var random = SeededRandom()
        let locations = counted(["watch": random.way(seconds: 60, speed: 3)], [segment(0, 60)])
        #expect(locations.summary().ascent == nil)
    }

    @Test func `splits, laps and speeds follow the distance`() throws {
        var random = SeededRandom()
        let locations = random.way(seconds: 1_001, speed: 3)
        let segments = [segment(0, 400), segment(400, 1_000)]
        let result = summary([:], segments, laps: [500], route: counted(["watch": locations], segments))
        let distance = try #require(result.distance)
        #expect(abs(result.splits.map(\.distance).reduce(0, +) - distance) < 0.01)
        #expect(result.splits.count == 3)
        #expect(abs(result.laps.compactMap(\.distance).reduce(0, +) - distance) < 0.01)
        #expect(abs(try #require(result.laps.first?.distance) / 1_500 - 1) < 0.02)
        #expect(abs(try #require(result.averageSpeed) - distance / 1_000) < 0.001)
        #expect(abs(try #require(result.maximumSpeed) - 3) < 0.3)
    }

    @Test func `a measured speed counts unless it is impossible`() {
        var random = SeededRandom()
        var locations = random.way(seconds: 100, speed: 3)
        locations[50][.speed] = 5.5
        locations[60][.speed] = 25
        let summary = counted(["watch": locations], [segment(0, 100)]).summary()
        #expect(summary.maximumSpeed == 5.5)
    }

    @Test func `bounds contain every fix and may span the antimeridian`() throws {
        var random = SeededRandom()
        let locations = random.way(seconds: 3_000, speed: 3, longitude: 179.99)
        let counted = counted(["watch": locations], [segment(0, 3_000)])
        let bounds = try #require(counted.summary().bounds)
        #expect(bounds.south == counted.fixes.map(\.latitude).min())
        #expect(bounds.north == counted.fixes.map(\.latitude).max())
        let longitudes = counted.fixes.map { $0.longitude < 0 ? $0.longitude + 360 : $0.longitude }
        #expect((bounds.west < 0 ? bounds.west + 360 : bounds.west) == longitudes.min())
        #expect((bounds.east < 0 ? bounds.east + 360 : bounds.east) == longitudes.max())
        #expect(abs(counted.totals.distance / (2_999 * 3) - 1) < 0.02)
    }

    @Test func `the track has every accepted fix as measured`() throws {
        var random = SeededRandom()
        var locations = random.way(seconds: 300, speed: 3, noise: 2)
        for index in locations.indices { locations[index][.altitude] = Double(index) }
        locations[7][.course] = 12
        locations[100].displace(by: 5_000, towards: 0)
        let counted = counted(["watch": locations], [segment(0, 300)])
        let track = Track(counted)
        locations.remove(at: 100)
        #expect(track.times == locations.map { $0.time! })
        #expect(
            track.columns.map(\.kind) == [.latitude, .longitude, .altitude, .distance, .course, .horizontalAccuracy])
        #expect(track.columns[0].values == locations.map { $0[.latitude] })
        #expect(track.columns[4].values[7] == 12 && track.columns[4].values[8] == nil)
        let distances = track.columns[3].values.compactMap { $0 }
        #expect(distances == distances.sorted() && distances.count == locations.count)
        #expect(distances.last == counted.summary().distance)
    }
}
