import Foundation
import Workouts

/// A record of the journal: the items of one commit, or a part of them, grouped by shard.
///
/// Integers are little-endian. The header is the version (1 byte), the number of groups (2), for each group its shard (1), epoch
/// (8) and number of entries (4), for each entry the length of its body (4) and the CRC-32 of that (4), and the header's own
/// CRC-32 (4). The bodies follow: the stream's name, the number of the first item (4), the items. So a damaged body hides no other
/// entry.
///
/// A name is its length (2) and its text. The UUID after its first slash, half of most names, takes 16 bytes: then the highest bit
/// of the length is set, and the UUID's place (1) and bytes follow, before the text without it.
struct JournalRecord {
    struct Group {
        let shard: Shard
        let epoch: Epoch
        var count = 0
    }

    /// The part of a record that an entry takes.
    struct Body {
        let range: Range<Int>
        let checksum: UInt32
    }

    static let version: UInt8 = 1
    /// The most bytes of a record with more than one entry.
    static let limit = 1 << 20

    private(set) var groups: [Group] = []
    private(set) var bodies: [Body] = []

    /// Reads the header of a record; `nil` if it is damaged or of another version.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var reader = ByteReader(bytes)
        guard reader.next(UInt8.self) == Self.version, let count = reader.next(UInt16.self) else { return nil }
        var total = 0
        for _ in 0..<count {
            guard let shard = reader.next(UInt8.self), let epoch = reader.next(Int64.self),
                let count = reader.next(UInt32.self)
            else { return nil }
            groups.append(Group(shard: Shard(shard), epoch: Epoch(epoch), count: Int(count)))
            total += Int(count)
        }
        let end = reader.offset + total * 8
        var offset = end + 4
        guard offset <= bytes.count else { return nil }
        bodies.reserveCapacity(total)
        for _ in 0..<total {
            guard let length = reader.next(UInt32.self), let checksum = reader.next(UInt32.self) else { return nil }
            bodies.append(Body(range: offset..<offset + Int(length), checksum: checksum))
            offset += Int(length)
        }
        guard reader.next(UInt32.self) == Checksum.crc32(UnsafeRawBufferPointer(rebasing: bytes[..<end])) else {
            return nil
        }
    }

    /// The bytes of this record without some shards; `nil` if nothing is left. Damaged entries stay damaged.
    func without(_ shards: Set<Shard>, _ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var kept = (groups: [Group](), bodies: [Body]())
        var next = 0
        for group in groups {
            if !shards.contains(group.shard) {
                kept.groups.append(group)
                kept.bodies += bodies[next..<next + group.count]
            }
            next += group.count
        }
        guard !kept.groups.isEmpty else { return nil }
        var result = Self.header(kept.groups, kept.bodies)
        for body in kept.bodies { result += bytes[body.range.clamped(to: 0..<bytes.count)] }
        return result
    }

    // MARK: Writing

    /// An append and the epoch of its shard.
    struct Append {
        let epoch: Epoch
        let entry: JournalEntry
    }

    /// The records of a commit, each with its shards. The appends of a shard stay in order.
    static func encode(_ appends: [Append], limit: Int = limit) -> [(shards: Set<Shard>, bytes: [UInt8])] {
        var records: [(shards: Set<Shard>, bytes: [UInt8])] = []
        var groups: [Group] = []
        var bodies: [Body] = []
        var contents: [UInt8] = []
        func finish() {
            records.append((Set(groups.map(\.shard)), header(groups, bodies) + contents))
            (groups, bodies, contents) = ([], [], [])
        }
        for (shard, appends) in Dictionary(grouping: appends, by: \.entry.shard).sorted(by: { $0.key < $1.key }) {
            for append in appends {
                let size = append.entry.stream.utf8.count + append.entry.items.count + 6
                let headers = 7 + (groups.count + 1) * 13 + (bodies.count + 1) * 8
                if !bodies.isEmpty, headers + contents.count + size > limit { finish() }
                if groups.last?.shard != shard { groups.append(Group(shard: shard, epoch: append.epoch)) }
                groups[groups.count - 1].count += 1
                let start = contents.count
                contents.append(name: append.entry.stream)
                contents.append(integer: UInt32(append.entry.first))
                contents += append.entry.items
                let checksum = contents.withUnsafeBytes { Checksum.crc32(.init(rebasing: $0[start...])) }
                bodies.append(Body(range: start..<contents.count, checksum: checksum))
            }
        }
        if !bodies.isEmpty { finish() }
        return records
    }

    private static func header(_ groups: [Group], _ bodies: [Body]) -> [UInt8] {
        var header: [UInt8] = [version]
        header.reserveCapacity(7 + groups.count * 13 + bodies.count * 8)
        header.append(integer: UInt16(groups.count))
        for group in groups {
            header.append(integer: group.shard.value)
            header.append(integer: group.epoch.number)
            header.append(integer: UInt32(group.count))
        }
        for body in bodies {
            header.append(integer: UInt32(body.range.count))
            header.append(integer: body.checksum)
        }
        header.append(integer: header.withUnsafeBytes(Checksum.crc32))
        return header
    }
}

