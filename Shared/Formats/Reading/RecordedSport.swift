import FIT
import Workouts

/// The activity of a recording and where it took place, if the file says so.
struct RecordedSport: Equatable {
    var activity: Activity
    var environment: Environment?

    /// Words such as `Running`, `trail_running`, `Biking`, `Indoor Cycling`, `VirtualRide`, `treadmill` or our own names.
    init(words: String) {
        let words = words.lowercased()
        func named<Meaning>(_ meanings: [(String, Meaning)]) -> Meaning? { meanings.first { words.contains($0.0) }?.1 }
        let activity = Activity.allCases.first { $0.rawValue.lowercased() == words }
        self.activity = activity ?? named(Self.activities) ?? .other
        environment = named(Self.environments)
    }

    private static let activities: [(String, Activity)] = [
        ("swim", .swimming), ("row", .rowing), ("ergometer", .rowing), ("treadmill", .running), ("run", .running),
        ("bik", .cycling), ("cycl", .cycling), ("ride", .cycling), ("spin", .cycling), ("walk", .walking),
        ("hik", .hiking), ("hiit", .hiit), ("interval", .hiit),
    ]
    /// Equipment is indoors.
    private static let environments: [(String, Environment)] = [
        ("treadmill", .indoor), ("indoor", .indoor), ("virtual", .indoor), ("spin", .indoor), ("stationary", .indoor),
        ("trainer", .indoor), ("ergometer", .indoor), ("machine", .indoor), ("lap swim", .indoor),
        ("lap_swim", .indoor), ("lapswim", .indoor), ("pool", .indoor), ("open water", .outdoor),
        ("open_water", .outdoor), ("openwater", .outdoor), ("outdoor", .outdoor), ("trail", .outdoor),
    ]

    init(_ sport: FITSport?, _ subSport: FITSubSport?) {
        environment =
            switch subSport {
            case .treadmill?, .indoorRunning?, .indoorWalking?, .indoorCycling?, .spin?, .indoorRowing?, .elliptical?,
                .stairClimbing?, .lapSwimming?, .virtual?:
                .indoor
            case .trail?, .openWater?: .outdoor
            default: nil
            }
        activity =
            switch (sport, subSport) {
            case (.running?, _), (.fitnessEquipment?, .treadmill?), (.fitnessEquipment?, .indoorRunning?): .running
            case (.cycling?, _), (.fitnessEquipment?, .indoorCycling?), (.fitnessEquipment?, .spin?): .cycling
            case (.rowing?, _), (.fitnessEquipment?, .indoorRowing?): .rowing
            case (.swimming?, _): .swimming
            case (.walking?, _), (.fitnessEquipment?, .indoorWalking?): .walking
            case (.hiking?, _): .hiking
            case (.training?, .strength?): .traditionalStrength
            case (.fitnessEquipment?, .strength?): .functionalStrength
            case (.hiit?, _), (_, .hiit?): .hiit
            default: .other
            }
    }
}
