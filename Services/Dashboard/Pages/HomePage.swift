import Bus
import Workouts

/// The page of everyone a person may see.
struct HomePage: Sendable {
    struct Card: Sendable {
        let user: String
        let session: String
        let path: String
        let status: String
        let statusText: String
        let activity: String
        let name: String
        let duration: String
        let distance: Formatting.Value
        let heartRate: Formatting.Value
        fileprivate let rank: Int
        fileprivate let resumeText: String

        /// - Parameter totals: those of a finished workout.
        init(_ state: SessionState, _ metrics: MetricsSnapshot?, _ totals: WorkoutTotals?, units: Units, now: Timestamp)
        {
            let format = Formatting(units: units, activity: state.activity)
            user = "\(state.user)"
            session = "\(state.session)"
            path = "/live/\(user)/\(session)"
            status = state.status.rawValue
            statusText = state.status.title
            activity = state.activity.rawValue
            name = state.activity.title(with: state.name)
            let moment = state.isLive == true ? now : metrics?.newest ?? now
            duration = format.duration(totals?.activeDuration ?? state.segments.activeDuration(at: moment)).joined
            let metres = totals?.distance ?? metrics?.distance
            distance = Formatting.Value((metres.map(format.distance) ?? .unknown).joined, name: "distance")
            let age = metrics?.newest.map { now.seconds - $0.seconds } ?? .infinity
            let isOfNow = age < Self.silentAfter && !state.status.isEnded
            let rate = isOfNow ? metrics?.heartRate.map { format.heartRate($0).joined } : nil
            heartRate = Formatting.Value(rate ?? "-- bpm", name: "heart rate")
            rank = state.status.isStopped ? 1 : state.status.isUnfinished ? 2 : 3
            resumeText = metres.flatMap { $0 >= Self.least ? " · " + format.roughDistance($0).joined : nil } ?? ""
        }

        /// Metres from which on the distance helps to recognize a workout.
        private static let least = 100.0
        /// Seconds after which a value of the moment is unknown, as in `session.js`.
        private static let silentAfter = 15.0
    }

    /// A choice in the dialog that starts a workout.
    struct Choice: Sendable {
        let value: String
        let label: String
        /// Whether the form asks for the length of a pool.
        let hasPool: Bool
        let isDefault: Bool
    }

    /// A finished workout.
    struct Row: Sendable {
        let title: String
        let path: String
        let activity: String
        let date: String
        let duration: String
        let distance: Formatting.Value

        fileprivate init(_ workout: RecentWorkouts.Workout, namesUser: Bool, units: Units) {
            let totals = workout.totals
            let format = Formatting(units: units, activity: totals.activity)
            let name = totals.activity.title(with: totals.name)
            title = namesUser ? "\(workout.user) · \(name)" : name
            path = "/live/\(workout.user)/\(workout.session)"
            activity = totals.activity.rawValue
            date = Formatting.date(totals.began, zone: totals.timeZone)
            duration = format.duration(totals.activeDuration).joined
            distance = Formatting.Value((totals.distance.map(format.distance) ?? .unknown).joined)
        }
    }

    let frame: PageFrame
    /// Whether the account has workouts of its own: viewers and the operator start none.
    let isAthlete: Bool
    /// Whether the account sees others.
    let isViewer: Bool
    let units: String
    /// The page of one's own unfinished workout.
    let resumePath: String?
    let resumeText: String
    let replaces: Bool
    let cards: [Card]
    let hasCards: Bool
    let hasTools: Bool
    /// Whether to show how a device connects: a person's own devices only, as long as nothing is in progress.
    let showsConnect: Bool
    let isNew: Bool
    let activities: [Choice]
    /// Names of all whom the account sees.
    let people: String
    /// `This week`, and for others whose it is.
    let weekTitle: String
    let week: [LivePage.Field]
    let latest: [Row]
    /// The operator has no workouts and sees too many.
    let hasRecent: Bool
    let hasLatest: Bool
    /// The newest of all workouts.
    let revision: Int64
    let tileURL: String?
    let tileAttribution: String?

    init(
        login: Login, current: CurrentSession?, cards: [Card], recent: RecentWorkouts, units: Units, assets: String,
        configuration: DashboardConfiguration
    ) {
        frame = PageFrame(
            title: "Pacebus", assets: assets, login: "\(login.account)", module: login.ownsWorkouts ? "start" : "home",
            homeIcon: "activity",
            hasPlans: login.ownsWorkouts)
        isAthlete = login.ownsWorkouts
        isViewer = login.isOperator || login.seen.count > 1
        self.units = units.rawValue
        let details = current?.details.flatMap { $0.offersResume ? $0 : nil }
        resumePath = details == nil ? nil : current?.session.map { "/live/\(login.account)/\($0)" }
        let own = cards.first { $0.user == "\(login.account)" }
        resumeText =
            "Resume" + (details?.progress.map { " · \($0.done)/\($0.total) exercises" } ?? own?.resumeText ?? "")
        replaces = current?.session != nil
        self.cards = cards.sorted { ($0.rank, $0.user) < ($1.rank, $1.user) }
        hasCards = !cards.isEmpty
        hasTools = cards.count > (login.seen.count > 2 ? 0 : 1)
        showsConnect = isAthlete && cards.isEmpty
        isNew = recent.latest.isEmpty
        activities = Activity.allCases.map {
            Choice(value: $0.rawValue, label: $0.title, hasPool: $0.isSwimming, isDefault: $0 == .running)
        }
        people = login.seen.sorted().map(\.description).joined(separator: " ")
        weekTitle = Self.weekTitle(of: login)
        let format = Formatting(units: units)
        week = [
            LivePage.Field("count", "Workouts", format.count(Double(recent.count))),
            LivePage.Field("duration", "Time", format.duration(recent.duration)),
            LivePage.Field("distance", "Distance", recent.distance.map(format.distance)),
        ]
        latest = recent.latest.map { [isViewer] in Row($0, namesUser: isViewer, units: units) }
        hasRecent = !login.isOperator
        hasLatest = !recent.latest.isEmpty
        revision = recent.revision
        tileURL = configuration.tileURL
        tileAttribution = configuration.tileAttribution
    }

    static func weekTitle(of login: Login) -> String {
        let others = login.seen.filter { $0 != login.user }.sorted()
        guard !others.isEmpty else { return "This week" }
        let names = others.count > 3 ? "\(others.count) people" : others.map(\.description).joined(separator: ", ")
        return "This week of \(names)"
    }
}

extension SessionState {
    /// Unfinished, or finished today in its zone.
    func isOnHomePage(_ now: Timestamp) -> Bool {
        switch status {
        case .preparing, .active, .paused, .suspended, .saving: true
        case .completed: endedAt?.localDay(timeZone) == now.localDay(timeZone)
        case .canceled, .deleted: false
        }
    }
}

extension Activity {
    /// `Outdoor Running`, `Strength · Upper Body A`.
    fileprivate func title(with name: String) -> String { name.contains(title) ? name : "\(title) · \(name)" }
}
