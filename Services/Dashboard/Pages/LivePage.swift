import Bus
import Foundation
import Workouts

/// The page of a session. The stream fills in all that follows; without JavaScript it shows the values of its request.
struct LivePage: Sendable {
    /// A value with its label.
    struct Field: Sendable {
        let key: String
        let label: String
        let number: String
        let unit: String
        let unitClass: String
        let isUnknown: Bool

        init(_ key: String, _ label: String, _ text: Formatting.Text?) {
            let text = text ?? .unknown
            self.key = key
            self.label = label
            number = text.number
            isUnknown = text == .unknown
            unit = isUnknown ? "unknown" : text.unit ?? ""
            unitClass = isUnknown ? "hidden-text" : "unit"
        }
    }

    let frame: PageFrame
    let user: String
    let session: String
    let isOwner: Bool
    let units: String
    let name: String
    let status: String
    let statusText: String
    /// The commands that the engine takes, with spaces between.
    let allowed: String
    let activity: String
    let asOf: String
    /// How long ago the newest item was measured.
    let dataAge: String?
    let main: [Field]
    let more: [Field]
    /// Whether to leave room for the map and the weather before the first of them.
    let expectsMap: Bool
    /// What the page says of a workout that only the history knows.
    let past: String?
    /// Its distance, for a change of units.
    let metres: Double?
    let tileURL: String?
    let tileAttribution: String?

    /// - Parameter totals: those of a finished workout. Without a state the page shows them alone.
    init(
        _ key: SessionKey, _ state: SessionState?, _ metrics: MetricsSnapshot?, _ totals: WorkoutTotals? = nil,
        login: Login, units: Units?, assets: String, configuration: DashboardConfiguration, now: Timestamp
    ) {
        let totals = state == nil ? totals : nil
        let units = units ?? state?.units ?? .metric
        let format = Formatting(units: units, activity: state?.activity ?? totals?.activity)
        name = state?.name ?? totals?.name ?? "Workout"
        isOwner = login.mayControl(key.user)
        frame = PageFrame(
            title: isOwner ? name : "\(key.user) · \(name)", assets: assets, login: "\(login.account)", module: "live",
            homeIcon: "arrow-left", hasMap: true, hasPlans: login.ownsWorkouts)
        user = "\(key.user)"
        session = "\(key.session)"
        self.units = units.rawValue
        let shownStatus = state?.status ?? totals.map { _ in .completed }
        status = shownStatus?.rawValue ?? ""
        allowed = (state?.allowed ?? []).joined(separator: " ")
        statusText = shownStatus?.title ?? "Waiting for data"
        activity = (state?.activity ?? totals?.activity)?.rawValue ?? ""
        past = totals.map {
            "Started \(Formatting.date($0.began, zone: $0.timeZone)). Only the totals are available here."
        }
        metres = totals?.distance
        asOf = Formatting.timeOfDay(now, zone: state?.timeZone)
        let moment = state?.isLive == true ? now : metrics?.newest ?? now
        let isEstimated = metrics?.energySource.map { $0 != .device } ?? false
        let isActive = state?.status == .active
        let age = metrics?.age(state, now)
        dataAge = age.map { Formatting.age($0) }
        let isFresh = isActive && age.map { $0 < OperatorContent.Row.silentAfter } ?? false
        /// A value of the moment, unknown without fresh data.
        func current(_ key: String, _ label: String, _ value: Double?, _ write: (Double) -> Formatting.Text) -> Field {
            Field(key, label, isFresh ? value.map(write) : nil)
        }
        let heartRate = current("heartRate", "Heart rate", metrics?.heartRate, format.heartRate)
        let pace = current("pace", "Pace", metrics?.displayPace ?? metrics?.pace, format.pace)
        let speed = current("speed", "Speed", metrics?.displaySpeed ?? metrics?.speed, format.speed)
        let averageHeartRate = Field(
            "averageHeartRate", "Average heart rate", metrics?.averageHeartRate.map(format.heartRate))
        let averagePace = Field("averagePace", "Average pace", metrics?.averagePace.map(format.pace))
        let isResting = state != nil && !isActive
        let duration = state?.segments.activeDuration(at: moment) ?? totals?.activeDuration
        // While it goes on, the distance is that of the newest item.
        let seconds = isResting ? duration : metrics?.activeSeconds
        let averageSpeed = Field(
            "averageSpeed", "Average speed", metrics?.averageSpeed(seconds).map(format.speed))
        let special =
            switch state?.activity.figure ?? .heartRate {
            case .pace: isResting ? averagePace : pace
            case .speed: isResting ? averageSpeed : speed
            case .heartRate: isResting ? averageHeartRate : heartRate
            }
        let fields = [
            Field("duration", "Time", duration.map(format.duration)),
            Field("distance", "Distance", (totals?.distance ?? metrics?.distance).map(format.distance)),
            Field(
                "energy", "Energy", metrics?.activeEnergy.map { format.energy($0, isEstimated: isEstimated) }),
            special,
        ]
        main = totals == nil ? fields : Array(fields.prefix(2))
        let rest = [
            heartRate, pace, speed, averageHeartRate, averagePace.isUnknown ? averageSpeed : averagePace,
            current("power", "Power", metrics?.power, format.power),
            current("cadence", "Cadence", metrics?.cadence, format.cadence),
            Field("ascent", "Ascent", metrics?.ascent.map(format.height)),
        ]
        more = rest.filter { !$0.isUnknown && $0.key != special.key }
        expectsMap = state.map { $0.environment == .outdoor } ?? (totals == nil)
        tileURL = configuration.tileURL
        tileAttribution = configuration.tileAttribution
    }
}

extension MetricsSnapshot {
    /// Seconds since the newest item, corrected by the clock of the device that sent it; like `arrival` in `session.js`.
    fileprivate func age(_ state: SessionState?, _ now: Timestamp) -> Double? {
        guard let newest else { return nil }
        let device = devices.first { $0.value.newest == newest }?.key
        let skew = device.flatMap { state?.clockSkew?[$0] } ?? 0
        return max(0, now.seconds(since: newest) + skew)
    }
}

extension SessionStatus {
    /// The word that pages show, like `statusWords` in `session.js`.
    var title: String {
        switch self {
        case .preparing: "Starting"
        case .active: "Active"
        case .paused: "Paused"
        case .suspended: "Saved for later"
        case .saving: "Saving"
        case .completed: "Finished"
        case .canceled: "Canceled"
        case .deleted: "Deleted"
        }
    }
}
