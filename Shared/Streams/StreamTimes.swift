import Workouts

/// Intervals and limits; times in seconds.
enum StreamTimes {
    /// The minimum interval of a session's live messages.
    static let live = 1.0
    /// The maximum age of a shard's last commit when its live messages are published: a commit shows whether it is lost.
    static let confirmation = 1.0
    /// The time without items after which live values are unknown.
    static let silence = 15.0
    /// The interval of `heard` while items arrive.
    static let heard = 300.0
    /// The minimum interval of summaries while items arrive; longer for sessions with many items.
    static let summary = 1.0
    static let longSummary = 10.0
    /// The minimum interval of jobs of a kind, in multiples of the last one's cost.
    static let costs = 10.0
    /// The maximum number of concurrent jobs.
    static let jobs = 2
    /// The interval of attempts to read items.
    static let retry = 1.0
    /// The maximum number of chunks that a tick sends of a session with many items.
    static let chunksAtOnce = 16
    /// The minimum interval of answers to requests for a session's chunks, and of this service's requests.
    static let repetition = 5.0
    /// A device that asks for no acknowledgement receives one after this time, or after so many batches or items. A device
    /// sends its items again after 5 s without one.
    static let ack = 3.0
    static let ackBatches = 10
    static let ackItems = 500
    /// How long the first summary waits for an announced route.
    static let route = 2.0
    /// How long the chunks of a track are requested without an answer.
    static let routeTimeout = 600.0
    /// Requests of a viewer: how many at once, and how many a second.
    static let viewerBurst = 10.0
    static let viewerRate = 1.0
    /// The maximum number of viewers whose rates are known.
    static let viewerLimit = 10_000
    /// The minimum interval of answers to gaps of a stream.
    static let gap = 0.1
    /// The idle time after which an ended session leaves memory.
    static let idle = 60.0
    /// The minimum interval of folds over all items; longer for sessions with many items.
    static let fold = 10.0
    static let longFold = 60.0
    /// The maximum age of an announcement.
    static let news = 60.0
    /// The longest wait for the items of a lap before its announcement.
    static let lap = 3.0
    /// The interval of checks for time alone.
    static let sweep = 1.0
    /// The time limit of a tick for live folds, which bounds the delay of items.
    static let foldTimeout = Duration.milliseconds(50)
    /// The maximum number of summaries per tick, for the same reason.
    static let summariesAtOnce = 20
    /// The reserve of live revisions ahead of the clock, in milliseconds.
    static let reserve: Int64 = 30_000
    /// How long the batches of a session without a state stay pending, and their maximum size in bytes, of all and of
    /// one user.
    static let pending = 60.0
    static let pendingBytes = 16 << 20
    static let pendingBytesOfUser = 1 << 20
    /// The maximum number of cached unknown sessions.
    static let unknownLimit = 20_000
    /// The maximum number of cached topic names.
    static let topicLimit = 50_000
}

/// A stored chunk of a stream.
struct StoredChunk {
    let shard: Shard
    let key: String
    let bytes: [UInt8]
}
