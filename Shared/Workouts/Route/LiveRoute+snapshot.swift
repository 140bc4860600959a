extension LiveRoute {
    /// Microseconds of fixes that give the grade.
    private static let gradeSpan: Int64 = 30_000_000

    /// The route including pending fixes.
    private var whole: (route: LiveRoute, totals: RouteTotals, newest: [AcceptedFix]) {
        var live = self
        var waiting: [AcceptedFix] = []
        live.rows[current].route.finish(accepting: &waiting)
        for accepted in waiting { live.draw(CountedFix(accepted)) }
        return (live, base + live.rows[current].route.totals, waiting)
    }

    /// Metres of ascent per metre: the line that fits the altitudes of the last half minute best; `nil` within 10 m.
    private static func grade(_ fixes: [AcceptedFix]) -> Double? {
        guard let last = fixes.last else { return nil }
        let start = fixes.lastIndex { $0.fix.startsLine || last.fix.time - $0.fix.time > gradeSpan } ?? 0
        var points: [(metres: Double, altitude: Double)] = []
        var metres = 0.0
        for accepted in fixes[start...] {
            metres += accepted.distance
            if !accepted.fix.altitude.isNaN { points.append((metres, accepted.fix.altitude)) }
        }
        guard let first = points.first, metres - first.metres >= 10 else { return nil }
        let count = Double(points.count)
        let middle = points.reduce(0) { $0 + $1.metres } / count
        let spread = points.reduce(0) { $0 + ($1.metres - middle) * ($1.metres - middle) }
        guard spread > 0 else { return nil }
        let grade = points.reduce(0) { $0 + ($1.metres - middle) * $1.altitude } / spread
        return min(1, max(-1, grade))
    }

    /// The payload of `route` as of the newest item.
    ///
    /// - Parameters:
    ///   - isSilent: no item for 15 s: altitude and speed are unknown, the last position stays.
    ///   - count: the number of stored items.
    package func snapshot(_ state: SessionState, revision: Int64, count: Int, isSilent: Bool) -> RouteSnapshot {
        var snapshot = RouteSnapshot(user: state.user, revision: revision)
        snapshot.newest = newest
        snapshot.count = count
        guard current >= 0 else { return snapshot }
        let (route, totals, newest) = whole
        snapshot.distance = thousandths(totals.distance)
        if route.hasAltitude {
            snapshot.ascent = thousandths(totals.ascent)
            snapshot.descent = thousandths(totals.descent)
        }
        if !route.maximumSpeed.isNaN { snapshot.maximumSpeed = thousandths(route.maximumSpeed) }
        snapshot.polyline = route.sketch.polyline
        guard let last = newest.last else { return snapshot }
        snapshot.latitude = last.fix.latitude
        snapshot.longitude = last.fix.longitude
        guard !isSilent, newestTime - last.fix.time <= Int64(SourceOrder.freshness * 1e6) else { return snapshot }
        snapshot.altitude = last.fix.altitude.isNaN ? nil : last.fix.altitude
        snapshot.speed = last.speed.isNaN ? nil : thousandths(last.speed)
        snapshot.grade = Self.grade(newest).map(thousandths)
        return snapshot
    }
}
