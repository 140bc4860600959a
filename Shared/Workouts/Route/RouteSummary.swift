/// The totals of a session's locations. route-builder publishes them, and the workout record includes them.
///
/// Metres, m/s and degrees; metres and seconds are rounded to thousandths. Absent values are not measured: an indoor
/// session has none.
package struct RouteSummary: Codable, Equatable, Sendable {
    /// Bytes of the polylines as JSON, which keeps summary and workout within the size of a payload.
    package static let polylineLimit = 57_344

    /// The rectangle around the route. Across the antimeridian, `west` is greater than `east`.
    package struct Bounds: Codable, Equatable, Sendable {
        package var south: Double
        package var west: Double
        package var north: Double
        package var east: Double
    }

    package var distance: Double?
    /// Distance divided by active time.
    package var averageSpeed: Double?
    package var maximumSpeed: Double?
    package var ascent: Double?
    package var descent: Double?
    package var bounds: Bounds?
    /// One encoded polyline (precision 5) per unbroken line. Every accepted fix is within 5 m of it. The tolerance of a
    /// long route doubles until the polylines fit ``polylineLimit``.
    package var polyline: [String] = []

    package init() {}

    /// The most points of ``sketch``.
    package static let sketchLimit = 48

    /// All lines joined into one encoded polyline of a few points, for a small drawing; `nil` without a line.
    package var sketch: String? {
        var points: [PolylinePoint] = []
        for line in polyline {
            for point in [PolylinePoint](encoded: line) {
                points.append(points.last.map { point.near($0) } ?? point)
            }
        }
        return points.count > 1 ? points.sketched(limit: Self.sketchLimit).encoded : nil
    }
}

/// The final route of a session, as one more input of the samples' summary.
package struct RouteInput: Equatable, Sendable {
    package let track: Track
    package let totals: RouteSummary

    package init(track: Track, totals: RouteSummary) {
        self.track = track
        self.totals = totals
    }
}

extension RouteSummary {
    init(_ locations: CountedLocations) {
        let fixes = locations.fixes
        guard !fixes.isEmpty else { return }
        let totals = locations.totals
        distance = thousandths(totals.distance)
        let active = Double(ActiveTimeline(locations.segments).total) / 1e6
        let average = active > 0 ? thousandths(totals.distance / active) : nil
        averageSpeed = average
        let fastest = fixes.lazy.map(\.speed).filter { !$0.isNaN }.max().map(thousandths)
        maximumSpeed = fastest.map { max($0, average ?? 0) } ?? average
        if !locations.altitudes.isEmpty || fixes.contains(where: \.hasAltitude) {
            ascent = thousandths(totals.ascent)
            descent = thousandths(totals.descent)
        }
        bounds = Bounds(fixes)
        var sketch = RouteSketch(sizeLimit: Self.polylineLimit)
        for index in fixes.indices {
            sketch.add(fixes[index].coordinate, startsLine: locations.startsLine(index))
        }
        polyline = sketch.polyline
    }
}

extension RouteSummary.Bounds {
    init?(_ fixes: CountedFixes) {
        guard let first = fixes.first?.coordinate else { return nil }
        self.init(south: first.latitude, west: first.longitude, north: first.latitude, east: first.longitude)
        // Degrees east of the first fix; they continue beyond the antimeridian.
        var (turn, westmost, eastmost, previous) = (0.0, 0.0, 0.0, first.longitude)
        for accepted in fixes.dropFirst() {
            let place = accepted.coordinate
            south = min(south, place.latitude)
            north = max(north, place.latitude)
            turn += longitudeDifference(previous, place.longitude)
            previous = place.longitude
            if turn < westmost { (westmost, west) = (turn, place.longitude) }
            if turn > eastmost { (eastmost, east) = (turn, place.longitude) }
        }
    }
}
