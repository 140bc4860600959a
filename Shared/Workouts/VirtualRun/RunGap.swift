/// The gap between two runners at equal elapsed time; positive when the other is ahead.
package struct RunGap: Equatable, Sendable {
    package var meters: Double
    package var seconds: Double

    /// The end of a runner's curve, and what it means for later comparisons.
    package enum End: Equatable, Sendable {
        /// The runner continues: nothing is known beyond these seconds.
        case open(Double)
        /// The runner reached the goal: what comes later does not count.
        case goal(Double)
        /// The runner stopped before the goal and stands there.
        case stopped(Double)

        package var seconds: Double {
            switch self {
            case .open(let seconds), .goal(let seconds), .stopped(let seconds): seconds
            }
        }
    }

    /// The elapsed time at which two runners are compared.
    package static func moment(_ first: End, _ second: End) -> Double {
        switch (first, second) {
        case (.stopped(let first), .stopped(let second)): max(first, second)
        case (.stopped, .open(let seconds)), (.stopped, .goal(let seconds)), (.open(let seconds), .stopped),
            (.goal(let seconds), .stopped):
            seconds
        case (.open(let first), .open(let second)), (.open(let first), .goal(let second)),
            (.goal(let first), .open(let second)), (.goal(let first), .goal(let second)):
            min(first, second)
        }
    }

    /// - Parameter seconds: the elapsed time of both.
    package init(from mine: borrowing RunCurve, to theirs: borrowing RunCurve, at seconds: Double) {
        let (own, other) = (mine.metres(at: seconds), theirs.metres(at: seconds))
        meters = other - own
        if own < other {
            self.seconds = max(0, seconds - (theirs.seconds(to: own) ?? seconds))
        } else if other < own {
            self.seconds = -max(0, seconds - (mine.seconds(to: other) ?? seconds))
        } else {
            self.seconds = 0
        }
    }
}

/// Seconds per kilometre; `nil` below 50 m and above 1,800 s/km.
package func runPace(seconds: Double, meters: Double) -> Double? {
    guard meters >= 50, meters.isFinite, seconds > 0 else { return nil }
    let pace = thousandths(1_000 * seconds / meters)
    return pace <= 1_800 ? pace : nil
}
