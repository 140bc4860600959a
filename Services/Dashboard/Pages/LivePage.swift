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
    let activity: String
    let asOf: String
    let main: [Field]
    let more: [Field]
    /// Whether to leave room for the map before the first position.
    let expectsMap: Bool
    let tileURL: String?
    let tileAttribution: String?

    init(
        _ key: SessionKey, _ state: SessionState?, _ metrics: MetricsSnapshot?, login: Login, units: Units?,
        assets: String, configuration: DashboardConfiguration, now: Timestamp
    ) {
        let units = units ?? state?.units ?? .metric
        let format = Formatting(units: units, activity: state?.activity)
        name = state?.name ?? "Workout"
        frame = PageFrame(
            title: name, assets: assets, login: "\(login.account)", module: "live", homeIcon: "arrow-left", hasMap: true
        )
        user = "\(key.user)"
        session = "\(key.session)"
        isOwner = login.mayControl(key.user)
        self.units = units.rawValue
        status = state?.status.rawValue ?? ""
        statusText = state?.status.title ?? "Waiting for data"
        activity = state?.activity.rawValue ?? ""
        asOf = Formatting.timeOfDay(now, zone: state?.timeZone)
        let moment = state?.isLive == true ? now : metrics?.newest ?? now
        let isEstimated = metrics?.energySource.map { $0 != .device } ?? false
        let heartRate = Field("heartRate", "Heart rate", metrics?.heartRate.map(format.heartRate))
        let pace = Field("pace", "Pace", (metrics?.displayPace ?? metrics?.pace).map(format.pace))
        let speed = Field("speed", "Speed", (metrics?.displaySpeed ?? metrics?.speed).map(format.speed))
        let special =
            switch state?.activity {
            case .cycling: speed
            case .running, .walking: pace
            default: heartRate
            }
        main = [
            Field("duration", "Time", state.map { format.duration($0.segments.activeDuration(at: moment)) }),
            Field("distance", "Distance", metrics?.distance.map(format.distance)),
            Field(
                "energy", "Energy", metrics?.activeEnergy.map { format.energy($0, isEstimated: isEstimated) }),
            special,
        ]
        let rest = [
            heartRate, pace, speed,
            Field("averageHeartRate", "Average heart rate", metrics?.averageHeartRate.map(format.heartRate)),
            Field("averagePace", "Average pace", metrics?.averagePace.map(format.pace)),
            Field("power", "Power", metrics?.power.map(format.power)),
            Field("cadence", "Cadence", metrics?.cadence.map(format.cadence)),
            Field("ascent", "Ascent", metrics?.ascent.map(format.height)),
        ]
        more = rest.filter { !$0.isUnknown && $0.key != special.key }
        expectsMap = state?.environment == .outdoor
        tileURL = configuration.tileURL
        tileAttribution = configuration.tileAttribution
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
