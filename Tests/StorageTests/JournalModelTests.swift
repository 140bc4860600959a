import Storage
import TestSupport
import Testing
import Workouts

@Suite struct JournalModelTests {
    /// A process on a database and its like on a database in memory.
    private struct Pair {
        let open: OpenStore
        let memory: MemoryStore
        let epochs: [Shard: Epoch]
        /// The last records of its commits, in both.
        var positions: [(Int64, Int64)] = []

        init(_ place: StorePlace, _ database: MemoryDatabase) async throws {
            open = try await OpenStore(place, schema: .journaled)
            memory = database.replica()
            guard case .gained(let epochs) = memory.gain(open.shards) else { throw OpenStore.NothingGained() }
            self.epochs = epochs
        }

        /// Commits the same to both, with trims of the same records.
        mutating func commit(_ writes: [StoreWrite], trim: Trim?, fails: Bool) async throws {
            let likewise = writes.map { write in
                StoreWrite(
                    shard: write.shard, epoch: write.epoch == open.epoch ? epochs[write.shard] ?? Epoch(0) : Epoch(0),
                    collection: write.collection, change: write.change)
            }
            let (own, other) = trim?.trims(self) ?? (nil, nil)
            guard !fails else {
                let failing = writes + [open.put("x", [], in: .unknown)]
                await #expect(throws: StoreError.self) {
                    try await open.store.commit(failing, trim: own, mayUseReserve: false)
                }
                return
            }
            let report = try await open.store.commit(writes, trim: own, mayUseReserve: true)
            let expected = try await memory.commit(likewise, trim: other, mayUseReserve: true)
            try #require(report.lostShards == expected.lostShards)
            try #require((report.journaled == nil) == (expected.journaled == nil))
            if let position = report.journaled, let other = expected.journaled {
                positions.append((position.sequence, other.sequence))
            }
        }

        func compare(_ shards: Set<Shard>) async throws {
            let tail = try await open.store.journal(of: shards)
            let expected = try await memory.journal(of: shards)
            // A record groups its entries by shard.
            for shard in shards {
                try #require(tail.entries.filter { $0.shard == shard } == expected.entries.filter { $0.shard == shard })
            }
            try #require(tail.entries.count == expected.entries.count && tail.skipped == 0)
            let records = try await open.store.records(in: .apples, shards: shards)
            try #require(records == (try await memory.records(in: .apples, shards: shards)))
        }
    }

    private enum Trim {
        case own(Int)
        case shards(Set<Shard>)

        func trims(_ pair: Pair) -> (JournalTrim, JournalTrim) {
            switch self {
            case .own(let index):
                (.own(through: pair.positions[index].0), .own(through: pair.positions[index].1))
            case .shards(let shards):
                (pair.open.everything(of: shards), .shards(pair.epochs.filter { shards.contains($0.key) }))
            }
        }
    }

    private static let shards = [Shard(0), Shard(1), Shard(8), Shard(255)]

    @Test(arguments: StoreKind.available)
    func `after any appends, trims, failures and restarts both stores have the same journal and records`(
        kind: StoreKind
    )
        async throws
    {
        let place = try await kind.place()
        var random = SeededRandom()
        let database = MemoryDatabase()
        var pair = try await Pair(place, database)
        for number in 0..<250 {
            if Int.random(in: 0..<20, using: &random) == 0 {
                await pair.open.store.close()
                pair = try await Pair(place, database)
            }
            let writes = (0..<Int.random(in: 0...8, using: &random)).map { _ in write(pair.open, number, &random) }
            let trim: Trim? =
                switch Int.random(in: 0..<6, using: &random) {
                case 0: .shards(some(&random))
                case 1, 2: pair.positions.indices.randomElement(using: &random).map { .own($0) }
                default: nil
                }
            try await pair.commit(writes, trim: trim, fails: Int.random(in: 0..<8, using: &random) == 0)
            try await pair.compare(some(&random))
        }
        try await pair.compare(Set(Shard.all))
    }

    private func some(_ random: inout SeededRandom) -> Set<Shard> {
        Set(Self.shards.filter { _ in Bool.random(using: &random) })
    }

    private func write(_ open: OpenStore, _ number: Int, _ random: inout SeededRandom) -> StoreWrite {
        let shard = Self.shards.randomElement(using: &random) ?? Shard(0)
        let key = "a/\(Int.random(in: 0..<4, using: &random))/w"
        let count = Int.random(in: 0..<12, using: &random) == 0 ? 9_000 : Int.random(in: 0...40, using: &random)
        let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return open.put(key, bytes, shard: shard)
        case 1: return open.delete(key, shard: shard)
        // Of an earlier process.
        case 2: return open.put(key, bytes, shard: shard, epoch: Epoch(open.epoch.number - 1))
        default: return open.append(key, number, bytes, shard: shard)
        }
    }
}
