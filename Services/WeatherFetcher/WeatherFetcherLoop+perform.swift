import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

extension WeatherFetcherLoop {
    /// Does what is to be done: one commit, then the batch's acknowledgement, then everything that is sent. While the disk
    /// refuses, it waits.
    mutating func perform(_ now: Timestamp, acknowledge: () -> Void) async {
        report()
        let isSaved = await commit(now)
        acknowledge()
        var messages = rejected
        rejected = []
        if isSaved {
            for action in actions.uniqued() {
                if let message = message(for: action) { messages.append(message) }
            }
            actions = []
        }
        await context.send(messages)
    }

    private mutating func commit(_ now: Timestamp) async -> Bool {
        let writes = actions.uniqued().compactMap { write($0) }
        guard !writes.isEmpty else { return true }
        guard !commits.isResting(now) else { return false }
        switch await commits.commit(writes, now) {
        case .committed(let report):
            drop(report.lostShards)
            return true
        case .refused:
            // Each is to be done only once when the disk takes it.
            actions = actions.uniqued()
            return false
        }
    }

    private func write(_ action: WeatherAction) -> StoreWrite? {
        let key: SessionKey
        let change: StoreWrite.Change
        switch action {
        case .save(let saved):
            // By now it may be over and erased.
            guard let record = machine.entries[saved]?.record else { return nil }
            key = saved
            change = .put(key: "\(saved)", value: JSONCoding.encode(record))
        case .erase(let erased):
            guard machine.entries[erased] == nil else { return nil }
            key = erased
            change = .delete(key: "\(erased)")
        case .publish, .clear, .report: return nil
        }
        guard let epoch = epochs[key.session.shard] else { return nil }
        return StoreWrite(
            shard: key.session.shard, epoch: epoch, collection: WeatherRecord.sessions, change: change)
    }

    private mutating func message(for action: WeatherAction) -> MQTTMessage? {
        switch action {
        case .publish(let key): return machine.message(of: key)
        case .clear(let key):
            guard epochs[key.session.shard] != nil, machine.entries[key]?.record.reading == nil else { return nil }
            return Topic.session(key, .weather).message([])
        case .save, .erase, .report: return nil
        }
    }

    /// Tells operators of the provider. It waits for no disk.
    private mutating func report() {
        for case .report(let report) in actions {
            switch report {
            case .answering: context.logger.notice("the weather provider answers again")
            case .failing(let failure):
                context.logger.warning(
                    "no weather from the provider, asking again later", metadata: [LogKey.reason: "\(failure)"])
            case .refusing(let failure, let until):
                context.logger.error(
                    "the weather provider refuses us, leaving it alone for an hour; look at its settings and terms",
                    metadata: [LogKey.reason: "\(failure)", "until": "\(Int(until.seconds))"])
            }
        }
        actions.removeAll { action in
            guard case .report = action else { return false }
            return true
        }
    }

    /// Another process works for these shards now.
    mutating func drop(_ shards: Set<Shard>) {
        for shard in shards { epochs[shard] = nil }
        machine.drop { shards.contains($0.session.shard) }
    }
}
