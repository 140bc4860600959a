import Bus
import MQTT
import ServiceKit
import Timing
import Workouts

/// The limits of a session.
package struct StreamBounds: Sendable {
    /// Items of a session.
    package var session = StreamLimits.session
    /// Items that a session accepts in an hour.
    package var hour = StreamLimits.hour
    /// Items that an account may store in a day.
    package var day = StreamLimits.day
    /// Above this number of items, folds and summaries of a session are jobs.
    package var manyItems = 10_000

    package init() {}

    var hourly: TokenBucket<Moment> { TokenBucket(burst: Double(hour), perSecond: Double(hour) / 3_600) }
}

/// A session in memory: state, streams, live metrics and deadlines.
///
/// An object, because each message looks it up and it is too large to copy. The machine that holds it is never copied.
final class OwnedSession<Work: StreamWork> {
    var record: StreamRecord<Work.Totals>
    /// The loaded streams by device.
    var streams: [DeviceStream<Work.Item>] = []
    /// The devices of ``streams`` in the same order, searched for each message.
    var devices: [Device] = []
    /// The numbers of items on disk and of pending ones, of all loaded streams.
    var count = 0
    var pendingItems = 0
    /// Whether the skew of a device's clock changed since the machine last asked.
    var hasNewSkew = false
    /// Whether the next commit includes the session.
    var isTouched = false
    /// Whether a deferred acknowledgement waits for its time.
    var awaitsAck = false
    /// Whether all stored streams are loaded.
    var hasAllStreams: Bool
    /// The live fold; `nil` until it is computed from the stored items.
    var live: Work.Live?
    /// Whether a live route has arrived.
    var hasLiveRoute = false
    /// The last live route, kept until a fold exists.
    var pendingCompanion: Work.Live.Companion?
    /// The times of the next and the last fold over all stored items, and the cost of the last job.
    var foldDue: Moment?
    var foldedAt: Moment?
    var foldCost = Duration.zero
    /// The number of the session's job.
    var job: Int?
    /// The items that were committed since a job began a fold.
    var sinceFold: [(device: Device, first: Int, items: [Work.Item])]?
    /// Whether a job found items unreadable, so that the loop must read them.
    var isCorrupt = false
    /// The splits and laps to announce.
    var news: StretchNews
    /// `metrics` or `route`.
    var liveTopic = RetainedTopic()
    private(set) lazy var liveTopicName = Topic.session(state.key, Work.kind.live).name
    /// Its place in the machine's ``LiveNews``.
    var turn = LiveNews<Work>.Turn.idle
    /// The time of the last message, while a due one follows it directly.
    var restedSince: Moment?
    /// `heard/samples` or `heard/locations`, the stored items that it reports (`nil` until they are read), and the time of
    /// the last message.
    var heardTopic = RetainedTopic()
    var heard: HeardItems<Work.Item>?
    var heardAt: Moment?
    /// Whether that message reported live metrics, and a position.
    var reported = (liveMetrics: false, position: false)
    /// The time of the last stored items since then.
    var unheardSince: Moment?
    /// The time of the last stored or reported item, or of loading the session.
    var receivedAt: Moment
    /// Whether the live values were published as unknown since then.
    var isSilent = false
    /// The time of the next summary; `nil` if the summary is up to date.
    var summaryDue: Moment?
    /// The time of the last summary, and the cost of the last job.
    var summarizedAt: Moment?
    var summaryCost = Duration.zero
    /// The time of the last repetition of the chunks on request.
    var repeatedAt: Moment?
    /// `summary/metrics` or `summary/route`.
    var summaryTopic: RetainedTopic

    let bounds: StreamBounds
    /// The items that the session accepts now.
    var hourly: TokenBucket<Moment>

    /// A session from the store. Its items are read when necessary.
    init(stored record: StreamRecord<Work.Totals>, receivedAt: Moment, bounds: StreamBounds) {
        self.bounds = bounds
        hourly = bounds.hourly
        self.record = record
        summaryTopic = RetainedTopic(revision: record.report?.revision ?? 0)
        hasAllStreams = false
        // An earlier process announced the splits before this one started.
        news = StretchNews(splits: nil)
        self.receivedAt = receivedAt
    }

