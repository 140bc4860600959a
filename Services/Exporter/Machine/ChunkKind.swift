/// What comes in chunks.
enum ChunkKind: CaseIterable {
    case series, track

    /// The summary it belongs to, by its name in a workout.
    var summary: String { self == .series ? "metrics" : "route" }
}
