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
    ///   - first: the first revision it published since the connection began.
    package init(_ seen: Int64, newest: Int64, publishedFrom first: Int64?) {
        if seen > newest {
            self = .ahead
        } else if seen == newest || first.map({ seen >= $0 }) ?? false {
            self = .known
        } else {
            self = .outdated
        }
    }
}
