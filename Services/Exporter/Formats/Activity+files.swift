import Workouts

extension Activity {
    /// A cadence as files count it, a minute.
    func cadenceInFiles(_ cadence: Double?) -> Double? {
        countsStrides ? cadence.map { $0 / 2 } : cadence
    }

    /// TCX knows three.
    var sportOfTCX: String {
        switch self {
        case .running: "Running"
        case .cycling: "Biking"
        case .walking, .hiking, .rowing, .swimming, .traditionalStrength, .functionalStrength, .hiit, .other: "Other"
        }
    }
}
