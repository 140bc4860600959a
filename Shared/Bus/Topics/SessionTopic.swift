package import MQTT
package import Workouts

/// The part of a session's topic after the session.
package enum SessionTopic: Hashable, Sendable {
    case command
    case state
    case samples(Device)
    case samplesAck(Device)
    case locations(Device)
    case locationsAck(Device)
    case metrics
    case route
    case weather
    case announcements
    case activityRegister
    case activity
    case summaryMetrics
    case summaryRoute
    case series(Int)
    case track(Int)
    case request
    case workout
    case export(Target)
    case exportResult(Target)

    /// The largest number of a chunk.
    package static let chunkLimit = 99_999

    var levels: [String] {
        switch self {
        case .command: ["command"]
        case .state: ["state"]
        case .samples(let device): ["samples", device.description]
        case .samplesAck(let device): ["samples", device.description, "ack"]
        case .locations(let device): ["locations", device.description]
        case .locationsAck(let device): ["locations", device.description, "ack"]
        case .metrics: ["metrics"]
        case .route: ["route"]
        case .weather: ["weather"]
        case .announcements: ["announcements"]
        case .activityRegister: ["activity", "register"]
        case .activity: ["activity"]
        case .summaryMetrics: ["summary", "metrics"]
        case .summaryRoute: ["summary", "route"]
        case .series(let number): ["series", "\(number)"]
        case .track(let number): ["track", "\(number)"]
        case .request: ["request"]
        case .workout: ["workout"]
        case .export(let target): ["export", target.description]
        case .exportResult(let target): ["export", target.description, "result"]
        }
    }

    init?(_ levels: ArraySlice<String>) {
        let levels = Array(levels)
        switch (levels.first, levels.count) {
        case ("command", 1): self = .command
        case ("state", 1): self = .state
        case ("metrics", 1): self = .metrics
        case ("route", 1): self = .route
        case ("weather", 1): self = .weather
        case ("announcements", 1): self = .announcements
        case ("activity", 1): self = .activity
        case ("request", 1): self = .request
        case ("workout", 1): self = .workout
        case ("activity", 2) where levels[1] == "register": self = .activityRegister
        case ("summary", 2) where levels[1] == "metrics": self = .summaryMetrics
        case ("summary", 2) where levels[1] == "route": self = .summaryRoute
        case ("series", 2), ("track", 2):
            guard let number = Self.chunkNumber(levels[1]) else { return nil }
            self = levels[0] == "series" ? .series(number) : .track(number)
        case ("samples", 2), ("samples", 3), ("locations", 2), ("locations", 3):
            guard let device = Device(levels[1]), levels.count == 2 || levels[2] == "ack" else { return nil }
            switch (levels[0], levels.count) {
            case ("samples", 2): self = .samples(device)
            case ("samples", _): self = .samplesAck(device)
            case (_, 2): self = .locations(device)
            default: self = .locationsAck(device)
            }
        case ("export", 2), ("export", 3):
            guard let target = Target(levels[1]), levels.count == 2 || levels[2] == "result" else { return nil }
            self = levels.count == 2 ? .export(target) : .exportResult(target)
        default: return nil
        }
    }

    private static func chunkNumber(_ text: String) -> Int? {
        guard let number = Int(text), (0...chunkLimit).contains(number), "\(number)" == text else { return nil }
        return number
    }

    package var qos: QoS {
        switch self {
        case .samples, .samplesAck, .locations, .locationsAck, .metrics, .route, .announcements: .atMostOnce
        case .command, .state, .weather, .activityRegister, .activity, .summaryMetrics, .summaryRoute, .series, .track,
            .request, .workout, .export, .exportResult:
            .atLeastOnce
        }
    }

    package var isRetained: Bool {
        switch self {
        case .state, .metrics, .route, .weather, .activity, .summaryMetrics, .summaryRoute, .series, .track, .workout,
            .export:
            true
        case .command, .samples, .samplesAck, .locations, .locationsAck, .announcements, .activityRegister, .request,
            .exportResult:
            false
        }
    }
}
