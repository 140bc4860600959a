extension Activity {
    /// What nobody exceeds, m/s: a fix that implies more is wrong. An activity of unknown kind may be as fast as any.
    var speedLimit: Double {
        switch self {
        case .walking, .hiking, .swimming: 4
        case .running, .rowing, .traditionalStrength, .functionalStrength, .hiit: 9
        case .cycling, .other: 30
        }
    }
}
