package import MQTT
package import Workouts

/// The part of a session's topic after the session.
package enum SessionTopic: Hashable, Sendable {
    case command
    case state
    case profile
    case samples(Device)
    case samplesAck(Device)
    case locations(Device)
    case locationsAck(Device)
    case metrics
    case route
    case heard(StreamName.Kind)
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

    /// The levels of a session topic as an MQTT filter: `+` stands for any device, number or target.
    package enum Kind: String, CaseIterable, Sendable {
        case command, state, profile
        case samples = "samples/+"
        case samplesAck = "samples/+/ack"
        case locations = "locations/+"
        case locationsAck = "locations/+/ack"
        case metrics, route
        case heardSamples = "heard/samples"
        case heardLocations = "heard/locations"
        case weather, announcements
        case activityRegister = "activity/register"
        case activity
        case summaryMetrics = "summary/metrics"
        case summaryRoute = "summary/route"
        case series = "series/+"
        case track = "track/+"
        case request, workout
        case export = "export/+"
        case exportResult = "export/+/result"
    }

    /// The largest number of a chunk.
    package static let chunkLimit = 99_999

    var levels: String {
        let (kind, parameter) = kindAndParameter
        return kind.rawValue.filled(with: parameter.map { [$0] } ?? [])
    }

    package var qos: QoS { kind.row.qos }
    package var isRetained: Bool { kind.row.isRetained }
}

extension SessionTopic {
    package var kind: Kind { kindAndParameter.0 }

    private var kindAndParameter: (Kind, String?) {
        switch self {
        case .command: (.command, nil)
        case .state: (.state, nil)
        case .profile: (.profile, nil)
        case .samples(let device): (.samples, device.description)
        case .samplesAck(let device): (.samplesAck, device.description)
        case .locations(let device): (.locations, device.description)
        case .locationsAck(let device): (.locationsAck, device.description)
        case .metrics: (.metrics, nil)
        case .route: (.route, nil)
        case .heard(.samples): (.heardSamples, nil)
        case .heard(.locations): (.heardLocations, nil)
        case .weather: (.weather, nil)
        case .announcements: (.announcements, nil)
        case .activityRegister: (.activityRegister, nil)
        case .activity: (.activity, nil)
        case .summaryMetrics: (.summaryMetrics, nil)
        case .summaryRoute: (.summaryRoute, nil)
        case .series(let number): (.series, "\(number)")
        case .track(let number): (.track, "\(number)")
        case .request: (.request, nil)
        case .workout: (.workout, nil)
        case .export(let target): (.export, target.description)
        case .exportResult(let target): (.exportResult, target.description)
        }
    }

    init?(_ levels: ArraySlice<String>) {
        guard let (kind, parameters) = Kind.match(levels) else { return nil }
        let parameter = parameters.first ?? ""
        let topic: SessionTopic? =
            switch kind {
            case .command: .command
            case .state: .state
            case .profile: .profile
            case .samples: Device(parameter).map(SessionTopic.samples)
            case .samplesAck: Device(parameter).map(SessionTopic.samplesAck)
            case .locations: Device(parameter).map(SessionTopic.locations)
            case .locationsAck: Device(parameter).map(SessionTopic.locationsAck)
            case .metrics: .metrics
            case .route: .route
            case .heardSamples: .heard(.samples)
            case .heardLocations: .heard(.locations)
            case .weather: .weather
            case .announcements: .announcements
            case .activityRegister: .activityRegister
            case .activity: .activity
            case .summaryMetrics: .summaryMetrics
            case .summaryRoute: .summaryRoute
            case .series: Self.chunkNumber(parameter).map(SessionTopic.series)
            case .track: Self.chunkNumber(parameter).map(SessionTopic.track)
            case .request: .request
            case .workout: .workout
            case .export: Target(parameter).map(SessionTopic.export)
            case .exportResult: Target(parameter).map(SessionTopic.exportResult)
            }
        guard let topic else { return nil }
        self = topic
    }

    private static func chunkNumber(_ text: String) -> Int? {
        guard let number = Int(text), (0...chunkLimit).contains(number), "\(number)" == text else { return nil }
        return number
    }
}
