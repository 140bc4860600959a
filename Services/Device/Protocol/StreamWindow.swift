/// How much of a stream may be under way, and how long an acknowledgement is awaited.
enum StreamWindow {
    /// Items that may be sent and not yet acknowledged.
    static let items = 1_000
    /// Batches that may be sent and not yet acknowledged.
    static let batches = 20
    /// Items of one batch at most: a window of ten keeps the receiver busy while an acknowledgement travels.
    static let batch = 100
    /// Seconds until the first batch is sent again, doubled each time.
    static let stallMinimum = 5.0
    static let stallMaximum = 60.0
}
