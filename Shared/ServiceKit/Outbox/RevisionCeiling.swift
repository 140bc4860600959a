package import Workouts

/// How far revisions may go before the next commit.
///
/// Live messages go out more often than their owner commits. Their revisions, max(previous + 1, Unix milliseconds), stay below a
/// ceiling that is stored first, and the next owner starts above the ceiling: its revisions are higher even if its clock is
/// behind.
package enum RevisionCeiling {
    /// How far the ceiling is ahead of the clock by default, in milliseconds. Readers ignore live values of a restored database for at most
    /// about as long.
    package static let lead: Int64 = 4_000
    /// How far it is above the latest revision where that is ahead of the clock: after a change of owner, or while the clock is
    /// behind. More than the messages of one event.
    private static let step: Int64 = 64

    /// The metric of ``lead(of:at:)``.
    package static let leadLabel = "pacebus_revisions_ahead_seconds"
    package static let leadHelp =
        "How far the newest revision is ahead of the clock; above 0 after the clock stepped backwards."

    /// The seconds by which a revision is ahead of the clock; 0 normally.
    package static func lead(of revision: Int64, at now: Timestamp) -> Double {
        Double(max(0, revision - now.milliseconds)) / 1_000
    }

    /// The ceiling to store before the next messages go out; `nil` while the stored one suffices.
    ///
    /// - Parameters:
    ///   - stored: the present ceiling.
    ///   - latest: the highest revision so far, an earlier owner's ceiling included.
    ///   - lead: how far a new ceiling is ahead of the clock, in milliseconds; one is due each half of that.
    package static func due(_ stored: Int64, latest: Int64, now: Timestamp, lead: Int64 = lead) -> Int64? {
        let now = now.milliseconds
        let step = step * lead / Self.lead
        guard max(now + lead / 2, latest + step / 2) > stored else { return nil }
        return max(stored, now + lead, latest + step)
    }
}
