import Bus
import ServiceKit
import Workouts

/// Everything between `metrics` and `partners` of one run.
///
/// A value without effects: ``update(_:now:)`` after each change of the run, ``receive(_:of:isRetained:now:)`` for each
/// snapshot, ``advance(isFed:now:)`` when ``due`` is reached and after each of the others.
struct LiveRun {
    /// What survives a restart.
    struct Stored: Codable, Equatable, Sendable {
        /// Later processes use higher revisions of `partners`.
        var ceiling: Int64 = 0
    }

    let run: RunID
    private(set) var stored: Stored
    /// Counts the changes of ``stored``: the machine saves it when the number differs from the saved one.
    private(set) var storedChanges = 0

    /// - Parameter curves: what ``curves`` was when it was last stored.
    init(_ run: RunID, stored: Stored = Stored(), curves: [User: RunCurve] = [:], now: Moment) {
        self.run = run
        self.stored = stored
    }

    /// The live curves, which the machine stores every 30 s; they are for gaps alone.
    var curves: [User: RunCurve] { [:] }

    /// The time of the next output or change; `nil` if none comes without an event.
    var due: Moment? { nil }

    /// The run changed, or is loaded.
    mutating func update(_ roster: RunRoster, now: Moment) {}

    /// - Parameter isRetained: whether the message is a retained one, which is no sign of life.
    mutating func receive(_ metrics: RunnerMetrics, of key: SessionKey, isRetained: Bool, now: Moment) {}

    /// - Parameter isFed: whether this service is connected and a metrics-aggregator is online. Ages stand while it is not,
    ///   so the machine also calls this when it changes.
    mutating func advance(isFed: Bool, now: Moment) -> [LiveOutput] { [] }

    /// Everything is published again, and retained `partners` of users who left or of a run that is over are cleared.
    mutating func connect(now: Moment) {}

    /// The time of the user's prompt; `nil` without one.
    func prompt(of user: User) -> Timestamp? { nil }

    /// The prompt disappears, and comes again after 180 s.
    mutating func keepWaiting(_ user: User, now: Moment) {}
}
