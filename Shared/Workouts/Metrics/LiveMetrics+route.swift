/// What is taken from the route as long as no device measures the distance.
extension LiveMetrics {
    /// The kilometres or miles that are done, and when the last of them was.
    package var splitsToAnnounce: (count: Int, at: Timestamp?) { total(.distance) == nil ? routeSplits : splits }

    mutating func keepRoute(of other: LiveMetrics) {
        route = other.route
        routeSplits = other.routeSplits
    }

    /// Takes what the route says, unless it is older than what is known. Returns whether more than the
    /// speed has changed.
    @discardableResult
    package mutating func hear(_ progress: RouteProgress, segments: [Segment]) -> Bool {
        guard progress.revision > route?.revision ?? .min else { return false }
        var same = progress
        same.revision = route?.revision ?? 0
        same.speed = route?.speed
        let isNews = same != route
        let whole = Int(min(max(0, (progress.distance ?? 0) / splitLength), 1e9))
        // What was done before the route was first heard of has been announced.
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
