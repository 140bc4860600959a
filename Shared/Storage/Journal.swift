package import Workouts

extension StoreCollection {
    /// The journal of a schema that names it among its steps: items that are in no record yet, appended commit by commit.
    ///
    /// It takes ``StoreWrite/Change/append(stream:first:items:)`` and no other change, and contains no records.
    package static let journal = StoreCollection("journal")
}

/// The place of a record in the journal. A commit appends one record, or several if its items exceed 1 MiB.
package struct JournalPosition: Hashable, Comparable, Sendable {
    /// The process that appended the record; a later one has a higher number.
    package let incarnation: Int64
    /// Rises with every record of the process.
    package let sequence: Int64

    package init(incarnation: Int64, sequence: Int64) {
        self.incarnation = incarnation
        self.sequence = sequence
    }

    package static func < (left: JournalPosition, right: JournalPosition) -> Bool {
        (left.incarnation, left.sequence) < (right.incarnation, right.sequence)
    }
}

/// Consecutive items of a stream, as one ``StoreWrite/Change/append(stream:first:items:)`` brought them.
package struct JournalEntry: Equatable, Sendable {
    package let shard: Shard
    /// `user/session/device`
    package let stream: String
    /// The number of the first item.
    package let first: Int
    /// The items in their stored form.
    package let items: [UInt8]

    package init(shard: Shard, stream: String, first: Int, items: [UInt8]) {
        self.shard = shard
        self.stream = stream
        self.first = first
        self.items = items
    }
}

/// The part of the journal that no trim has covered.
package struct JournalTail: Equatable, Sendable {
    /// In the order of their commits, those of earlier processes first.
    package var entries: [JournalEntry]
    /// The number of entries whose checksum is wrong and of records without a readable header. They stay in the journal until a
    /// trim covers them.
    package var skipped: Int

    package init(entries: [JournalEntry] = [], skipped: Int = 0) {
        self.entries = entries
        self.skipped = skipped
    }
}

/// The part of the journal whose items are in records, by this commit or an earlier one. The commit removes it.
///
/// A trim with every commit costs least, because the commit's record then takes the space that it frees.
///
/// A trim covers no entry of its own commit.
package enum JournalTrim: Equatable, Sendable {
    /// What this process appended up to a record, of the shards that it has owned ever since.
    case own(through: Int64)
    /// What all processes appended of these shards, except those that this process no longer owns under the epoch and those that
    /// the commit reports as lost. For a gain, and before ``Store/released(_:)``.
    ///
    /// The epoch tells a shard that came back from the one whose items are in records.
    case shards([Shard: Epoch])
}
