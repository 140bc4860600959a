/// What came of bringing a workout to one target.
enum Delivery: Equatable, Sendable {
    /// It is there: with the files that hold it, below the folder of exports, if any do.
    case delivered(files: [String] = [])
    /// The target will not take it however often it is tried; why, for people.
    case refused(String)
    /// It may go well another time, no sooner than the target asked for, in seconds; why not now, for people.
    case failed(String, retryAfter: Double? = nil)
}
