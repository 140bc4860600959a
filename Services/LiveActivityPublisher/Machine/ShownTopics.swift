import Bus
import MQTT
import Workouts

/// What the devices of sessions show: live metrics, and the partners in a virtual run. Most sessions have no such device.
struct ShownTopics {
    private struct Reader: Hashable {
        let user: User
        let run: RunID
    }

    /// The sessions whose metrics are shown. With their filters, because a change of one needs them all.
    private var metrics: [SessionKey: MQTTSubscription] = [:]
    private var sessions: [Reader: SessionKey] = [:]
    /// A deleted session's state names no run.
    private var readers: [SessionKey: Reader] = [:]
    /// Whether there are other topics than when this was last cleared.
    var haveChanged = false

    /// The topics that devices of sessions in some shards show.
    func subscriptions(of shards: Set<Shard>) -> [MQTTSubscription] {
        metrics.filter { shards.contains($0.key.session.shard) }.map(\.value)
            + sessions.filter { shards.contains($0.value.session.shard) }.keys.map { reader in
                TopicFilter.topic(.user(reader.user, .partners(reader.run)))
            }
    }

    func hasMetrics(of key: SessionKey) -> Bool { metrics[key] != nil }

    /// The session in which a user's devices show a virtual run: the one that changed last.
    func session(of user: User, in run: RunID) -> SessionKey? { sessions[Reader(user: user, run: run)] }

    /// The session's devices show its metrics from now on, or show them no longer.
    mutating func show(metrics isShown: Bool, of key: SessionKey) {
        guard isShown != hasMetrics(of: key) else { return }
        metrics[key] = isShown ? TopicFilter.topic(.session(key, .metrics)) : nil
        haveChanged = true
    }

    /// The session's devices show this run from now on, or none.
    mutating func show(_ run: RunID?, in key: SessionKey) {
        let reader = run.map { Reader(user: key.user, run: $0) }
        if let former = readers[key], former != reader, sessions[former] == key {
            sessions[former] = nil
            haveChanged = true
        }
        readers[key] = reader
        guard let reader else { return }
        if sessions.updateValue(key, forKey: reader) == nil { haveChanged = true }
    }
}
