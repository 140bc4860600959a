package import Logging
package import Storage
import Synchronization
package import Workouts

/// Commits to a service's store, and leaves a disk alone for a second that refuses.
///
/// Tells operators, and `/readyz`, when the disk begins to refuse and when it takes writes again.
package struct StoreCommits: Sendable {
    package enum Outcome: Sendable {
        case committed(CommitReport)
        /// The disk took nothing; whether the commit before was taken.
        case refused(isNews: Bool)
    }

    /// In seconds.
    private static let rest = 1.0

    private let store: any Store
    private let health: StoreHealth
    private let logger: Logger
    private let complaint: Logger.Message
    private var refusedAt: Timestamp?

    /// - Parameter complaint: what is logged, once, when the disk refuses.
    package init(_ store: any Store, _ health: StoreHealth, _ logger: Logger, complaint: Logger.Message) {
        self.store = store
        self.health = health
        self.logger = logger
        self.complaint = complaint
    }

    /// Whether the disk took the last commit.
    package var isWriting: Bool { health.isWriting }

    /// Whether the disk refused a moment ago. A clock that is set back makes it no longer.
    package func isResting(_ now: Timestamp) -> Bool {
        refusedAt.map { (0..<Self.rest).contains(now.seconds(since: $0)) } ?? false
    }

    /// Tries the disk at the next commit, however short ago it refused.
    package mutating func endRest() {
        refusedAt = nil
    }

    package mutating func commit(_ writes: [StoreWrite], _ now: Timestamp) async -> Outcome {
        do throws(StoreError) {
            let report = try await store.commit(writes)
            if health.note(true) { logger.notice("the store takes writes again") }
            refusedAt = nil
            return .committed(report)
        } catch {
            refusedAt = now
            let isNews = health.note(false)
            if isNews { logger.error(complaint, metadata: [LogKey.error: "\(error)"]) }
            return .refused(isNews: isNews)
        }
    }
}
