import Bus
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

/// What the loop reads from the store.
extension ImporterLoop {
    private struct Erasure: Decodable {
        let erasedAt: Timestamp?
    }

    /// Erases what is stored of a user who deleted everything, once.
    mutating func receiveErasure(_ message: MQTTMessage, _ now: Moment) async throws {
        guard case .user(let user, .profile)? = Topic(message.topic), outbox.owns(user.shard),
            message.payload.contains(#""erasedAt""#.utf8),
            let time = try? JSONCoding.decode(Erasure.self, from: message.payload).erasedAt
        else { return }
        let place = StoreKey(shard: user.shard, key: "\(user)")
        let known = try await store.records(in: ImportRecord.erasures, at: [place]).first
        let last = known.flatMap { try? JSONCoding.decode(Timestamp.self, from: $0.value) }
        guard last.map({ $0 < time }) ?? true else { return }
        outbox.add(machine.erase(user, before: time))
        dropPlayers()
    }

    mutating func load(_ shards: Set<Shard>, _ now: Moment) async throws {
        for record in try await store.records(in: ImportRecord.imports, shards: shards) {
            do throws(PayloadError) {
                guard let key = ImportKey(record.key) else { throw .malformed("not an import's key") }
                machine.load(try JSONCoding.decode(ImportRecord.self, from: record.value, now: now), of: key, now: now)
            } catch {
                // The client sends its parts again.
                context.logger.error("corrupt record ignored", metadata: LogKey.record("imports", record.key))
            }
        }
        machine.quota.load(try await store.records(in: DailyQuota.collection, shards: shards), now)
    }

    /// Takes in once a minute what other replicas imported for accounts.
    mutating func shareQuota(_ now: Moment) async throws {
        guard machine.quota.isShareDue(now) else { return }
        let others = Set(Shard.all.filter { !outbox.owns($0) })
        if !others.isEmpty {
            machine.quota.see(try await store.records(in: DailyQuota.collection, shards: others), now)
        }
        outbox.add(machine.takeQuotaChanges())
    }

    /// Replies with the imports of a user that are over, newest first.
    mutating func answer(_ request: ImportRequest.Envelope, _ user: User, _ now: Moment) async throws {
        var range = StoreRange(StoreFolder(shard: user.shard, path: "\(user)"), isDescending: true)
        if let before = request.before {
            range.keys = range.keys.lowerBound..<"\(user)/\(ImporterMachine.digits(before))"
        }
        let records = try await store.records(in: ImportRecord.ended, of: range, limit: ImportRequest.listLimit)
        var reply = Reply(id: request.id, revision: nil, now: now.wallClock)
        reply.imports = records.compactMap { record in
            guard let id = record.key.split(separator: "/").last.flatMap({ ImportID(String($0)) }),
                let stored = try? JSONCoding.decode(ImportRecord.self, from: record.value, now: now)
            else { return nil }
            return stored.status(of: ImportKey(user, id), progress: nil)
        }
        for message in reply.messages(to: user, request.client) { outbox.send(message, of: user.shard) }
    }

    /// Removes a user's oldest imports from the list.
    mutating func forget(_ user: User, _ now: Moment) async throws {
        let limit = ImporterMachine.digits(now.wallClock - ImporterMachine.listed)
        let range = StoreRange(shard: user.shard, keys: "\(user)/"..<"\(user)/\(limit)")
        let old = try await store.records(in: ImportRecord.ended, of: range, limit: 10)
        outbox.add(old.map { .forget(StoreKey(shard: $0.shard, key: $0.key)) })
    }
}
