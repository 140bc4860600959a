import ServiceKit

/// What streams need beside the topics that are always subscribed to, and when all that the broker retains of it has come.
extension Hub {
    struct Need {
        /// The streams that need it.
        var count = 0
        /// With no stream, when the topics are released.
        var releaseAt: Moment?
        /// The change of the needs that asked the broker for it; `nil` before that.
        var change: Int?
        var grantedAt: Moment?
    }

    /// The seconds from a grant within which the broker sends what it retains: it follows at once.
    static let retainedTime = 0.2

    /// Whether the needs are others than at the last call. The caller asks the broker for them.
    mutating func takeNeedsChange() -> Bool {
        guard haveNeedsChanged else { return false }
        haveNeedsChanged = false
        changes.asked += 1
        for topics in needs.keys where needs[topics]?.change == nil { needs[topics]?.change = changes.asked }
        return true
    }

    /// The broker has granted the earliest change, or the connection is lost and the next one takes it.
    mutating func needsChangeGranted(_ now: Moment) {
        changes.granted += 1
        if link == .connected { noteGranted(now) }
    }

    /// The connection has all changes that were granted so far.
    mutating func noteGranted(_ now: Moment) {
        for (topics, need) in needs {
            guard need.grantedAt == nil, let change = need.change, change <= changes.granted else { continue }
            needs[topics]?.grantedAt = now
        }
    }

    /// Whether the newest of everything that a stream needs is known. Without a connection nothing more comes.
    func isComplete(_ stream: LiveStream, _ now: Moment) -> Bool {
        guard link == .connected else { return true }
        return stream.watch.needs(of: stream.user).allSatisfy { topics in
            needs[topics]?.grantedAt.map { now.seconds(since: $0) >= Self.retainedTime } ?? false
        }
    }
}
