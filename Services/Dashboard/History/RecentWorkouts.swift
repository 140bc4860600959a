import Bus
import Workouts

/// This week's totals and the latest workouts of some users.
struct RecentWorkouts: Encodable, Equatable, Sendable {
    struct Workout: Encodable, Equatable, Sendable {
        let user: User
        let session: SessionID
        let totals: WorkoutTotals
    }

    static let limit = 5

    /// The newest revision of all workouts.
    let revision: Int64
    let count: Int
    /// Active seconds.
    let duration: Double
    /// `nil` if none is known.
    let distance: Double?
    /// The latest first.
    let latest: [Workout]

    /// Days of one week are closer. Looking up the zones of 10,000 workouts takes long.
    private static let nearby = 8 * 86_400.0

    /// - Parameter workouts: those of all users. A week begins on Monday in the workout's zone.
    init(_ workouts: [Workout], now: Timestamp) {
        let week = workouts.map(\.totals).filter {
            abs(now.seconds(since: $0.began)) < Self.nearby
                && $0.began.localWeek($0.timeZone) == now.localWeek($0.timeZone)
        }
        revision = workouts.map(\.totals.revision).max() ?? 0
        count = week.count
        duration = week.reduce(0) { $0 + $1.activeDuration }
        let distances = week.compactMap(\.distance)
        distance = distances.isEmpty ? nil : distances.reduce(0, +)
        latest = Array(workouts.sorted { ($0.totals.began, $0.user) > ($1.totals.began, $1.user) }.prefix(Self.limit))
    }
}
