import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

extension SessionEngineLoop {
    /// How long to leave a disk alone that refuses.
    private static let retryInterval = 1.0

    /// Does what is to be done: one commit, then the batch's acknowledgement, then everything that is sent.
    ///
    /// While the disk refuses the sessions go on in memory; replies are dropped, for clients repeat their commands, and
    /// everything else waits.
    mutating func perform(acknowledge: () -> Void = {}) async throws {
        let now = context.clock.now
        guard !isWaitingForDisk(now) else {
            keepForLater()
            return acknowledge()
        }
        do throws(StoreError) {
            let writes = writes()
            if !writes.isEmpty {
                let report = try await store.commit(writes)
                drop(report.lostShards)
            }
            retryAt = nil
        } catch {
            context.logger.error("sessions not saved, going on in memory", metadata: ["error": "\(error)"])
            let warnings = retryAt == nil ? warnings(now) : []
            retryAt = now + Self.retryInterval
            keepForLater()
            acknowledge()
            return await send(warnings)
        }
        acknowledge()
        var sent: Set<EngineAction> = []
        let messages = actions.compactMap { action in
            sent.insert(action).inserted ? machine.message(for: action) : nil
        }
        actions = []
        await send(messages + rejected)
        rejected = []
    }

    private func isWaitingForDisk(_ now: Timestamp) -> Bool { retryAt.map { now < $0 } ?? false }

    private func writes() -> [StoreWrite] {
        var seen: Set<EngineAction> = []
        return actions.compactMap { action in
            guard seen.insert(action).inserted else { return nil }
            switch action {
            case .save(let key):
                guard let record = machine.entries[key]?.record else { return nil }
                return write(key, SessionRecord.sessions, "\(key)", JSONCoding.encode(record))
            case .saveReply(let key, let reply):
                return write(key, SessionRecord.replies, "\(key)/\(reply.id)", JSONCoding.encode(reply))
            default: return nil
            }
        }
    }

    private func write(
        _ key: SessionKey, _ collection: StoreCollection, _ name: String, _ value: [UInt8]
    ) -> StoreWrite? {
        guard let epoch = epochs[key.user.shard] else { return nil }
        return StoreWrite(
            shard: key.user.shard, epoch: epoch, collection: collection, change: .put(key: name, value: value))
    }

    /// Another process owns these shards now: it has the truth.
    private mutating func drop(_ shards: Set<Shard>) {
        guard !shards.isEmpty else { return }
        context.logger.warning("shards lost", metadata: ["shards": "\(shards.sorted())"])
        for shard in shards { epochs[shard] = nil }
        machine.drop { shards.contains($0.user.shard) }
    }

    private mutating func keepForLater() {
        var seen: Set<EngineAction> = []
        actions = actions.filter { action in
            switch action {
            case .reply, .announce: false
            default: seen.insert(action).inserted
            }
        }
    }

    private func warnings(_ now: Timestamp) -> [MQTTMessage] {
        let keys = Set(
            actions.compactMap { action -> SessionKey? in
                if case .save(let key) = action { key } else { nil }
            })
        let warning = Announcement(
            .warning, at: now, text: "The workout goes on, but cannot be saved right now: the server's disk refuses.")
        return keys.sorted().map { Topic.session($0, .announcements).message(JSONCoding.encode(warning)) }
    }

    /// What is lost with the connection is published again on the next, and clients repeat what is not answered.
    private func send(_ messages: [MQTTMessage]) async {
        guard !messages.isEmpty else { return }
        do throws(MQTTError) {
            try await context.bus.send(messages)
        } catch {
            context.logger.debug("not published", metadata: ["error": "\(error)"])
        }
    }
}
