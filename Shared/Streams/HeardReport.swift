import Bus
import ServiceKit
import Workouts

/// `heard/samples` or `heard/locations` of a session: what it reports, and when the next one is due.
struct HeardReport<Item: StreamItem> {
    /// The stored items; `nil` until they are read.
    var items: HeardItems<Item>?
    private var topic = RetainedTopic()
    /// The time of the last message, and whether it reported live metrics and a position.
    private var sentAt: Moment?
    private var reported = (liveMetrics: false, position: false)
    /// The time of the last stored items since then.
    private(set) var unsentSince: Moment?

    /// The highest revision.
    var revision: Int64 { topic.revision }

    /// Items were stored.
    mutating func stored(_ now: Moment) { unsentSince = now }

    /// Whether the last message has become old, or lacks live metrics or a position.
    func isOutdated(_ now: Moment, hasLiveMetrics: Bool) -> Bool {
        guard let sentAt else { return true }
        return now.seconds(since: sentAt) >= StreamTimes.heard || !reported.liveMetrics && hasLiveMetrics
            || !reported.position && items?.position != nil
    }

    /// Whether a message may go out: the items are read, and it is outside the rate limit.
    func isDue(_ now: Moment) -> Bool {
        items != nil && sentAt.map { now.seconds(since: $0) >= StreamTimes.live } ?? true
    }

    /// The next message. One of a session without items says so; `nil` while they are not read.
    ///
    /// - Parameters:
    ///   - floor: a revision that an earlier message may have reached.
    ///   - count: the number of stored items.
    mutating func next(_ now: Moment, above floor: Int64, count: Int, hasLiveMetrics: Bool) -> Heard? {
        guard let items else { return nil }
        sentAt = now
        unsentSince = nil
        reported = (hasLiveMetrics, items.position != nil)
        var heard = Heard(revision: topic.revise(now.wallClock, above: floor), count: count)
        heard.newest = items.times.newest
        heard.position = items.position
        heard.hasLiveMetrics = hasLiveMetrics
        heard.silences = items.times.silences
        return heard
    }
}

/// What `heard` reports of a session's stored items: the same for every order of the items.
struct HeardItems<Item: StreamItem>: Sendable {
    private(set) var times = ItemTimes()
    private(set) var hasHeartRate = false
    /// The newest position that counts, and its time.
    private var newest: (at: Timestamp, position: Coordinate)?

    init() {}

    /// - Parameter pass: calls its argument with each stored item.
    init(_ pass: (_ body: (Item) -> Void) -> Void) {
        pass { addItem($0) }
    }

    var position: Coordinate? { newest?.position }

    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    mutating func addItems(_ items: [Item]) {
        for item in items { addItem(item) }
    }

    private mutating func addItem(_ item: Item) {
        guard let time = item.time else { return }
        times.add(time)
        if !hasHeartRate, item.hasHeartRate { hasHeartRate = true }
        guard time >= newest?.at ?? time, let position = item.position else { return }
        newest = (time, position)
    }
}
