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
        takeIn(session) { $0.receiveReport(report, beside: session.record.route, now: now) }
    }

    /// Receives a chunk of a session's track. Only those of newer revisions count.
    mutating func receiveTrackChunk(
        _ payload: ArraySlice<UInt8>, _ number: Int, of key: SessionKey, now: Moment
    ) throws(PayloadError) {
        guard let session = sessions[key], session.isEnded else { return }
        let head = try ChunkHead(payload)
        guard head.number == number else { throw .malformed("n: not the topic's") }
        guard head.revision > session.record.route?.floor ?? 0 else { return }
        takeIn(session) { $0.receiveChunk(payload, head, beside: session.record.route, now: now) }
    }

    /// The changes of the next commit in the collection of tracks. The records of completed routes belong to it too.
    mutating func stageRoutes() -> [(shard: Shard, change: StoreWrite.Change)] {
        schedule.sessions(with: .route).flatMap { session -> [(shard: Shard, change: StoreWrite.Change)] in
            guard session.isEnded, let intake = session.intake else { return [] }
            if intake.isComplete { schedule.add(.record, to: session) }
            return intake.changes(beside: session.record.route).map { (session.state.session.shard, $0) }
        }
    }

    /// The pending chunks are on disk. Complete routes count from now on.
    mutating func committedRoutes(_ now: Moment) {
        for session in schedule.take(.route) where session.isEnded {
            guard session.intake?.isComplete == true else {
                session.intake?.committed()
                continue
            }
            session.record = session.nextRecord
            session.intake = nil
            session.tasks.remove(.intake)
            noteSize(session)
            session.tasks.remove(.summary)
            requestSummary(session, now)
        }
    }

    /// Drops the pending chunks after a failed commit. They are requested again.
    mutating func discardRoutes() {
        for session in schedule.sessions(with: .route) {
            session.intake?.discardPending()
            // A route without chunks is complete all the same.
            if session.intake?.isComplete != true { session.tasks.remove(.route) }
        }
    }

    /// The sessions whose chunks are to be requested now.
    mutating func requestsDue(now: Moment) -> [SessionKey] {
        let due = schedule.sessions(with: .intake) { $0.isEnded && $0.intake?.isRequestDue(now) == true }
        return due.prefix(StreamTimes.summariesAtOnce).map { session in
            session.intake?.requested(now)
            return session.state.key
        }
    }

    /// Takes in a route again whose stored track is unreadable. Until then the last summary, which has the route, stays;
    /// without one the totals of the samples alone are better than none.
    mutating func replaceRoute(_ route: StoredRoute, of session: OwnedSession<Work>, now: Moment) {
        var unreadable = route
        unreadable.isUnreadable = true
        session.record.route = session.record.report == nil ? nil : unreadable
        session.record.needsSummary = true
        session.intake = RouteIntake(session.state.key, again: unreadable, now: now)
        schedule.add(.intake, to: session)
        schedule.add(.record, to: session)
        session.tasks.remove(.summary)
        if session.record.report == nil { requestSummary(session, now) }
    }

    /// Changes the intake of a session's route, which begins with the first summary or chunk.
    private mutating func takeIn(_ session: OwnedSession<Work>, _ receive: (inout RouteIntake) -> Void) {
        var intake = session.intake ?? RouteIntake(session.state.key)
        // The session's own copy would be copied again.
        session.intake = nil
        receive(&intake)
        session.intake = intake
        schedule.add(.intake, to: session)
        // It may be complete with this.
        schedule.add(.route, to: session)
    }
}

extension OwnedSession {
    /// Whether its summary waits for a route whose stored track is unreadable.
    func isReplacingRoute(_ now: Moment) -> Bool {
        record.route?.isUnreadable == true && intake?.isActive(now) == true
    }

    /// The record of the next commit, with the route that it completes.
    var nextRecord: StreamRecord<Work.Totals> {
        guard isEnded, let route = intake?.completed(beside: record.route) else { return record }
        var record = record
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
        schedule.add(.splits, to: session)
        news.add(session)
        // A payload without newer data does not keep values alive.
        guard session.live?.newest != newest else { return }
        session.receivedAt = now
        session.isSilent = false
    }
}
