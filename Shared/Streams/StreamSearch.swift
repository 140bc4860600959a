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

    /// Finds only the last chunk, probably of this number or the one before.
    init(_ key: SessionKey, _ device: Device, near number: Int) {
        self.init(key, device)
        asked = Array(max(0, number - 1)...number + 1)
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
