/// The activity of a workout. To add a sport, add a case before `other` and its row in ``row``: everything else derives
/// from it. Tests compare `asyncapi.yaml` and the pages' `activities.js` with the rows.
///
/// Raw values are those of the bus and of GPX: never rename a case.
package enum Activity: String, Codable, CaseIterable, Sendable {
    case running, walking, hiking, cycling, rowing, swimming
    case traditionalStrength, functionalStrength
    case hiit, other

    private var row: Row {
        switch self {
        case .running:
            Row("Running", symbol: "figure.run", met: 8, usualSpeed: 9)
                .moves(restSpeed: 0.83, slowestPace: 1_800, runsFrom: 3...5)
                .bests(.onFoot)
                .shows(.pace, cadence: .steps)
                .healthKit(37, distance: "DistanceWalkingRunning", speed: "RunningSpeed", power: "RunningPower")
                // FIT's sport 4 is fitness equipment: the subsport decides.
                .fit(1, indoor: 1, read: (1, nil), (4, 1), (4, 45))
                .tcx("Running")
                .words("treadmill", "run")
                .plan("running", "run", "runs", "runner", "jog", "jogging", "jogger", "treadmill", indoor: "treadmill")
        case .walking:
            Row("Walking", symbol: "figure.walk", met: 3.5, usualSpeed: 4)
                .moves(restSpeed: 0.4, slowestPace: 1_800, runsFrom: 8...10)
                .bests(.onFoot)
                .shows(.pace, cadence: .steps)
                .healthKit(52, distance: "DistanceWalkingRunning")
                .fit(11, indoor: 27, read: (11, nil), (4, 27))
                .words("walk")
        case .hiking:
            Row("Hiking", name: "Hiking", symbol: "figure.hiking", met: 6, usualSpeed: 4)
                .moves(restSpeed: 0.4, slowestPace: 1_800, runsFrom: 8...10)
                .bests(.onFoot)
                .shows(.heartRate, cadence: .steps)
                .healthKit(24, distance: "DistanceWalkingRunning")
                .fit(17, indoor: 1, read: (17, nil))
                .words("hik")
        case .cycling:
            Row("Cycling", symbol: "figure.outdoor.cycle", indoor: "figure.indoor.cycle", met: 7.5, usualSpeed: 30)
                .moves(restSpeed: 1)
                .bests(.cycling, hasPowerLoad: true)
                .shows(.speed, cadence: .revolutions)
                .healthKit(13, distance: "DistanceCycling", speed: "CyclingSpeed", power: "CyclingPower")
                .fit(2, indoor: 6, read: (2, nil), (4, 6), (4, 5))
                .tcx("Biking")
                .words("bik", "cycl", "ride", "spin")
                .plan(
                    "cycling", "cycle", "cyclist", "bike", "bikes", "biking", "bicycle", "bicycling", "spin",
                    "spinning", "bikeerg",
                    indoor: "stationary", "exercise", "spin", "spinning", "trainer", "turbo", "erg", "ergometer",
                    "bikeerg")
        case .rowing:
            Row("Rowing", symbol: "figure.rower", met: 7, usualSpeed: 9)
                .moves(restSpeed: 0.5)
                .healthKit(35, distance: "DistanceRowing")
                .fit(15, indoor: 14, read: (15, nil), (4, 14))
                .words("row", "ergometer")
                .plan("rowing", "row", "rower", indoor: "rower", "erg", "ergometer", "rowerg", "machine")
        case .swimming:
            // The slowest pace is ten minutes for 100 m.
            Row("Swimming", symbol: "figure.pool.swim", met: 5.8, usualSpeed: 4)
                .moves(restSpeed: 0.2, slowestPace: 6_000)
                .bests(.swimming)
                .swims()
                .healthKit(46, distance: "DistanceSwimming")
                .fit(5, outdoor: 18, indoor: 17, read: (5, nil))
                .words("swim")
                .plan("swimming", "swim", "swimmer", "pool", indoor: "pool")
        case .traditionalStrength:
            Row(
                "Strength", name: "Traditional Strength Training", symbol: "figure.strengthtraining.traditional",
                met: 3.5, usualSpeed: 9, environment: .indoor
            )
            .healthKit(50)
            // FIT's sport 10 is training of any kind.
            .fit(10, outdoor: 20, indoor: 20, read: (10, 20))
        case .functionalStrength:
            Row(
                "Functional", name: "Functional Strength Training", symbol: "figure.strengthtraining.functional",
                met: 4.3, usualSpeed: 9, environment: .indoor
            )
            .healthKit(20)
            .fit(4, outdoor: 20, indoor: 20, read: (4, 20))
        case .hiit:
            Row(
                "HIIT", name: "High Intensity Interval Training", symbol: "figure.highintensity.intervaltraining",
                met: 8, usualSpeed: 9, environment: .indoor
            )
            .healthKit(63, distance: "DistanceWalkingRunning")
            .fit(62, outdoor: 70, indoor: 70, read: (62, nil), (nil, 70))
            .words("hiit", "interval")
        case .other:
            // An unknown sport may be as fast as the fastest.
            Row(
                "Other", name: "Workout", symbol: "figure.mixed.cardio", met: 4, usualSpeed: 30, environment: .indoor
            )
            .moves(restSpeed: 0.4)
            .healthKit(3000, distance: "DistanceWalkingRunning")
            .fit(0)
        }
    }

    private static let rows = allCases.map(\.row)
    private var stored: Row { Self.rows[Self.allCases.firstIndex(of: self) ?? 0] }
}

