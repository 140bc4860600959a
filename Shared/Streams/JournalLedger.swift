import DequeModule
import ServiceKit

/// The commits of this process with items that are in the journal and in no chunk, oldest first.
///
/// A stream belongs to the commit with its oldest such item. Once the streams of a commit and of all before it are in chunks, the
/// store can remove the journal up to it.
struct JournalLedger<Stream> {
    private struct Commit {
        /// Its last record in the journal.
        let sequence: Int64
        let at: Moment
        let bytes: Int
        /// The streams that were added, also those that have left since, and the number of the others.
        var streams: [Stream] = []
        var count = 0
    }

    private var commits: Deque<Commit> = []
    /// The number of the first commit.
    private var first = 0
    /// The last record that the store can remove, and the size of all such records.
    private var left: (sequence: Int64, bytes: Int)?
    /// The last commits before deletions, and when they are due.
    private var deletions: Deque<(commit: Int, due: Moment)> = []
    /// The size of the items in the journal.
    private(set) var bytes = 0

    /// The time of the oldest item that only the journal has.
    var oldest: Moment? { commits.first?.at }

    // MARK: Commits and streams

    /// Adds a commit that appended items to the journal. Returns its number.
    mutating func append(through sequence: Int64, bytes: Int, _ now: Moment) -> Int {
        commits.append(Commit(sequence: sequence, at: now, bytes: bytes))
        self.bytes += bytes
        return first + commits.count - 1
    }

    mutating func add(_ stream: Stream, to commit: Int) {
        commits[commit - first].streams.append(stream)
        commits[commit - first].count += 1
    }

    /// A stream leaves its commit: its items are in chunks, deleted, or of another owner.
    mutating func release(_ commit: Int) { commits[commit - first].count -= 1 }

    /// Items up to now must leave the journal earlier than others: some of them were deleted.
    mutating func deleted(_ now: Moment) {
        guard !commits.isEmpty else { return }
        let last = first + commits.count - 1
        let due = now + StreamTimes.deleted
        if let former = deletions.last, due.seconds(since: former.due) < StreamTimes.journalInterval {
            deletions[deletions.count - 1].commit = last
        } else {
            deletions.append((last, due))
        }
    }

    // MARK: Time

    private func due(_ commit: Int) -> Moment {
        // Many sessions fill the journal within 70 s: then the oldest items leave it steadily, before it is full.
        let due = commits[commit - first].at + (bytes < StreamTimes.journalBytes / 4 * 3 ? StreamTimes.due : 0)
        return deletions.first { $0.commit >= commit }.map { min($0.due, due) } ?? due
    }

    /// The streams to move into chunks, the oldest first.
    ///
    /// - Parameter belongs: whether a stream still belongs to a commit.
    func due(_ now: Moment, limit: Int, belongs: (Stream, Int) -> Bool) -> [Stream] {
        var due: [Stream] = []
        for commit in first..<first + commits.count {
            guard due.count < limit, isFull(now) || self.due(commit) <= now else { break }
            guard commits[commit - first].count > 0 else { continue }
            due += commits[commit - first].streams.filter { belongs($0, commit) }.prefix(limit - due.count)
        }
        return due
    }

    /// The maximum number of streams that the next commit of received items moves.
    func limit(_ now: Moment) -> Int {
        guard !isFull(now) else { return StreamTimes.dueOfTick }
        let isLate = !commits.isEmpty && due(first) + StreamTimes.dueLate <= now
        return isLate ? StreamTimes.dueLater : StreamTimes.dueAtOnce
    }

    /// Whether no more items may be appended until others have left the journal.
    func isFull(_ now: Moment) -> Bool {
        bytes >= StreamTimes.journalBytes
            || oldest.map { now.seconds(since: $0) >= StreamTimes.journalAge } ?? false
    }

    /// Whether there is work for a commit.
    mutating func isDue(_ now: Moment) -> Bool {
        let isRemovable = removable() != nil
        return isRemovable || !commits.isEmpty && due(first) <= now
    }

    // MARK: Removal

    /// The last record that the next commit removes from the store; `nil` if there is none.
    mutating func removable() -> Int64? {
        while let commit = commits.first, commit.count == 0 {
            left = (commit.sequence, (left?.bytes ?? 0) + commit.bytes)
            commits.removeFirst()
            first += 1
        }
        while let deletion = deletions.first, deletion.commit < first { deletions.removeFirst() }
        return left?.sequence
    }

    /// The store has removed what ``removable()`` returned.
    mutating func removed() {
        bytes -= left?.bytes ?? 0
        left = nil
    }
}
