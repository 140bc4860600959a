import Bus
import TestSupport
import Workouts

extension SeededRandom {
    mutating func location(at time: Timestamp) -> Location {
        var location = Location(time: time)
        for field in LocationField.allCases where Bool.random(using: &self) {
            location[field] = .random(in: field.range.clamped(to: -10_000...10_000), using: &self)
        }
        return location
    }

    mutating func locationBatch() -> LocationBatch {
        LocationBatch(
            first: .random(in: 0...StreamLimits.items, using: &self),
            items: (0..<Int.random(in: 1...20, using: &self)).map { _ in location(at: time()) })
    }

    mutating func routeSnapshot() -> RouteSnapshot {
        var snapshot = RouteSnapshot(user: user(), revision: revision())
        snapshot.newest = maybe(time())
        snapshot.distance = maybe(.random(in: 0...50_000, using: &self))
        snapshot.latitude = maybe(.random(in: -90...90, using: &self))
        snapshot.longitude = maybe(.random(in: -180...180, using: &self))
        snapshot.altitude = maybe(-3.5)
        snapshot.speed = maybe(.random(in: 0...60, using: &self))
        snapshot.maximumSpeed = maybe(4.25)
        snapshot.grade = maybe(-0.125)
        snapshot.ascent = maybe(120.25)
        snapshot.descent = maybe(80)
        // All characters of an encoded polyline, including the backslash.
        let letters = (63...126).map { Character(UnicodeScalar($0)) }
        snapshot.polyline = (0..<Int.random(in: 0...3, using: &self)).map { _ in String(letters.shuffled(using: &self))
        }
        snapshot.count = .random(in: 0...1_000_000, using: &self)
        return snapshot
    }

    /// Locations along a line for every second of a session's closed segments.
    mutating func route(of session: Session) -> CountedLocations {
        var locations: [Location] = []
        for segment in session.segments {
            guard let end = segment.end else { continue }
            for second in stride(from: 0, through: min(700, end.seconds(since: segment.start)), by: 1) {
                locations.append(
                    Location(time: segment.start + second, latitude: 47 + second * 2e-5, longitude: 8 + second * 1e-5))
            }
        }
        return CountedLocations(
            streams: [name(): locations], segments: session.segments, activity: .running, environment: .outdoor)
    }

    /// The payloads of route-builder, by channel.
    mutating func routePayloads(of session: Session) -> [(channel: String, bytes: [UInt8])] {
        let locations = route(of: session)
        let rows = FinalRows(Track(locations))
        let report = RouteReport(
            revision: revision(), state: revision(), next: streams(), chunks: rows.chunkCount,
            totals: locations.summary())
        return [
            ("locations", locationBatch().payload), ("locationsAck", Ack.next(7).payload(now: time())),
            ("route", routeSnapshot().payload), ("summaryRoute", JSONCoding.encode(report)),
        ] + (0..<rows.chunkCount).map { ("track", rows.payload(number: $0, revision: report.revision)) }
    }
}