extension Activity {
    /// The fourth value of the pages: of this moment, and on average when the workout rests.
    package enum Figure: String, Sendable {
        case pace, speed, heartRate
    }

    /// What a cadence counts in a minute. Raw values are the units that pages show.
    package enum CadenceUnit: String, Sendable {
        case steps = "spm"
        case revolutions = "rpm"
        case unnamed = "/min"
    }

    /// The activity in FIT's numbers of sports and subsports.
    package struct FITSports: Sendable {
        package let sport: Int
        /// The subsports that files get.
        fileprivate let outdoor: Int
        fileprivate let indoor: Int
        /// Sports and subsports of files that mean the activity; `nil` is any.
        fileprivate let read: [(sport: Int?, subSport: Int?)]

        package func subSport(_ environment: Environment) -> Int { environment == .indoor ? indoor : outdoor }
    }

    /// The facts about an activity.
    private struct Row: Sendable {
        let title: String
        let name: String?
        let symbol: String
        let indoorSymbol: String
        let metabolicEquivalent: Double
        let usualSpeed: Double
        let environment: Environment
        var restSpeed: Double?
        var slowestPace: Double?
        var runningSpeeds: ClosedRange<Double>?
        var bestDistances: BestDistances?
        var hasPowerLoad = false
        var figure = Figure.heartRate
        var cadence = CadenceUnit.unnamed
        var isSwimming = false
        var healthKitActivityType = 0
        var healthKitTypes: (distance: String?, speed: String?, power: String?)
        var fit = FITSports(sport: 0, outdoor: 0, indoor: 0, read: [])
        var tcx = "Other"
        var words: [String] = []
        var planWords: Set<String> = []
        var indoorWords: Set<String> = []

        init(
            _ title: String, name: String? = nil, symbol: String, indoor: String? = nil, met: Double,
            usualSpeed: Double, environment: Environment = .outdoor
        ) {
            self.title = title
            self.name = name
            self.symbol = symbol
            indoorSymbol = indoor ?? symbol
            metabolicEquivalent = met
            self.usualSpeed = usualSpeed
            self.environment = environment
        }

        private func with(_ change: (inout Row) -> Void) -> Row {
            var row = self
            change(&row)
            return row
        }

        func moves(restSpeed: Double, slowestPace: Double? = nil, runsFrom: ClosedRange<Double>? = nil) -> Row {
            with { ($0.restSpeed, $0.slowestPace, $0.runningSpeeds) = (restSpeed, slowestPace, runsFrom) }
        }

        func bests(_ distances: BestDistances, hasPowerLoad: Bool = false) -> Row {
            with { ($0.bestDistances, $0.hasPowerLoad) = (distances, hasPowerLoad) }
        }

        func shows(_ figure: Figure, cadence: CadenceUnit) -> Row {
            with { ($0.figure, $0.cadence) = (figure, cadence) }
        }

        func swims() -> Row { with { $0.isSwimming = true } }

        func healthKit(_ activity: Int, distance: String? = nil, speed: String? = nil, power: String? = nil) -> Row {
            with { ($0.healthKitActivityType, $0.healthKitTypes) = (activity, (distance, speed, power)) }
        }

        func fit(_ sport: Int, outdoor: Int = 0, indoor: Int = 0, read: (sport: Int?, subSport: Int?)...) -> Row {
            with { $0.fit = FITSports(sport: sport, outdoor: outdoor, indoor: indoor, read: read) }
        }

        func tcx(_ name: String) -> Row { with { $0.tcx = name } }

        func words(_ words: String...) -> Row { with { $0.words = words } }

        func plan(_ words: String..., indoor: String...) -> Row {
            with { ($0.planWords, $0.indoorWords) = (Set(words), Set(indoor)) }
        }
    }

    /// A short name for lists.
    package var title: String { stored.title }

