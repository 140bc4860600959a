/// The live route of a session: a running fold over its locations.
///
/// Items arrive in the order of each stream. While ``isExact`` holds, the totals equal those of a summary of the same
/// items. Late items and changes of source end that. The owner then folds all items again, as the summary does.
///
/// Only settled fixes are folded. Each ``snapshot(_:revision:count:isSilent:)`` adds the pending ones, some dozens at
/// most, which later fixes may still reject.
package struct LiveRoute: Sendable {
    private static let freshness = Int64(SourceOrder.freshness * 1e6)
    /// Bytes of the polylines in a snapshot, which keeps the payload within 4 KiB.
    static let polylineLimit = 3_500

    struct Row: Sendable {
        let device: Device
        /// The time of the newest item.
        var newest = Int64.min
        var route: SourceRoute
        /// The number of devices that take precedence.
        var rank = 0
        /// Whether its counted part before the current source's turn may still change.
        var isOpen = false
    }

    let activity: Activity
    let environment: Environment
    var rows: [Row] = []
    /// The index of the row whose fixes count; −1 before the first fix.
    var current = -1
    /// The time since which the current source has had no gap. Other sources do not count from there on.
    var solidFrom = Int64.min
    /// The totals without those of the current source.
    var base = RouteTotals()
    var sketch = RouteSketch(sizeLimit: polylineLimit)
    /// The fix drawn last.
    private var drawn: CountedFix?
    var hasAltitude = false
    /// m/s; `nan` if unknown.
    var maximumSpeed = Double.nan
    /// Whether the totals equal those of a summary of the same items.
    package internal(set) var isExact = true
    var newestTime = Int64.min
    private var accepted: [AcceptedFix] = []

    package init(activity: Activity, environment: Environment) {
        self.activity = activity
        self.environment = environment
    }

    /// The time of the newest item. Items of a clock that is ahead do not count.
    package var newest: Timestamp? { newestTime == .min ? nil : Timestamp(microseconds: newestTime) }

    /// Adds consecutive items of a device. Items outside the segments change no total.
    ///
    /// - Parameter now: the service's clock, which detects a device clock that is ahead.
    package mutating func addItems(_ locations: [Location], from device: Device, segments: [Segment], now: Timestamp) {
        let row = row(of: device)
        let horizon = (now + LiveMetrics.clockTolerance).microseconds
        for location in locations {
            guard let time = location.time?.microseconds else { continue }
            rows[row].newest = max(rows[row].newest, time)
            var isAhead = false
            if time > horizon, rows.count > 1 {
                isAhead = rows.contains { $0.newest <= horizon && $0.newest > .min }
            } else if newestTime > horizon, time <= horizon {
                // The only device so far has a clock that is ahead.
                newestTime = .min
                isExact = false
            }
            if isAhead {
                isExact = false
                continue
            }
            newestTime = max(newestTime, time)
            if environment == .outdoor, let fix = Fix(location, number: 0, segments: segments) {
                takeFix(fix, row, segments)
            }
        }
        if rows.count > 1 { noticeSilence(segments) }
    }

    private mutating func row(of device: Device) -> Int {
        if let known = rows.firstIndex(where: { $0.device == device }) { return known }
        rows.append(Row(device: device, route: SourceRoute(activity)))
        rankRows()
        return rows.count - 1
    }

    mutating func rankRows() {
        for index in rows.indices {
            let device = rows[index].device
            rows[index].rank = rows.count { SourceOrder.prefers($0.device, to: device, for: .distance) }
        }
    }
}

extension LiveRoute {
    private mutating func takeFix(_ fix: Fix, _ row: Int, _ segments: [Segment]) {
        guard fix.time >= rows[row].route.newest else {
            isExact = false
            return
        }
        if rows[row].isOpen { isExact = false }
        let before = rows[row].route.tip?.time
        rows[row].route.add(fix, accepting: &accepted)
        if rows[row].route.tip?.time != before { judge(fix, row, before, segments) }
        if row == current {
            for fix in accepted { draw(CountedFix(fix)) }
        }
        accepted.removeAll(keepingCapacity: true)
    }

    /// Draws the next fix, unless fixes of another source take its place.
    mutating func draw(_ fix: CountedFix) {
        if let drawn, fix.time <= drawn.time { return }
        sketch.add(fix.coordinate, startsLine: fix.startsLine || drawn?.segment != fix.segment)
        // `maximum` ignores `nan`.
        maximumSpeed = .maximum(maximumSpeed, fix.speed)
        drawn = fix
        if fix.hasAltitude { hasAltitude = true }
    }

    /// Clears ``isExact`` if only a fold over all items can choose the source.
    ///
    /// - Parameter before: the time of the source's previous fix, if it has one.
    private mutating func judge(_ fix: Fix, _ row: Int, _ before: Int64?, _ segments: [Segment]) {
        func isGap(since time: Int64) -> Bool {
            fix.time - time > Self.freshness
                && segments.activeMicroseconds(from: time, to: fix.time) > Self.freshness
        }
        if current < 0 {
            current = row
            let position = segments.activeMicroseconds(from: .min, to: fix.time)
            solidFrom = position > Self.freshness ? fix.time : .min
        } else if row == current {
            guard let before, isGap(since: before) else { return }
            if rows.indices.contains(where: { $0 != row && rows[$0].route.tip?.time ?? .min > before }) {
                isExact = false
            }
            solidFrom = fix.time
        } else if rows[row].rank < rows[current].rank || fix.time < solidFrom {
            isExact = false
        } else if let tip = rows[current].route.tip, isGap(since: tip.time) {
            isExact = false
        }
    }

    /// After a source falls silent, the next source covers the end of the session.
    private mutating func noticeSilence(_ segments: [Segment]) {
        guard isExact, current >= 0, let tip = rows[current].route.tip?.time else { return }
        let end = max(newestTime, segments.last?.end?.microseconds ?? .min)
        guard end - tip > Self.freshness, rows.contains(where: { $0.route.tip?.time ?? .min > tip }) else { return }
        if segments.activeMicroseconds(from: tip, to: end) > Self.freshness { isExact = false }
    }
}
