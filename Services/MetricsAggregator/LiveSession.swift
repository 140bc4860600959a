import Bus
import Workouts

/// A session in memory: its newest state, its streams, its live metrics and what is due for it.
struct LiveSession {
    var record: SessionRecord
    /// The streams by device; `nil` until they are read from the store.
    var streams: [Device: SampleStream]?
    var live = LiveMetrics()
    /// The revision of the `metrics` published last.
    var metricsRevision: Int64 = 0
    var metricsAt: Timestamp?
    /// When an item was last stored, or when the session came into memory.
    var heardAt: Timestamp
    /// Whether the live values were published as unknown since.
    var isSilent = false
    /// When the summary is to be made; `nil` when it is as new as it can be.
    var summaryDue: Timestamp?
    /// When it was last made.
    var summarizedAt: Timestamp?
    /// The next revision of the summary is at least this one.
    var summaryFloor: Int64 = 0
    /// The first revision of the summary published since the connection began.
    var summaryEcho: Int64?

    init(record: SessionRecord, streams: [Device: SampleStream]?, heardAt: Timestamp) {
        self.record = record
        self.streams = streams
        self.heardAt = heardAt
    }

    var state: SessionState { record.state }

    /// Items on disk.
    var count: Int { streams?.values.reduce(0) { $0 + $1.next } ?? 0 }

    /// Items on disk, by stream.
    var next: [StreamName: Int] {
        var next: [StreamName: Int] = [:]
        for (device, stream) in streams ?? [:] where stream.next > 0 {
            next[StreamName(.samples, device)] = stream.next
        }
        return next
    }

    /// Whether summary and series are published.
    var isOver: Bool {
        switch state.status {
        case .saving, .completed: true
        case .preparing, .active, .paused, .suspended, .canceled, .deleted: false
        }
    }

    /// Whether live metrics are published: also of a session that is over, for items may come after its end.
    var hasMetrics: Bool {
        switch state.status {
        case .preparing, .active, .paused, .suspended, .saving, .completed: true
        case .canceled, .deleted: false
        }
    }

    /// Whether the session goes on.
    private var isUnfinished: Bool { hasMetrics && !isOver }

    /// The pending items of a device are on disk: they count.
    mutating func commit(_ device: Device) {
        guard let pending = streams?[device]?.pending else { return }
        let segments = state.segments
        for sample in pending { live.add(sample, from: device, segments: segments) }
        streams?[device]?.committed()
    }

    /// Whether its live values have just grown too old to be shown.
    func becomesSilent(_ now: Timestamp) -> Bool {
        hasMetrics && !isSilent && now.seconds(since: heardAt) >= AggregatorMachine.silence
    }

    /// Whether nothing is left to do for it in memory.
    func isIdle(_ now: Timestamp) -> Bool {
        !isUnfinished && record.seriesUntil == nil && now.seconds(since: heardAt) >= AggregatorMachine.idleLimit
    }
}
