package import Workouts

/// The newest revision of a retained topic, kept by the topic's only owner.
///
/// The owner subscribes to its own retained topics and compares each received revision with the newest one. It receives its
/// own messages as echoes. Other revisions come from a broker that restarted from an old autosave, from a restored backup or
/// from a former owner.
package struct RetainedTopic: Equatable, Sendable {
    /// How the owner reacts to a received revision.
    package enum Seen: Equatable, Sendable {
        /// Nothing: it is the newest, or an echo.
        case known
        /// Publish the newest again: an older revision came back.
        case republish
        /// Save and publish: the topic had a newer revision, and the owner's revision is now above it.
        case revised
    }

    /// A session's retained topics are cleared this long after their last revision, in seconds.
    package static let lifetime = 48 * 3_600.0
    /// The results of a session that was over when it arrived (``SessionState/isPast``) are cleared this long after their last
    /// revision, in seconds: an uploaded archive would fill the broker.
    package static let pastLifetime = 600.0
    /// The number of published revisions that count as echoes. After an older echo the owner publishes the newest revision
    /// again, which is harmless.
    package static let limit = 8

    /// The newest revision; 0 before the first.
    package private(set) var revision: Int64
    /// The latest revisions published since the connection began, oldest first.
    private var echoes: [Int64] = []

    package init(revision: Int64 = 0) {
        self.revision = revision
    }

    /// Moves to the next revision: Unix milliseconds, but always above the previous one and above `other`.
    @discardableResult
    package mutating func revise(_ now: Timestamp, above other: Int64 = 0) -> Int64 {
        revision = max(max(revision, other) + 1, now.milliseconds)
        return revision
    }

    /// Moves to a revision that exists elsewhere, unless this one is newer.
    package mutating func raise(to other: Int64) {
        revision = max(revision, other)
    }

    /// Records a published revision, so that its echo is known.
    package mutating func published(_ revision: Int64) {
        guard !echoes.contains(revision) else { return }
        if echoes.count == Self.limit { echoes.removeFirst() }
        echoes.append(revision)
    }

    /// A new connection brings no echoes of the old one.
    package mutating func reconnected() {
        echoes = []
    }

    /// Compares a revision received on the topic and moves above it if it is newer.
    package mutating func see(_ seen: Int64, _ now: Timestamp) -> Seen {
        if seen > revision {
            revise(now, above: seen)
            return .revised
        }
        return seen == revision || echoes.contains(seen) ? .known : .republish
    }
}

/// Stored as its revision: echoes belong to a connection.
extension RetainedTopic: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(revision: try decoder.singleValueContainer().decode(Int64.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(revision)
    }
}

/// The revision of a payload on a service's own retained topic.
package struct SeenRevision: Decodable, Equatable, Sendable {
    /// Revisions are Unix milliseconds or a little above. A larger one is invalid: the owner could not publish one
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
