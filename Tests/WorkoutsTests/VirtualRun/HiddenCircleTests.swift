import Foundation
import TestSupport
import Testing

@testable import Workouts

@Suite struct HiddenCircleTests {
    private let key = HidingKey(0..<16)!

    @Test func `the hash is SipHash-2-4`() {
        // The vectors of its authors.
        #expect(key.hash([]) == 0x726f_db47_dd0e_0e31)
        #expect(key.hash([UInt8](0..<8)) == 0x93f5_f579_9a93_2462)
        #expect(key.hash([UInt8](0..<15)) == 0xa129_ca61_49be_45e5)
        #expect(HidingKey([1, 2]) == nil)
    }

    @Test func `everything near a place is hidden, and the centre is somewhere else`() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let place = random.place()
            let radius = Double.random(in: 10...1_600, using: &random)
            let circle = HiddenCircle(around: place, radius: radius, key: random.key())
            for _ in 0..<20 { #expect(circle.contains(random.place(near: place, within: radius * 0.99))) }
            #expect(circle.center.distance(to: place) <= radius / 2 * 1.01)
            #expect(!circle.contains(random.place(near: place, from: radius * 2.05, within: radius * 2.1)))
        }
    }

    @Test func `one place has one shift, whatever the workout`() {
        var random = SeededRandom()
        let key = random.key()
        let home = Coordinate(latitude: 47.3745, longitude: 8.5412)
        let shifts = (0..<50).map { _ in
            let place = random.place(near: home, within: 20)
            let circle = HiddenCircle(around: place, radius: 200, key: key)
            return (circle.center.latitude - place.latitude, circle.center.longitude - place.longitude)
        }
        #expect(shifts.allSatisfy { abs($0.0 - shifts[0].0) < 1e-6 && abs($0.1 - shifts[0].1) < 1e-6 })
        let other = HiddenCircle(around: home, radius: 200, key: random.key())
        #expect(other.center != HiddenCircle(around: home, radius: 200, key: key).center)
    }

    @Test func `shifts of many places are spread over the disc`() {
        var random = SeededRandom()
        var (inner, north) = (0, 0)
        for _ in 0..<2_000 {
            let place = Coordinate(latitude: Double.random(in: -60...60, using: &random), longitude: 10)
            let circle = HiddenCircle(around: place, radius: 200, key: key)
            if circle.center.distance(to: place) < 50 { inner += 1 }
            if circle.center.latitude > place.latitude { north += 1 }
        }
        #expect((400...600).contains(inner))
        #expect((900...1_100).contains(north))
    }

    @Test func `a line is cut at the edge`() throws {
        let home = Coordinate(latitude: 47.37, longitude: 8.54)
        let circle = HiddenCircle(around: home, radius: 200, key: key)
        let line = (-20...20).map { step in
            RouteVertex(Coordinate(latitude: 47.37, longitude: 8.54 + Double(step) * 0.0005), heartRate: 140)
        }
        let parts = circle.cut([line])
        #expect(parts.count == 2)
        let ends = [try #require(parts[0].last), try #require(parts[1].first)]
        for end in ends { #expect(abs(end.place.distance(to: circle.center) - circle.radius) < 1) }
        #expect(parts[0].first == line.first)
        #expect(parts[1].last == line.last)
    }

    @Test func `a line that leaps over the circle loses what is in it`() {
        let home = Coordinate(latitude: 47.37, longitude: 8.54)
        let circle = HiddenCircle(around: home, radius: 200, key: key)
        let ends = [-0.01, 0.01].map { RouteVertex(Coordinate(latitude: circle.center.latitude, longitude: 8.54 + $0)) }
        #expect(circle.cut([ends]).map(\.count) == [2, 2])
    }

    @Test func `no part of a line is in the circle, and what is outside stays`() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let home = random.place()
            let radius = Double.random(in: 20...1_600, using: &random)
            let circle = HiddenCircle(around: home, radius: radius, key: random.key())
            let line = (0..<40).map { _ in RouteVertex(random.place(near: home, within: radius * 4)) }
            let parts = circle.cut([line])
            for part in parts {
                for (from, to) in zip(part, part.dropFirst()) {
                    for step in 0...10 {
                        let place = Coordinate(
                            latitude: from.place.latitude
                                + (to.place.latitude - from.place.latitude) * Double(step) / 10,
                            longitude: from.place.longitude
                                + longitudeDifference(from.place.longitude, to.place.longitude) * Double(step) / 10)
                        #expect(place.distance(to: circle.center) > circle.radius * 0.995 - 0.5)
                    }
                }
            }
            let outside = line.filter { !circle.contains($0.place) }
            #expect(outside.allSatisfy { vertex in parts.contains { $0.contains(vertex) } })
        }
    }
}

extension SeededRandom {
    mutating func key() -> HidingKey { HidingKey((0..<16).map { _ in UInt8.random(in: 0...255, using: &self) })! }

    mutating func place() -> Coordinate {
        Coordinate(
            latitude: Double.random(in: -70...70, using: &self), longitude: Double.random(in: -180...180, using: &self))
    }

    mutating func place(near place: Coordinate, from: Double = 0, within: Double) -> Coordinate {
        let angle = Double.random(in: 0...2 * .pi, using: &self)
        let distance = Double.random(in: from...within, using: &self)
        let longitude =
            place.longitude + distance * cos(angle)
            / (Coordinate.degree * Coordinate.shrinkage(latitude: place.latitude))
        return Coordinate(
            latitude: place.latitude + distance * sin(angle) / Coordinate.degree,
            longitude: longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude)
    }
}
