/// What an owner makes of a revision that it sees on its own retained topic.
package enum RetainedRevision: Equatable, Sendable {
    /// What this process published itself, or just what it would publish.
    case known
    /// An older one has come back: the newest is published again.
    case outdated
    /// A newer one than this store has: the owner goes on above it.
    case ahead

    /// - Parameters:
    ///   - seen: the revision on the topic.
    ///   - newest: the owner's own.
    ///   - published: what it published since the connection began.
    package init(_ seen: Int64, newest: Int64, published: PublishedRevisions) {
        if seen > newest {
            self = .ahead
        } else if seen == newest || published.contains(seen) {
            self = .known
        } else {
            self = .outdated
        }
    }
}

/// What an owner reads of a revision on its own retained topics.
package struct SeenRevision: Decodable, Equatable, Sendable {
    /// Revisions are Unix milliseconds or a little above; whatever is far beyond was never ours, and nothing could go on
    /// above it.
    package static let range: ClosedRange<Int64> = 0...1 << 53

    package let revision: Int64

    private enum Key: String, CodingKey {
        case revision
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        revision = try container.decode(Int64.self, forKey: .revision)
        guard Self.range.contains(revision) else {
            throw DecodingError.dataCorruptedError(forKey: .revision, in: container, debugDescription: "out of range")
        }
    }
}

/// The revisions of one retained topic that this process published since its connection began, as far as it remembers.
///
/// They come back to an owner that is subscribed to its own topic, and are nothing to answer.
package struct PublishedRevisions: Equatable, Sendable {
    /// So many are remembered. The echo of an older one is answered with the newest, which does no harm.
    package static let limit = 8

    /// The latest, oldest first.
    private var latest: [Int64] = []

    package init() {}

    package mutating func insert(_ revision: Int64) {
        guard !latest.contains(revision) else { return }
        if latest.count == Self.limit { latest.removeFirst() }
        latest.append(revision)
    }

    package func contains(_ revision: Int64) -> Bool { latest.contains(revision) }
}
