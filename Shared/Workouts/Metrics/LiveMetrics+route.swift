/// The route provides distance and splits as long as no device measures the distance.
extension LiveMetrics {
    /// The number of completed kilometres or miles, and the time of the last.
    package var splitsToAnnounce: (count: Int, at: Timestamp?) { total(.distance) == nil ? routeSplits : splits }

    mutating func keepRoute(of other: LiveMetrics) {
        route = other.route
        routeSplits = other.routeSplits
    }

    /// Takes newer totals of the route. Returns whether more than the speed has changed.
    @discardableResult
    package mutating func receive(_ progress: RouteProgress, segments: [Segment]) -> Bool {
        guard progress.revision > route?.revision ?? .min else { return false }
        var same = progress
        same.revision = route?.revision ?? 0
        same.speed = route?.speed
        let isNews = same != route
        let whole = Int(min(max(0, (progress.distance ?? 0) / splitLength), 1e9))
        // Splits before the first message of the route have been announced.
        if route == nil {
            routeSplits = (whole, nil)
        } else if whole != routeSplits.count {
            routeSplits = (whole, progress.newest)
        }
        route = progress
        if let newest = progress.newest, segments.segment(containing: newest) != nil { refreshDisplay(segments) }
        return isNews
    }
}
