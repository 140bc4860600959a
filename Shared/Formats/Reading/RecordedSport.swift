import FIT
import Workouts

/// The activity of a recording and where it took place, if the file says so.
struct RecordedSport: Equatable {
    var activity: Activity
    var environment: Environment?

    /// Words such as `Running`, `trail_running`, `Biking`, `Indoor Cycling`, `VirtualRide`, `treadmill` or our own names.
    init(words: String) {
        let words = words.lowercased()
        activity = Activity(words: words) ?? .other
        environment = Self.environments.first { words.contains($0.0) }?.1
    }

    /// Equipment is indoors.
    private static let environments: [(String, Environment)] = [
        ("treadmill", .indoor), ("indoor", .indoor), ("virtual", .indoor), ("spin", .indoor), ("stationary", .indoor),
        ("trainer", .indoor), ("ergometer", .indoor), ("machine", .indoor), ("lap swim", .indoor),
        ("lap_swim", .indoor), ("lapswim", .indoor), ("pool", .indoor), ("open water", .outdoor),
        ("open_water", .outdoor), ("openwater", .outdoor), ("outdoor", .outdoor), ("trail", .outdoor),
    ]

    init(_ sport: FITSport?, _ subSport: FITSubSport?) {
        activity = Activity(fitSport: sport?.rawValue, subSport: subSport?.rawValue) ?? .other
        environment =
            switch subSport {
            case .indoorRunning?, .spin?, .elliptical?, .stairClimbing?, .virtual?: .indoor
            case .trail?: .outdoor
            default: Self.environment(subSport)
            }
    }

    /// That of a subsport which files of an activity have in one environment only.
    private static func environment(_ subSport: FITSubSport?) -> Environment? {
        guard let subSport, subSport != .generic else { return nil }
        let own = Activity.allCases.map(\.fit).filter { $0.subSport(.indoor) != $0.subSport(.outdoor) }
        return Environment.allCases.first { place in own.contains { $0.subSport(place) == subSport.rawValue } }
    }
}
