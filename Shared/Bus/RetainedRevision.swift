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
