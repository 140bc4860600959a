import Bus
import ServiceKit
import Storage
import Workouts

/// The route of ended sessions, an input of their summaries.
extension StreamMachine {
    /// Receives the summary of a session's route. Older revisions change nothing.
    mutating func receiveRouteReport(_ report: RouteReport, of key: SessionKey, now: Moment) {
        guard let session = sessions[key], session.state.status != .deleted,
            report.revision > session.record.route?.floor ?? -1
        else { return }
        intakes[key, default: RouteIntake(key)].receiveReport(report, beside: session.record.route, now: now)
        // It may be complete with this.
        withRoute.insert(key)
    }

    /// Receives a chunk of a session's track. Only those of newer revisions count.
    mutating func receiveTrackChunk(
        _ payload: ArraySlice<UInt8>, _ number: Int, of key: SessionKey, now: Moment
    ) throws(PayloadError) {
        guard let session = sessions[key], session.isEnded else { return }
        let head = try ChunkHead(payload)
        guard head.number == number else { throw .malformed("n: not the topic's") }
        guard head.revision > session.record.route?.floor ?? 0 else { return }
        intakes[key, default: RouteIntake(key)].receiveChunk(payload, head, beside: session.record.route, now: now)
        withRoute.insert(key)
    }

    /// The changes of the next commit in the collection of tracks. The records of completed routes belong to it too.
    mutating func stageRoutes() -> [(shard: Shard, change: StoreWrite.Change)] {
        withRoute.sorted().flatMap { key -> [(shard: Shard, change: StoreWrite.Change)] in
            guard let session = sessions[key], session.isEnded, let intake = intakes[key] else { return [] }
            if intake.isComplete { save(key) }
            return intake.changes(beside: session.record.route).map { (key.session.shard, $0) }
        }
    }

    /// The pending chunks are on disk. Complete routes count from now on.
    mutating func committedRoutes(_ now: Moment) {
        for key in withRoute {
            guard let session = sessions[key], session.isEnded else { continue }
            guard intakes[key]?.isComplete == true else {
                intakes[key]?.committed()
                continue
            }
            session.record = nextRecord(session)
            intakes[key] = nil
            noteSize(session)
            awaitingSummary.remove(key)
            requestSummary(key, now)
        }
        withRoute = []
    }

    /// Drops the pending chunks after a failed commit. They are requested again.
    mutating func discardRoutes() {
        for key in withRoute { intakes[key]?.discardPending() }
        // A route without chunks is complete all the same.
        withRoute = withRoute.filter { intakes[$0]?.isComplete == true }
    }

    /// The sessions whose chunks are to be requested now.
    mutating func requestsDue(now: Moment) -> [SessionKey] {
        let due = intakes.filter { key, intake in intake.isRequestDue(now) && sessions[key]?.isEnded == true }
        let first = due.keys.sorted().prefix(StreamTimes.summariesAtOnce)
        for key in first { intakes[key]?.requested(now) }
        return Array(first)
    }

    /// Takes in a route again whose stored track is unreadable. Until then the last summary, which has the route, stays;
    /// without one the totals of the samples alone are better than none.
    mutating func replaceRoute(_ route: StoredRoute, of key: SessionKey, now: Moment) {
        guard let session = sessions[key] else { return }
        var unreadable = route
        unreadable.isUnreadable = true
        session.record.route = session.record.report == nil ? nil : unreadable
        session.record.needsSummary = true
        intakes[key] = RouteIntake(key, again: unreadable, now: now)
        save(key)
        awaitingSummary.remove(key)
        if session.record.report == nil { requestSummary(key, now) }
    }

    /// Whether a session's summary waits for a route whose stored track is unreadable.
    func isReplacingRoute(_ key: SessionKey, now: Moment) -> Bool {
        sessions[key]?.record.route?.isUnreadable == true && intakes[key]?.isActive(now) == true
    }

    /// The record of the next commit, with the route that it completes.
    func nextRecord(_ session: OwnedSession<Work>) -> StreamRecord<Work.Totals> {
        guard session.isEnded, let route = intakes[session.state.key]?.completed(beside: session.record.route) else {
            return session.record
        }
        var record = session.record
        record.route = route
        record.needsSummary = true
        return record
    }
}

/// The route while it is built.
extension StreamMachine {
    /// Receives the live route of a session.
    mutating func receiveLiveRoute(_ companion: Work.Live.Companion, of key: SessionKey, now: Moment) {
        guard let session = sessions[key] else { return }
        session.hasLiveRoute = true
        guard session.live != nil else {
            session.pendingCompanion = companion
            return
        }
        let newest = session.live?.newest
        guard session.live?.receive(companion, of: session.state, now: now.wallClock) == true else { return }
        withSplits.insert(key)
        news.add(session)
        // A payload without newer data does not keep values alive.
        guard session.live?.newest != newest else { return }
        session.receivedAt = now
        session.isSilent = false
    }
}
