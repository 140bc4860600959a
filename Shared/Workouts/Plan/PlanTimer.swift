/// What the clock of a block shows: a pure function of plan, position and active time.
package struct PlanTimer: Equatable, Sendable {
    package enum Phase: String, Codable, CaseIterable, Sendable {
        case work, rest
        /// The time of the block or of the set is up, or there is nothing left to do.
        case over
    }

    /// From 0.
    package var block: Int
    package var type: TimerConfiguration.Kind
    package var phase: Phase
    /// From 1.
    package var round: Int
    /// How many there are; `nil` of as many as possible.
    package var rounds: Int?
    /// The item that is on.
    package var item: String
    /// The set whose time is up, from 0, while the block goes on.
    var overdue: Int?
    /// Microseconds on the block's clock; no more than its time, and no more than it took when all is done against time.
    var elapsed: Int64
    /// Microseconds of active time.
    var active: Int64
    /// The active time at which the phase began, and that at which it is over.
    var phaseStart: Int64
    var phaseEnd: Int64?

    /// The time of the block is over, maybe since before somebody came here.
    mutating func end(at active: Int64, showing total: Int64) {
        phase = .over
        phaseStart = max(phaseStart, active)
        phaseEnd = nil
        elapsed = total
    }
}
