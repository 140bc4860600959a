import Storage
import Workouts

/// Finds the first and the last chunk of a stream with few reads: exponential steps, then a binary search between
/// present and absent chunks.
struct StreamSearch {
    let key: SessionKey
    let device: Device
    private(set) var first: [UInt8]?
    private(set) var last: (number: Int, bytes: [UInt8])?
    /// The lowest known absent number.
    private var absent: Int?
    private var asked = start
    private static let start = [0, 1, 3, 7, 15, 31, 63]
    private var answered = 0

    init(_ key: SessionKey, _ device: Device) {
        self.key = key
        self.device = device
    }

    /// Begins near a number: the last chunk probably has it or the one before.
    init(_ key: SessionKey, _ device: Device, near number: Int) {
        self.init(key, device)
        asked = Set([0, max(0, number - 1), number, number + 1]).sorted()
    }

    /// The keys to read next.
    var keys: [StoreKey] {
        let name = StreamStore.name(key, device)
        return asked.map { StoreKey(shard: key.session.shard, key: StreamStore.chunkKey(name, $0)) }
    }

    var isDone: Bool { asked.isEmpty }

    /// Receives the store's result for the next key.
    mutating func answer(_ bytes: [UInt8]?) {
        let number = asked[answered]
        answered += 1
        if let bytes {
            if number == 0 { first = bytes }
            if number < absent ?? .max, number >= last?.number ?? 0 { last = (number, bytes) }
        } else {
            absent = min(absent ?? number, number)
        }
        guard answered == asked.count else { return }
        answered = 0
        asked = next
    }

    private var next: [Int] {
        guard let last else { return absent == 0 ? [] : Self.start }
        guard let absent else { return (1...6).map { (last.number + 1) << $0 - 1 } }
        return absent - last.number > 1 ? [last.number + (absent - last.number) / 2] : []
    }
}

extension [StreamSearch] {
    /// Reads what the searches ask for, until all are done.
    mutating func run(in store: any Store) async throws {
        var open = indices.map(\.self)
        while !open.isEmpty {
            let asked = open.flatMap { index in self[index].keys.map { (index, $0) } }
            let records = try await store.records(in: StreamStore.chunks, at: asked.map(\.1))
            var next = 0
            for (index, key) in asked {
                // Records come in the order of their keys; absent ones are left out.
                let isFound = next < records.count && records[next].key == key.key
                self[index].answer(isFound ? records[next].value : nil)
                if isFound { next += 1 }
            }
            open.removeAll { self[$0].isDone }
        }
    }
}

/// The sessions of which the store has no readable record.
struct MissingRecords {
    /// Without a record, up to a limit: none of them is sought again.
    private(set) var unknown: Set<SessionKey> = []
    private(set) var corrupt: Set<SessionKey> = []

    var hasCorrupt: Bool { !corrupt.isEmpty }

    func isUnknown(_ key: SessionKey) -> Bool { unknown.contains(key) }

    func isCorrupt(_ key: SessionKey) -> Bool { corrupt.contains(key) }

    mutating func noteUnknown(_ keys: Set<SessionKey>) {
        if unknown.count + keys.count > StreamTimes.unknownLimit { unknown = [] }
        unknown.formUnion(keys.prefix(StreamTimes.unknownLimit))
    }

    mutating func noteCorrupt(_ key: SessionKey) { corrupt.insert(key) }

    /// The session has a record now.
    mutating func found(_ key: SessionKey) {
        unknown.remove(key)
        corrupt.remove(key)
    }

    mutating func drop(_ shards: Set<Shard>) {
        unknown = unknown.filter { !shards.contains($0.session.shard) }
        corrupt = corrupt.filter { !shards.contains($0.session.shard) }
    }
}
