import Bus
import MQTT
import Workouts

extension AggregatorMachine {
    /// The sessions whose live metrics are due: something changed, or their values grew old.
    func metricsDue(now: Timestamp) -> [SessionKey] {
        sessions.filter { _, session in
            guard session.isLive else { return false }
            guard session.hasNews || session.becomesSilent(now) else { return false }
            return session.metricsAt.map { now.seconds(since: $0) >= Self.metricsInterval } ?? true
        }.map(\.key)
    }

    /// The live metrics of a session, as of now.
    ///
    /// - Parameter floor: a revision that earlier ones may have reached.
    mutating func metrics(_ key: SessionKey, now: Timestamp, floor: Int64) -> MQTTMessage? {
        guard var session = sessions[key] else { return nil }
        session.isSilent = session.isSilent || session.becomesSilent(now)
        session.hasNews = false
        session.metricsAt = now
        session.metricsRevision = max(session.metricsRevision + 1, now.milliseconds, floor)
        sessions[key] = session
        let snapshot = session.live.snapshot(
            session.state, revision: session.metricsRevision, count: session.count, isSilent: session.isSilent)
        return Topic.session(key, .metrics).message(snapshot.payload)
    }
}

extension LiveSession {
    fileprivate func becomesSilent(_ now: Timestamp) -> Bool {
        guard !isSilent, let heardAt else { return false }
        return now.seconds(since: heardAt) >= AggregatorMachine.silence
    }
}
