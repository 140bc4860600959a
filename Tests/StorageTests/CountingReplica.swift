import Foundation
import Synchronization
import Testing
import Workouts

@testable import Storage

/// A service's loop in small: for each owned shard it counts its commits, from the stored count on.
final class CountingReplica: Sendable {
    private let store: PostgresStore
    private let owned = Mutex<[Shard: (epoch: Epoch, count: Int)]>([:])
    private let changes = Mutex<[OwnershipChange]>([])
    private let committed = Mutex(0)
    private let tasks = Mutex<[Task<Void, any Error>]>([])

    init(
        _ url: String, schema: StoreSchema = .journaled, plan: OwnershipPlan = .balanced,
        lease: Duration = .seconds(5)
    ) throws {
        let (arrivals, arrived) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        store = try PostgresStore(PostgresAddress(url), schema: schema, plan: plan, lease: lease)
        let reading = Task<Void, any Error> { [self] in
            for await change in store.ownership {
                changes.withLock { $0.append(change) }
                arrived.yield()
            }
        }
        let counting = Task<Void, any Error> { [self] in
            var news = arrivals.makeAsyncIterator()
            while !Task.isCancelled {
                if owned.withLock(\.isEmpty) { await news.next() }
                for change in changes.withLock({ changes in
                    defer { changes = [] }
                    return changes
                }) {
                    try await apply(change)
                }
                try await count()
            }
        }
        tasks.withLock { $0 = [counting, reading] }
    }

    var shards: Set<Shard> { Set(owned.withLock(\.self).keys) }
    var commits: Int { committed.withLock(\.self) }

    private func apply(_ change: OwnershipChange) async throws {
        switch change {
        case .gained(let epochs):
            let counts = try await counts(of: Set(epochs.keys))
            owned.withLock { owned in
                for (shard, epoch) in epochs { owned[shard] = (epoch, counts[shard] ?? 0) }
            }
        case .releasing(let shards):
            drop(shards)
            await store.released(shards)
        case .lost(let shards): drop(shards)
        }
    }

    private func drop(_ shards: Set<Shard>) {
        owned.withLock { owned in for shard in shards { owned[shard] = nil } }
    }

    private func counts(of shards: Set<Shard>) async throws -> [Shard: Int] {
        while true {
            try Task.checkCancellation()
            guard let records = try? await store.records(in: .apples, shards: shards) else { continue }
            return Dictionary(
                uniqueKeysWithValues: records.map { ($0.shard, Self.number($0.value)) })
        }
    }

    private func count() async throws {
        let all = owned.withLock { Array($0) }
        guard !all.isEmpty else { return }
        let start = Int.random(in: 0..<all.count)
        let some = (0..<min(8, all.count)).map { all[(start + $0) % all.count] }
        let writes = some.flatMap { shard, own in
            [
                StoreWrite(
                    shard: shard, epoch: own.epoch, collection: .apples,
                    change: .put(key: "count", value: Self.bytes(own.count + 1))),
                StoreWrite(
                    shard: shard, epoch: own.epoch, collection: .journal,
                    change: .append(stream: "s", first: own.count + 1, items: [])),
            ]
        }
        // A commit that throws wrote nothing.
        guard let report = try? await store.commit(writes) else { return }
        drop(report.lostShards)
        owned.withLock { owned in
            for (shard, own) in some where owned[shard] != nil { owned[shard] = (own.epoch, own.count + 1) }
        }
        committed.withLock { $0 += 1 }
        // Leaves time for the tests beside it.
        try await Task.sleep(for: .milliseconds(2))
    }

    /// Ends like a service: the loop, then the store.
    func close() async {
        let all = tasks.withLock(\.self)
        all[0].cancel()
        _ = await all[0].result
        await store.close()
        _ = await all[1].result
    }

    private static func bytes(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(number >> ($0 * 8) & 255) } }
    private static func number(_ bytes: [UInt8]) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }

    /// Checks that each shard's journal has every number from 1 to the shard's count, once. Returns how many there are.
    static func verify(_ url: String, schema: StoreSchema = .journaled) async throws -> Int {
        let store = try PostgresStore(PostgresAddress(url), schema: schema, plan: .shards([]))
        let counts = try await store.records(in: .apples, shards: Set(Shard.all))
        let entries = Dictionary(grouping: try await store.journal(of: Set(Shard.all)).entries, by: \.shard)
        var total = 0
        for record in counts {
            let firsts = entries[record.shard, default: []].map(\.first)
            total += firsts.count
            #expect(firsts == Array(1...number(record.value)), "\(record.shard)")
        }
        #expect(total > 0 && entries.count == counts.count)
        await store.close()
        return total
    }
}
