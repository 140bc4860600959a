import Workouts

/// How often, how long and how many; times in seconds.
enum StreamTimes {
    /// What is live of a session is published at most this often.
    static let live = 1.0
    /// A session without items for this long has no live values.
    static let silence = 15.0
    /// A summary is made at most this often while items come, and beyond `manyItems` less often.
    static let summary = 1.0
    static let longSummary = 10.0
    static let manyItems = 10_000
    /// How long the final chunks stay retained.
    static let chunks = 3_600.0
    /// The chunks of a session are published again at most this often, however often somebody asks.
    static let repetition = 5.0
    /// Gaps of one stream are answered at most this often.
    static let gap = 0.1
    /// A session that is over leaves memory after this long without anything new.
    static let idle = 60.0
    /// A fold that has become inexact is made anew at most this often, and beyond `manyItems` less often.
    static let fold = 10.0
    static let longFold = 60.0
    /// What is older than this is not announced.
    static let news = 60.0
    /// All sessions are looked at this often for what comes with time alone.
    static let sweep = 1.0
    /// The time that a tick spends on live folds, so that items do not wait longer.
    static let foldTimeout = Duration.milliseconds(50)
    /// Summaries made in one go, for the same reason.
    static let summariesAtOnce = 20
    /// How far ahead of the clock revisions of what is live are reserved, in milliseconds.
    static let reserve: Int64 = 30_000
    /// So many sessions are remembered as unknown at most.
    static let unknownLimit = 20_000
    /// So many names of topics are remembered at most.
    static let topicLimit = 50_000
}

/// A stored piece of a stream.
struct StoredChunk {
    let shard: Shard
    let key: String
    let bytes: [UInt8]
}
