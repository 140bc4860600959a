import Workouts

/// The bytes are not a valid chunk.
struct CorruptChunk: Error {}

/// Consecutive items of a stream in their stored form.
///
/// An item is a variable-length integer of flags (1 for the time, 2 << raw value for each field), the time since the
/// previous item in microseconds, and its values; a list begins with its count. A value with at most three decimals is a
/// variable-length integer, any other its eight bytes, so every value is restored exactly.
struct ItemChunk<Item: StreamItem>: Equatable {
    /// Items of a full chunk.
    static var capacity: Int { 128 }

    private(set) var bytes: [UInt8] = []
    private(set) var count = 0
    private var previous: Int64 = 0
    /// The time of the last item with one.
    private(set) var lastTime: Timestamp?

    var isFull: Bool { count == Self.capacity }

    mutating func append(_ item: Item) {
        let present = item.present
        append(present << 1 | (item.time == nil ? 0 : 1))
        if let time = item.time {
            append(zigzag(time.microseconds &- previous))
            previous = time.microseconds
            lastTime = time
        }
        let lists = item.lists
        for field in PresentFields<Item.Field>(present) {
            if lists >> UInt64(field.rawValue) & 1 != 0 {
                let values = item[all: field]
                append(UInt64(values.count))
                for value in values { append(value) }
            } else if let value = item[field] {
                append(value)
            }
        }
        count += 1
    }

    /// The low two bits are the form: integer, thousandths, or eight bytes that follow.
    private mutating func append(_ value: Double) {
        // Conversions to integers truncate, in one instruction; rounding is a call.
        if value.magnitude < 1e12, !(value == 0 && value.sign == .minus) {
            let integer = Int64(value)
            if Double(integer) == value { return append(zigzag(integer) << 2) }
            let thousandths = Int64(value * 1000 + (value < 0 ? -0.5 : 0.5))
            if Double(thousandths) / 1000 == value { return append(zigzag(thousandths) << 2 | 1) }
        }
        append(2 as UInt64)
        withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// A copy with room for more items of the usual size. Appending to a plain copy doubles the bytes that a session takes.
    func copy(items: Int) -> ItemChunk {
        var copy = self
        copy.bytes = []
        copy.bytes.reserveCapacity(bytes.count + min(items, Self.capacity - count) * 24)
        copy.bytes += bytes
        return copy
    }

    private mutating func append(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private func zigzag(_ value: Int64) -> UInt64 {
        UInt64(bitPattern: value << 1 ^ value >> 63)
    }

    /// A place between two items.
    struct Mark: Equatable {
        fileprivate var offset = 0
        fileprivate var previous: Int64 = 0
    }

    /// The end of the items.
    var mark: Mark { Mark(offset: bytes.count, previous: previous) }

    /// The items after a mark as an entry of the journal: the time before the first of them, then their stored form.
    func entry(since mark: Mark) -> [UInt8] {
        var entry = ItemChunk()
        entry.bytes.reserveCapacity(bytes.count - mark.offset + 10)
        entry.append(zigzag(mark.previous))
        entry.bytes += bytes[mark.offset...]
        return entry.bytes
    }
}

extension ItemChunk {
    /// Continues a stored chunk.
    init(stored bytes: [UInt8]) throws(CorruptChunk) {
        for item in try Self.items(bytes) {
            count += 1
            if let time = item.time { (previous, lastTime) = (time.microseconds, time) }
        }
        self.bytes = bytes
    }

    /// The items of stored bytes.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    static func items(_ bytes: [UInt8]) throws(CorruptChunk) -> [Item] {
        var reader = ChunkReader(bytes: bytes)
        return try items(&reader, after: 0)
    }

    /// The items of an entry of the journal.
    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    static func items(entry bytes: [UInt8]) throws(CorruptChunk) -> [Item] {
        var reader = ChunkReader(bytes: bytes)
        let previous = reader.signed(try reader.number())
        return try items(&reader, after: previous)
    }

    @inline(__always)
    private static func items(_ reader: inout ChunkReader, after time: Int64) throws(CorruptChunk) -> [Item] {
        var items: [Item] = []
        let lists = Item.Field.lists
        // Results cannot be computed with every number. A damaged value is left out, and its item still counts.
        let ranges = Item.Field.ranges
        var previous = time
        while !reader.isAtEnd {
            let flags = try reader.number()
            var item = Item(time: nil)
            if flags & 1 != 0 {
                previous &+= reader.signed(try reader.number())
                guard Timestamp.accepted.contains(previous) else { throw CorruptChunk() }
                item.time = Timestamp(microseconds: previous)
            }
            guard (flags >> 1) >> UInt64(ranges.count) == 0 else { throw CorruptChunk() }
            for field in PresentFields<Item.Field>(flags >> 1) {
                if lists >> UInt64(field.rawValue) & 1 != 0 {
                    item[all: field] = try reader.list().filter { ranges[field.rawValue].contains($0) }
                } else {
                    let value = try reader.value()
                    if ranges[field.rawValue].contains(value) { item[field] = value }
                }
            }
            items.append(item)
        }
        return items
    }
}

private struct ChunkReader {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { index >= bytes.count }

    mutating func number() throws(CorruptChunk) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while index < bytes.count, shift < 64 {
            let byte = bytes[index]
            index += 1
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw CorruptChunk()
    }

    mutating func value() throws(CorruptChunk) -> Double {
        let number = try number()
        switch number & 3 {
        case 0: return Double(signed(number >> 2))
        case 1: return Double(signed(number >> 2)) / 1000
        case 2:
            guard bytes.count - index >= 8 else { throw CorruptChunk() }
            let pattern = bytes[index..<index + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            index += 8
            return Double(bitPattern: pattern)
        default: throw CorruptChunk()
        }
    }

    mutating func list() throws(CorruptChunk) -> [Double] {
        let count = try number()
        guard count <= UInt64(bytes.count - index) else { throw CorruptChunk() }
        var values: [Double] = []
        for _ in 0..<count { values.append(try value()) }
        return values
    }

    func signed(_ value: UInt64) -> Int64 {
        Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }
}
