import Bus
import MQTT
import Workouts

extension AggregatorMachine {
    /// The sessions whose live metrics are due: something changed, and the last ones are old enough.
    func metricsDue(now: Timestamp) -> [SessionKey] {
        Array(
            withNews.filter { key in
                guard let session = sessions[key], session.hasMetrics else { return true }
                return session.metricsAt.map { now.seconds(since: $0) >= Self.metricsInterval || now < $0 } ?? true
            })
    }

    /// The live metrics of a session, as of now; `nil` when it has none.
    ///
    /// - Parameter floor: a revision that earlier ones may have reached.
    mutating func metrics(_ key: SessionKey, now: Timestamp, floor: Int64) -> MQTTMessage? {
        withNews.remove(key)
        // Of one that has just come from the store nothing is known yet; news come with the fold.
        guard let session = sessions[key], session.hasMetrics, let live = session.live else { return nil }
        session.isSilent = session.isSilent || session.becomesSilent(now)
        session.metricsAt = now
        session.metricsRevision = max(session.metricsRevision + 1, now.milliseconds, floor)
        let snapshot = live.snapshot(
            session.state, revision: session.metricsRevision, count: session.count, isSilent: session.isSilent)
        return Topic.session(key, .metrics).message(snapshot.payload)
    }
}