private let hasUUID: UInt16 = 1 << 15

/// Reads the records of a journal, one after the other.
struct JournalReader {
    private(set) var tail = JournalTail()
    /// The names of streams by the hash of their stored form. They recur in record after record.
    private var names: [Int: (stored: [UInt8], text: String)] = [:]

    /// Adds the entries of some shards to ``tail``.
    mutating func read(_ bytes: UnsafeRawBufferPointer, of shards: Set<Shard>) {
        guard let record = JournalRecord(bytes) else {
            tail.skipped += 1
            return
        }
        var next = 0
        for group in record.groups {
            defer { next += group.count }
            guard shards.contains(group.shard) else { continue }
            for body in record.bodies[next..<next + group.count] {
                if let entry = entry(bytes, body, group.shard) {
                    tail.entries.append(entry)
                } else {
                    tail.skipped += 1
                }
            }
        }
    }

    private mutating func entry(
        _ bytes: UnsafeRawBufferPointer, _ body: JournalRecord.Body, _ shard: Shard
    ) -> JournalEntry? {
        guard body.range.upperBound <= bytes.count else { return nil }
        let body = (bytes: UnsafeRawBufferPointer(rebasing: bytes[body.range]), checksum: body.checksum)
        guard Checksum.crc32(body.bytes) == body.checksum else { return nil }
        var reader = ByteReader(body.bytes)
        guard let name = reader.nextName(), let stream = text(of: name), let first = reader.next(UInt32.self) else {
            return nil
        }
        return JournalEntry(
            shard: shard, stream: stream, first: Int(first), items: [UInt8](body.bytes[reader.offset...]))
    }

    private mutating func text(of name: UnsafeRawBufferPointer) -> String? {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        let hash = hasher.finalize()
        if let known = names[hash], known.stored.elementsEqual(name) { return known.text }
        var reader = ByteReader(name)
        let text = reader.decodeName()
        if let text { names[hash] = ([UInt8](name), text) }
        return text
    }
}

extension [UInt8] {
    fileprivate mutating func append(integer: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: integer.littleEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func append(name: String) {
        guard let slash = name.utf8.firstIndex(of: UInt8(ascii: "/")),
            let end = name.utf8.index(slash, offsetBy: 37, limitedBy: name.endIndex),
            let place = UInt8(exactly: name.utf8.distance(from: name.startIndex, to: slash) + 1),
            let text = String(name.utf8[slash..<end].dropFirst()), let session = SessionID(text),
            session.description == text
        else {
            append(integer: UInt16(name.utf8.count))
            self += name.utf8
            return
        }
        append(integer: UInt16(name.utf8.count - 36) | hasUUID)
        append(place)
        Swift.withUnsafeBytes(of: session.uuid.uuid) { append(contentsOf: $0) }
        self += name.utf8[...slash]
        self += name.utf8[end...]
    }
}

/// Reads little-endian integers one after the other; `nil` at the end.
private struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    mutating func next<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        guard let part = next(count: MemoryLayout<Integer>.size) else { return nil }
        return Integer(littleEndian: part.loadUnaligned(as: Integer.self))
    }

    /// The stored form of a name.
    mutating func nextName() -> UnsafeRawBufferPointer? {
        let start = offset
        guard let length = next(UInt16.self),
            next(count: Int(length & ~hasUUID) + (length & hasUUID == 0 ? 0 : 17)) != nil
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<offset])
    }

    mutating func decodeName() -> String? {
        guard let length = next(UInt16.self) else { return nil }
        guard length & hasUUID != 0 else { return next(count: Int(length)).map { String(decoding: $0, as: UTF8.self) } }
        guard let place = next(UInt8.self), let uuid = next(count: 16), let rest = next(count: Int(length ^ hasUUID)),
            place <= rest.count
        else { return nil }
        let session = SessionID(UUID(uuid: uuid.loadUnaligned(as: uuid_t.self)))
        return String(decoding: rest[..<Int(place)], as: UTF8.self) + session.description
            + String(decoding: rest[Int(place)...], as: UTF8.self)
    }

    mutating func next(count: Int) -> UnsafeRawBufferPointer? {
        guard offset + count <= bytes.count else { return nil }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }
}
