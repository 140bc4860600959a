import Storage
import Workouts

/// Intervals and limits; times in seconds.
enum StreamTimes {
    /// The minimum interval of a session's live messages, and of its `heard`.
    static let live = 1.0
    /// The interval rises by a second, up to the slowest, while the loop spends more than this share of a window on events; and
    /// falls below the lower share.
    static let liveSlowest = 3.0
    static let liveBusy = 0.7
    static let liveRested = 0.5
    static let liveWindow = 2.0
    /// How late a tick may publish a live message without delaying the next one.
    static let liveDelay = 0.15
    /// The maximum age of a shard's last commit when its live messages are published: a commit shows whether it is lost.
    static let confirmation = 1.0
    /// The time without items after which live values are unknown.
    static let silence = 15.0
    /// The interval of `heard` while items of an unfinished session arrive.
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
    /// How long the batches of a session without a state stay pending, and their maximum size in bytes, of all and of
    /// one user.
    static let pending = 60.0
    static let pendingBytes = 16 << 20
    static let pendingBytesOfUser = 1 << 20
    /// The maximum age of items that only the journal has: a stream of one item a second writes a chunk twice, then and full.
    static let due = 70.0
    /// The same after a deletion, so that 20 s later the journal has nothing of before.
    static let deleted = 20.0
    /// How many streams a commit of received items moves into chunks, how many if they are late by some seconds, and how many
    /// a tick moves.
    static let dueAtOnce = 32
    static let dueLate = 2.0
    static let dueLater = 256
    static let dueOfTick = 1_024
    /// The maximum size of the journal in bytes, and its maximum age. Beyond, all items go into chunks at once.
    static let journalBytes = 128 << 20
    static let journalAge = 90.0
    /// The minimum interval of commits for the journal alone, and of the due times of deletions.
    static let journalInterval = 1.0
    /// The maximum number of chunks that stay decoded while a session is folded: a megabyte.
    static let decodedChunks = 80
    /// How many streams of the journal a gain reads together.
    static let streamsAtOnce = 500
    /// The maximum number of cached unknown sessions.
    static let unknownLimit = 20_000
    /// The maximum number of cached topic names.
    static let topicLimit = 50_000
}

/// A change of a commit. The loop adds the epoch.
struct StreamChange {
    let shard: Shard
    let collection: StoreCollection
    let change: StoreWrite.Change
}