    /// A session without a stored record.
    init(new state: SessionState, receivedAt: Moment, bounds: StreamBounds) {
        self.bounds = bounds
        hourly = bounds.hourly
        record = StreamRecord(state: state)
        summaryTopic = RetainedTopic()
        hasAllStreams = true
        news = StretchNews(splits: 0)
        heard = HeardItems()
        live = Work.Live(ProfiledState(state))
        self.receivedAt = receivedAt
    }

    var state: SessionState { record.state }

    /// The state with the profile that it names.
    var profiled: ProfiledState { ProfiledState(state, record.profile) }

    /// Whether jobs fold and summarize the session.
    var isLarge: Bool { !isCorrupt && (record.isLarge == true || hasManyItems) }

    /// Whether the items of the loaded streams are many.
    var hasManyItems: Bool { max(count + pendingItems, record.route?.rows ?? 0) > bounds.manyItems }

    /// The seconds that must follow a job.
    func spacing(_ cost: Duration) -> Double { cost / .seconds(1) * StreamTimes.costs }

    /// The number of items on disk, by stream.
    var next: [StreamName: Int] {
        var next: [StreamName: Int] = [:]
        for named in streams where named.stream.next > 0 {
            next[StreamName(Work.kind, named.device)] = named.stream.next
        }
        return next
    }

    /// The seconds by which clocks of devices are ahead, as this service or the others found them.
    var skews: [Double] {
        (state.clockSkew ?? [:]).merging(record.clockSkew) { _, own in own }.values.sorted()
    }

    /// The route that a computation takes in: folds and chunks do without.
    func route(for purpose: StreamJob<Work>.Purpose) -> StoredRoute? {
        guard case .summary = purpose else { return nil }
        return record.route
    }

    /// Whether the profile that the state names has arrived, if the results take it in.
    var hasProfile: Bool { !Work.inputs.contains(.profile) || profiled.isComplete }

    /// Whether the first summary waits for a route: its locations are announced or were published live.
    var awaitsRoute: Bool {
        Work.inputs.contains(.summaryRoute) && record.route == nil && record.report?.route == nil
            && summarizedAt == nil
            && (hasLiveRoute || state.streams.contains { stream, count in stream.kind == .locations && count > 0 })
    }

    /// Whether live metrics are published. An ended session still publishes them, because late items may arrive.
    var isShown: Bool { state.status != .deleted }

    /// Whether a summary is published, with its chunks.
    var isEnded: Bool { state.status.isEnded }

    var isUnfinished: Bool { state.status.isUnfinished }

    /// Whether its chunks can be requested: those of the last summary, or in progress those of the items until now.
    var hasChunks: Bool { isUnfinished || record.report != nil }

    /// Whether an item of a watch or a heart rate is among the stored items.
    var hasLiveMetrics: Bool {
        heard?.hasHeartRate == true || streams.contains { $0.stream.next > 0 && $0.device.isWatch }
    }

    /// Whether stored items make a `heard` due.
    ///
    /// In progress, a session expires after hours and needs few. Later, its end follows its last item.
    func owesHeard(_ now: Moment) -> Bool {
        guard let heardAt, isUnfinished else { return true }
        return now.seconds(since: heardAt) >= StreamTimes.heard || !reported.liveMetrics && hasLiveMetrics
            || !reported.position && heard?.position != nil
    }

    /// Whether the live values have just become too old to display.
    func becomesSilent(_ now: Moment) -> Bool {
        isShown && !isSilent && now.seconds(since: receivedAt) >= StreamTimes.silence
    }

    /// Whether the session can leave memory.
    func isIdle(_ now: Moment) -> Bool {
        !isUnfinished && job == nil && !hasUnsavedItems && now.seconds(since: receivedAt) >= StreamTimes.idle
    }
}
