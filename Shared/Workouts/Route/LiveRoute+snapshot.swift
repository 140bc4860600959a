extension LiveRoute {
    /// The route including pending fixes.
    private struct Whole {
        var totals: RouteTotals
        var sketch: RouteSketch
        var hasAltitude: Bool
        var last: AcceptedFix?
    }

    private var whole: Whole {
        var live = self
        var waiting: [AcceptedFix] = []
        live.rows[current].route.finish(accepting: &waiting)
        for accepted in waiting { live.draw(CountedFix(accepted)) }
        return Whole(
            totals: base + live.rows[current].route.totals, sketch: live.sketch, hasAltitude: live.hasAltitude,
            last: waiting.last)
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
        let whole = whole
        snapshot.distance = thousandths(whole.totals.distance)
        if whole.hasAltitude {
            snapshot.ascent = thousandths(whole.totals.ascent)
            snapshot.descent = thousandths(whole.totals.descent)
        }
        snapshot.polyline = whole.sketch.polyline
        guard let last = whole.last else { return snapshot }
        snapshot.latitude = last.fix.latitude
        snapshot.longitude = last.fix.longitude
        guard !isSilent, newestTime - last.fix.time <= Int64(SourceOrder.freshness * 1e6) else { return snapshot }
        snapshot.altitude = last.fix.altitude.isNaN ? nil : last.fix.altitude
        snapshot.speed = last.speed.isNaN ? nil : thousandths(last.speed)
        return snapshot
    }
}
