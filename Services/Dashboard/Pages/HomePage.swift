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
        let distance: String
        let heartRate: String

        init(_ state: SessionState, _ metrics: MetricsSnapshot?, units: Units, now: Timestamp) {
            let format = Formatting(units: units, activity: state.activity)
            user = "\(state.user)"
            session = "\(state.session)"
            path = "/live/\(user)/\(session)"
            status = state.status.rawValue
            statusText = state.status.title
            activity = state.activity.rawValue
            name = state.name
            let moment = state.isLive == true ? now : metrics?.newest ?? now
            duration = format.duration(state.segments.activeDuration(at: moment)).joined
            distance = metrics?.distance.map { format.distance($0).joined } ?? "--"
            heartRate = metrics?.heartRate.map { format.heartRate($0).joined } ?? "-- bpm"
        }
    }

    /// A choice in the dialog that starts a workout.
    struct Choice: Sendable {
        let value: String
        let label: String
        let isDefault: Bool
    }

    let frame: PageFrame
    /// Whether it is a person's account, as opposed to the operator's.
    let isAthlete: Bool
    /// Whether the account sees others.
    let isViewer: Bool
    let units: String
    /// The page of one's own unfinished workout.
    let resumePath: String?
    let resumeText: String
    let cards: [Card]
    let activities: [Choice]

    init(login: Login, current: CurrentSession?, cards: [Card], units: Units, assets: String) {
        frame = PageFrame(
            title: "Pacebus", assets: assets, login: "\(login.account)", module: "home", homeIcon: "activity")
        isAthlete = login.user != nil
        isViewer = login.isOperator || login.seen.count > 1
        self.units = units.rawValue
        let details = current?.details.flatMap { $0.offersResume ? $0 : nil }
        resumePath = details == nil ? nil : current?.session.map { "/live/\(login.account)/\($0)" }
        let progress = details?.progress.map { "\($0.done)/\($0.total) exercises" }
        let distance = cards.first { $0.user == "\(login.account)" }?.distance
        resumeText = ["Resume", progress ?? (distance == "--" ? nil : distance)].compactMap(\.self)
            .joined(separator: " · ")
        self.cards = cards
        activities = Activity.allCases.map {
            Choice(value: $0.rawValue, label: $0.title, isDefault: $0 == .running)
        }
    }
}

extension SessionState {
    /// Unfinished, or finished within a day.
    func isOnHomePage(_ now: Timestamp) -> Bool {
        switch status {
        case .preparing, .active, .paused, .suspended, .saving: true
        case .completed: endedAt.map { now.seconds(since: $0) < 86_400 } ?? false
        case .canceled, .deleted: false
        }
    }
}

extension Activity {
    fileprivate var title: String {
        switch self {
        case .running: "Running"
        case .walking: "Walking"
        case .hiking: "Hiking"
        case .cycling: "Cycling"
        case .rowing: "Rowing"
        case .swimming: "Swimming"
        case .traditionalStrength: "Strength"
        case .functionalStrength: "Functional"
        case .hiit: "HIIT"
        case .other: "Other"
        }
    }
}
