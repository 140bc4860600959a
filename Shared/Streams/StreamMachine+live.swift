import Bus
import MQTT
import Workouts

extension StreamMachine {
    /// The sessions whose live metrics are due: something changed, and the last ones are old enough.
    func liveDue(now: Timestamp) -> [SessionKey] {
        Array(
            withNews.filter { key in
                guard let session = sessions[key], session.isShown else { return true }
                return session.publishedAt.map { now.seconds(since: $0) >= StreamTimes.live || now < $0 } ?? true
            })
    }

    /// The live metrics of a session, as of now; `nil` when it has none.
    ///
    /// - Parameter floor: a revision that earlier ones may have reached.
    mutating func liveMessage(_ key: SessionKey, now: Timestamp, floor: Int64) -> MQTTMessage? {
        withNews.remove(key)
        // Of one that has just come from the store nothing is known yet; news come with the fold.
        guard let session = sessions[key], session.isShown, let live = session.live else { return nil }
        session.isSilent = session.isSilent || session.becomesSilent(now)
        session.publishedAt = now
        session.liveRevision = max(session.liveRevision + 1, now.milliseconds, floor)
        let payload = live.payload(
            session.state, revision: session.liveRevision, count: session.count, isSilent: session.isSilent)
        return Topic.session(key, Work.kind.live).message(payload)
    }
}
