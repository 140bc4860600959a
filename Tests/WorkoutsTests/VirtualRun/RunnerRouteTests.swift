import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct RunnerRouteTests {
    private let key = HidingKey(0..<16)!
    private let home = Coordinate(latitude: 47.37, longitude: 8.54)

    /// Circles of 400 m around a point 1 km from home, from home and back, a row a second.
    private func route(turns: Int = 3, noise: Double = 0) -> (track: Track, series: Series, segments: [Segment]) {
        var random = SeededRandom(seed: 7)
        var places: [Coordinate] = []
        let degree = Coordinate.degree
        for second in 0..<300 {
            places.append(Coordinate(latitude: home.latitude + Double(second) * 3 / degree, longitude: home.longitude))
        }
        let middle = Coordinate(latitude: home.latitude + 1_300 / degree, longitude: home.longitude)
        for step in 0..<turns * 800 {
            let angle = Double(step) / 800 * 2 * .pi - .pi / 2
            let east = degree * Coordinate.shrinkage(latitude: middle.latitude)
            places.append(
                Coordinate(
                    latitude: middle.latitude + 400 * sin(angle) / degree,
                    longitude: middle.longitude + 400 * cos(angle) / east))
        }
        for second in 0..<300 {
            places.append(
                Coordinate(latitude: home.latitude + Double(300 - second) * 3 / degree, longitude: home.longitude))
        }
        let noisy = places.map { noise > 0 ? random.place(near: $0, within: noise) : $0 }
        let times = places.indices.map { year2026 + Double($0) }
        let track = Track(
            times: times,
            columns: [
                .init(kind: .latitude, values: noisy.map(\.latitude)),
                .init(kind: .longitude, values: noisy.map(\.longitude)),
            ])
        let series = Series(
            times: times, columns: [.init(quantity: .heartRate, values: times.indices.map { 120 + Double($0 % 50) })])
        return (track, series, [segment(0, Double(times.count))])
    }

    private func runnerRoute(turns: Int = 3, noise: Double = 0) throws -> RunnerRoute {
        let (track, series, segments) = route(turns: turns, noise: noise)
        return try #require(RunnerRoute(track: track, series: series, segments: segments))
    }

    private func json(_ shared: RunnerRoute.Shared) throws -> Data {
        struct Payload: Encodable {
            let user = String(repeating: "x", count: 64)
            let polyline: [String]
            let h: [[Double?]]?
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return try encoder.encode(Payload(polyline: shared.polyline, h: shared.heartRates))
    }

    @Test func `a shared route has at most 4 KiB, however long and rough the run was`() throws {
        for (turns, noise) in [(1, 0.0), (3, 5), (40, 30)] {
            let route = try runnerRoute(turns: turns, noise: noise)
            #expect(route.lines.reduce(0) { $0 + $1.count } <= RunnerRoute.vertexLimit)
            let shared = route.shared(hideNear: 200, key: key, withHeartRate: true)
            #expect(try json(shared).count <= RunnerRoute.sizeLimit)
            #expect(!shared.polyline.isEmpty)
            let rates = try #require(shared.heartRates)
            #expect(rates.map(\.count) == shared.polyline.map { decodedPolyline($0).count })
            #expect(rates.flatMap(\.self).allSatisfy { (120..<170).contains($0 ?? 130) })
        }
    }

    @Test func `both ends are hidden, with the line cut at the edge`() throws {
        let route = try runnerRoute()
        let shown = route.shared(hideNear: 200, key: key, withHeartRate: false)
        #expect(shown.heartRates == nil)
        let nearest = shown.polyline.flatMap(decodedPolyline).map { home.distance(to: $0) }.min()
        // The circle of 300 m is moved by up to 100 m.
        #expect(nearest.map { (199.0...401).contains($0) } == true)
        let all = route.shared(hideNear: 0, key: key, withHeartRate: false)
        #expect(all.polyline.flatMap(decodedPolyline).map { home.distance(to: $0) }.min().map { $0 < 5 } == true)
    }

    @Test func `a run that never leaves the circle shows nothing`() throws {
        let route = try runnerRoute()
        #expect(route.shared(hideNear: 1_600, key: key, withHeartRate: true).polyline.isEmpty)
    }

    @Test func `metres before the first position hide more`() throws {
        let (track, series, segments) = route()
        let late = Track(
            times: Array(track.times.dropFirst(100)),
            columns: track.columns.map { .init(kind: $0.kind, values: Array($0.values.dropFirst(100))) })
        let measured = Series(
            times: series.times, columns: [.init(quantity: .distance, values: series.times.map { _ in 3 })])
        let route = try #require(RunnerRoute(track: late, series: measured, segments: segments))
        #expect(abs(route.startSlack - 300) < 4)
        let shown = route.shared(hideNear: 200, key: key, withHeartRate: false)
        #expect(shown.polyline.flatMap(decodedPolyline).allSatisfy { home.distance(to: $0) >= 199 })
    }

    @Test func `a pause begins a new line`() throws {
        let (track, series, _) = route()
        let end = Double(track.times.count)
        let route = try #require(
            RunnerRoute(track: track, series: series, segments: [segment(0, 500), segment(700, end)]))
        #expect(route.lines.count == 2)
    }

    @Test func `a route survives its encoding to a decimetre`() throws {
        let route = try runnerRoute(noise: 3)
        let again = try JSONDecoder().decode(RunnerRoute.self, from: JSONEncoder().encode(route))
        let pairs = zip(route.lines.flatMap(\.self), again.lines.flatMap(\.self))
        #expect(pairs.allSatisfy { $0.place.distance(to: $1.place) < 0.2 && $0.heartRate == $1.heartRate })
        let shared = again.shared(hideNear: 200, key: key, withHeartRate: true)
        #expect(try JSONDecoder().decode(RunnerRoute.self, from: JSONEncoder().encode(again)) == again)
        #expect(!shared.polyline.isEmpty)
    }

    @Test func `positions off the earth and impossible heart rates are left out`() throws {
        let times = (0..<4).map { year2026 + Double($0) }
        let track = Track(
            times: times,
            columns: [
                .init(kind: .latitude, values: [52, 1e300, 52.00001, 52.00002]),
                .init(kind: .longitude, values: [13, 13, -1e15, 13]),
            ])
        let series = Series(times: times, columns: [.init(quantity: .heartRate, values: [120, 1e300, 1e300, 1e300])])
        let route = try #require(RunnerRoute(track: track, series: series, segments: [segment(0, 4)]))
        #expect(route.lines.flatMap(\.self).count == 2)
        let shared = route.shared(hideNear: 0, key: key, withHeartRate: true)
        #expect(shared.heartRates == [[120, 120]])
        #expect(try JSONDecoder().decode(RunnerRoute.self, from: JSONEncoder().encode(route)).lines.count == 1)
    }

    @Test func `a run without positions has no route`() {
        let track = Track(times: [year2026], columns: [.init(kind: .altitude, values: [400])])
        #expect(RunnerRoute(track: track, series: nil, segments: [segment(0, 60)]) == nil)
    }

    @Test(arguments: ["9223372036854775807", "-1000000001"])
    func `a stored route with an impossible number is refused`(number: String) {
        for line in ["[\(number),0,null]", "[0,\(number),null]", "[0,0,\(number)]"] {
            let text = #"{"lines":[\#(line)],"startSlack":0,"endSlack":0}"#
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(RunnerRoute.self, from: Data(text.utf8)) }
        }
    }
}
