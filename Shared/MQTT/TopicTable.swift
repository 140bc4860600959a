import Glibc

/// Converts topics of received messages to strings. Equal topics share one string.
struct TopicTable {
    /// Longer topics, up to 64 KiB, are not kept; none of them belongs to Pacebus.
    static let lengthLimit = 256

    private var topics: [UInt64: String] = [:]
    private var latest = ""
    private let limit: Int

    init(limit: Int = 65_536) {
        self.limit = limit
    }

    mutating func string(_ topic: UnsafePointer<CChar>) -> String {
        let bytes = UnsafeRawBufferPointer(start: topic, count: strlen(topic))
        guard bytes.count <= Self.lengthLimit else { return String(decoding: bytes, as: UTF8.self) }
        if matches(latest, bytes) { return latest }
        latest = lookUp(bytes)
        return latest
    }

    private mutating func lookUp(_ bytes: UnsafeRawBufferPointer) -> String {
        let key = hash(bytes)
        if let known = topics[key], matches(known, bytes) { return known }
        // Topics are foreign input, so their number is bounded. A collision only replaces the earlier topic.
        if topics.count >= limit { topics.removeAll(keepingCapacity: true) }
        let string = String(decoding: bytes, as: UTF8.self)
        topics[key] = string
        return string
    }

    private func matches(_ string: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard string.utf8.count == bytes.count else { return false }
        return string.utf8.withContiguousStorageIfAvailable { known in
            guard let known = known.baseAddress, let bytes = bytes.baseAddress else { return true }
            return memcmp(known, bytes, string.utf8.count) == 0
        } ?? false
    }

    /// Hashes eight bytes at a time; the dictionary hashes the result again.
    private func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        let prime: UInt64 = 0x9E37_79B9_7F4A_7C15
        var hash = UInt64(bytes.count) &* prime
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = (hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* prime
            hash ^= hash &>> 32
            offset += 8
        }
        while offset < bytes.count {
            hash = (hash ^ UInt64(bytes[offset])) &* prime
            offset += 1
        }
        return hash
    }
}
