import Bus
import Workouts

/// The numbers of the changes of a user's workouts, as cursors for readers that keep a copy.
///
/// A cursor counts only if this history issued it. A store restored from a backup continues an older history, and issues no
/// number between the last one of the backup and the time of the restore. So each process that takes over begins a span.
struct ChangeLog: Codable, Equatable, Sendable {
    /// The number of spans kept. Cursors of older ones are reset.
    static let spanLimit = 32

    /// The first and the last number that one process issued, oldest first.
    private var spans: [ClosedRange<Int64>] = []
    /// Cursors below it may miss deletions: their tombstones are removed.
    private var forgotten: Int64 = 0
    /// Changes up to it are no longer in the store: the user deleted everything.
    private(set) var cleared: Int64 = 0
    /// Whether this process issued the last span. Memory only.
    private var isContinued = false

    private enum CodingKeys: String, CodingKey {
        case spans, forgotten, cleared
    }

    /// The last number; 0 before the first.
    var latest: Int64 { spans.last?.upperBound ?? 0 }

    /// The number of the next change: Unix milliseconds, but always above the previous one.
    mutating func stamp(_ now: Timestamp) -> Int64 {
        let next = max(latest + 1, now.milliseconds)
        if isContinued, let span = spans.popLast() {
            spans.append(span.lowerBound...next)
        } else {
            spans = spans.suffix(Self.spanLimit - 1) + [next...next]
            isContinued = true
        }
        return next
    }

    /// A tombstone with this number is removed.
    mutating func forget(_ changed: Int64) {
        forgotten = max(forgotten, changed)
    }

    /// All changes are removed.
    mutating func clear(_ now: Timestamp) {
        cleared = stamp(now)
        forget(cleared)
    }

    /// Whether a reader that has everything up to the cursor gets all later changes. A reader with nothing begins at 0.
    func includes(_ cursor: ChangeCursor) -> Bool {
        cursor == ChangeCursor(0) || cursor.since >= forgotten && spans.contains { $0.contains(cursor.latest) }
    }

    static func == (left: ChangeLog, right: ChangeLog) -> Bool {
        (left.spans, left.forgotten, left.cleared) == (right.spans, right.forgotten, right.cleared)
    }
}
