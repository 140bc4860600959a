/// What has come of one kind of chunks, to be told to people: those of the newest revision that was heard of.
struct ChunkTally: Equatable {
    private(set) var revision: Int64 = -1
    /// What the summary says; `nil` until it has come.
    private(set) var total: Int?
    private var numbers: Set<Int> = []

    var count: Int { numbers.count }

    /// Whether there is a summary of at least a revision, and all of its chunks.
    func isComplete(for wanted: Int64) -> Bool { revision >= wanted && total.map { count >= $0 } ?? false }

    mutating func add(_ number: Int, of revision: Int64) {
        if advance(to: revision) { numbers.insert(number) }
    }

    mutating func remove(_ number: Int) { numbers.remove(number) }

    mutating func announce(_ count: Int, of revision: Int64) {
        guard advance(to: revision) else { return }
        total = count
        numbers = numbers.filter { $0 < count }
    }

    /// Lets go of what is older. Says whether the revision is the newest.
    private mutating func advance(to revision: Int64) -> Bool {
        if revision > self.revision {
            self = ChunkTally()
            self.revision = revision
        }
        return revision == self.revision
    }
}
