/// How many chunks of one kind have come, of the newest revision that was heard of.
struct ChunkProgress: Equatable {
    var revision: Int64 = -1
    var count = 0
    /// What the summary says; `nil` until it has come.
    var total: Int?

    /// Whether there is a summary of at least a revision, and all of its chunks.
    func isComplete(for wanted: Int64) -> Bool { revision >= wanted && count == total }
}
