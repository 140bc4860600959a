/// The activity of a workout. Raw values are those of the bus.
package enum Activity: String, Codable, CaseIterable, Sendable {
    case running, walking, hiking, cycling, rowing, swimming
    case traditionalStrength, functionalStrength
    case hiit, other

    /// The raw value of HealthKit's `HKWorkoutActivityType`.
    package var healthKitActivityType: Int {
        switch self {
        case .cycling: 13
        case .functionalStrength: 20
        case .hiking: 24
        case .rowing: 35
        case .running: 37
        case .swimming: 46
        case .traditionalStrength: 50
        case .walking: 52
        case .hiit: 63
        case .other: 3000
        }
    }

    /// The SF Symbol of the activity.
    package func symbol(_ environment: Environment) -> String {
        switch self {
        case .running: "figure.run"
        case .walking: "figure.walk"
        case .hiking: "figure.hiking"
        case .cycling: environment == .indoor ? "figure.indoor.cycle" : "figure.outdoor.cycle"
        case .rowing: "figure.rower"
        case .swimming: "figure.pool.swim"
        case .traditionalStrength: "figure.strengthtraining.traditional"
        case .functionalStrength: "figure.strengthtraining.functional"
        case .hiit: "figure.highintensity.intervaltraining"
        case .other: "figure.mixed.cardio"
        }
    }

    /// The default name of a session, such as "Outdoor Running".
    package func defaultName(_ environment: Environment) -> String {
        switch self {
        case .running: "\(environment.title) Running"
        case .walking: "\(environment.title) Walking"
        case .cycling: "\(environment.title) Cycling"
        case .rowing: "\(environment.title) Rowing"
        case .swimming: "\(environment.title) Swimming"
        case .hiking: "Hiking"
        case .traditionalStrength: "Traditional Strength Training"
        case .functionalStrength: "Functional Strength Training"
        case .hiit: "High Intensity Interval Training"
        case .other: "Workout"
        }
    }

    /// Whether FIT and TCX files count its cadence in strides; a stride is two steps.
    package var countsStrides: Bool {
        switch self {
        case .running, .walking, .hiking: true
        case .cycling, .rowing, .swimming, .traditionalStrength, .functionalStrength, .hiit, .other: false
        }
    }

    /// The environment of a `start` without one.
    package var defaultEnvironment: Environment {
        switch self {
        case .running, .walking, .hiking, .cycling, .rowing, .swimming: .outdoor
        case .traditionalStrength, .functionalStrength, .hiit, .other: .indoor
        }
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
