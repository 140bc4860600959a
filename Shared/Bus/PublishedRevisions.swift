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