    /// The default name of a session, such as `Outdoor Running`.
    package func defaultName(_ environment: Environment) -> String {
        stored.name ?? "\(environment.title) \(stored.title)"
    }

    /// The SF Symbol of the activity.
    package func symbol(_ environment: Environment) -> String {
        environment == .indoor ? stored.indoorSymbol : stored.symbol
    }

    /// The environment of a `start` without one.
    package var defaultEnvironment: Environment { stored.environment }

    /// The usual intensity in MET (Compendium of Physical Activities, 2011).
    var metabolicEquivalent: Double { stored.metabolicEquivalent }

    /// The speeds in km/h between which the formula for running replaces that for walking; `nil` unless on foot.
    ///
    /// A runner runs from 5 km/h on. People who walk or hike walk up to 8 km/h. Between the formulas the rate is
    /// continuous, because their values differ by a factor of two.
    var runningSpeeds: ClosedRange<Double>? { stored.runningSpeeds }

    /// A high speed of the activity in m/s, which says how quickly speed and direction usually change. It refuses no
    /// fix.
    var usualSpeed: Double { stored.usualSpeed }

    /// The speed in m/s below which people rest; `nil` when the activity covers no distance.
    package var restSpeed: Double? { stored.restSpeed }

    /// The slowest pace in seconds per kilometre; `nil` of activities that show their speed.
    var slowestPace: Double? { stored.slowestPace }

    /// The distances whose fastest times count; `nil` when there are none.
    package var bestDistances: BestDistances? { stored.bestDistances }
    /// Whether power gives a load: normalized power is defined for cycling alone.
    package var hasPowerLoad: Bool { stored.hasPowerLoad }

    /// Seconds per kilometre at a speed in m/s; `nil` at rest, and of activities that show their speed.
    package func pace(speed: Double) -> Double? {
        guard let slowest = slowestPace, speed > 0, 1_000 / speed <= slowest else { return nil }
        return 1_000 / speed
    }

    package var figure: Figure { stored.figure }
    package var cadenceUnit: CadenceUnit { stored.cadence }
    /// Whether FIT and TCX files count its cadence in strides; a stride is two steps.
    package var countsStrides: Bool { stored.cadence == .steps }
    /// Whether the activity may have a pool, shows distances in metres or yards, and its pace for 100 of them.
    package var isSwimming: Bool { stored.isSwimming }

    /// The raw value of HealthKit's `HKWorkoutActivityType`.
    package var healthKitActivityType: Int { stored.healthKitActivityType }
    /// The quantities that have a type of their own for each activity in HealthKit, without `HKQuantityTypeIdentifier`.
    package var healthKitTypes: (distance: String?, speed: String?, power: String?) { stored.healthKitTypes }
    package var fit: FITSports { stored.fit }
    /// The sport in TCX, which has three.
    package var tcx: String { stored.tcx }

    /// Words of a plan's focus and equipment that mean the activity, and that mean indoors, in lower case.
    package var planWords: Set<String> { stored.planWords }
    var indoorWords: Set<String> { stored.indoorWords }
}

extension Activity {
    /// The activity that a recording's text names, such as `Running`, `trail_running`, `Biking`, `VirtualRide` or a raw
    /// value; `nil` if it names none.
    package init?(words text: String) {
        let text = text.lowercased()
        // A text that names several activities means the first of these.
        let ordered: [Activity] = [.swimming, .rowing, .running, .cycling] + Self.allCases
        guard
            let activity = Self.allCases.first(where: { $0.rawValue.lowercased() == text })
                ?? ordered.first(where: { $0.stored.words.contains { text.contains($0) } })
        else { return nil }
        self = activity
    }

    /// The activity of a FIT file's sport and subsport; `nil` if no row has them.
    package init?(fitSport sport: Int?, subSport: Int?) {
        func isRead(_ row: (sport: Int?, subSport: Int?)) -> Bool {
            (row.sport == nil || row.sport == sport) && (row.subSport == nil || row.subSport == subSport)
        }
        guard let activity = Self.allCases.first(where: { $0.stored.fit.read.contains(where: isRead) }) else {
            return nil
        }
        self = activity
    }
}

package enum Environment: String, Codable, CaseIterable, Sendable {
    case outdoor, indoor

    fileprivate var title: String { self == .indoor ? "Indoor" : "Outdoor" }
}

/// The measuring device: a watch that owns the live workout, or the phone alone.
package enum Mode: String, Codable, CaseIterable, Sendable {
    case watch, phone
}

/// The units in which a person reads distances.
package enum Units: String, Codable, CaseIterable, Sendable {
    case metric, imperial

    /// The length of a split in metres: a kilometre or an international mile.
    package var splitLength: Double { self == .metric ? 1000 : 1609.344 }
}
