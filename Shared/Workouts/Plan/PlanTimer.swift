/// The state of a block's clock: a pure function of plan, position and active time.
package struct PlanTimer: Equatable, Sendable {
    package enum Phase: String, Codable, CaseIterable, Sendable {
        case work, rest
        /// The time of the block or of the set is up, or everything is completed.
        case over
    }

    /// The number of the block, from 0.
    package var block: Int
    package var type: TimerConfiguration.Kind
    package var phase: Phase
    /// The current round, from 1.
    package var round: Int
    /// The number of rounds; `nil` for as many as possible.
    package var rounds: Int?
    /// The current item.
    package var item: String
    /// The set whose time is up, from 0, while the block continues.
    var overdue: Int?
    /// Microseconds on the block's clock, at most its total. Work against time stops it when everything is completed.
    var elapsed: Int64
    /// Microseconds of active time.
    var active: Int64
    /// The active time at which the phase begins, and the one at which it ends.
    var phaseStart: Int64
    var phaseEnd: Int64?

    /// Ends the block. Its time may be over since before the user came to it.
    mutating func end(at active: Int64, showing total: Int64) {
        phase = .over
        phaseStart = max(phaseStart, active)
        phaseEnd = nil
        elapsed = total
    }
}
