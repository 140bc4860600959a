/// Estimates active energy that no device measures, from heart rate, speed and grade.
///
/// - Heart rate, with a known age: Keytel and others, Journal of Sports Sciences 23, 2005, for 57 to 90 % of the maximum.
///   Its weight rises from 0 at 50 % of the maximum to 1 at 60 %.
/// - The other part comes from speed and grade on foot (ACSM's Guidelines for Exercise Testing and Prescription, walking
///   and running), else from the activity's metabolic equivalent.
///
/// Active energy excludes the resting part, 1 MET. Without a weight there is no estimate: a guessed weight is often
/// wrong by half.
package struct EnergyEstimate: Hashable, Sendable {
    /// The fractions of the maximum heart rate between which the formula's weight rises from 0 to 1.
    private static let ramp = 0.5...0.6
    /// The grades that ACSM's formulas cover.
    private static let grades = -0.1...0.3
    /// The lowest cost of a slope as a fraction of that of the level. Walking at −10 % costs half (Minetti and others,
    /// Journal of Applied Physiology 93, 2002), where ACSM's formula falls below the energy of rest.
    private static let leastCost = 0.5

    private let weight: Double
    private let metabolicEquivalent: Double
    private let runningSpeeds: ClosedRange<Double>?
    private let sex: Profile.Sex
    private let age: Double?
    private let maximum: Double?

    package init?(_ profile: Profile, activity: Activity, startedAt: Timestamp?) {
        guard let weight = profile.weight else { return nil }
        self.weight = weight
        metabolicEquivalent = activity.metabolicEquivalent
        runningSpeeds = activity.runningSpeeds
        sex = profile.sex ?? .other
        age = profile.age(at: startedAt)
        maximum = profile.maximumHeartRate(at: startedAt)
    }

    /// Active kcal per second by Keytel's formula, and the formula's weight.
    func rate(heartRate: Double) -> (kcal: Double, weight: Double) {
        guard let age, let maximum else { return (0, 0) }
        let part = (heartRate / maximum - Self.ramp.lowerBound) / (Self.ramp.upperBound - Self.ramp.lowerBound)
        let men = -55.0969 + 0.6309 * heartRate + 0.1988 * weight + 0.2017 * age
        let women = -20.4022 + 0.4472 * heartRate - 0.1263 * weight + 0.074 * age
        let kilojoules =
            switch sex {
            case .male: men
            case .female: women
            case .other: (men + women) / 2
            }
        return (max(0, kilojoules / 4.184 / 60 - rate(met: 1)), min(1, max(0, part)))
    }

    /// Active kcal per second at a speed in m/s and a grade (0.1 is 10 %); without a speed, at the activity's usual
    /// intensity.
    func rate(speed: Double?, grade: Double = 0) -> Double {
        guard let speed, let paces = runningSpeeds else { return rate(met: metabolicEquivalent - 1) }
        let slope = min(max(grade, Self.grades.lowerBound), Self.grades.upperBound)
        let running = min(1, max(0, (speed * 3.6 - paces.lowerBound) / (paces.upperBound - paces.lowerBound)))
        // ml of oxygen per kg and metre, without the 3.5 ml/kg/min of rest.
        let walked = max(0.1 + 1.8 * slope, 0.1 * Self.leastCost)
        let run = max(0.2 + 0.9 * slope, 0.2 * Self.leastCost)
        return (walked + (run - walked) * running) * speed * weight * 5 / 1000
    }

    private func rate(met: Double) -> Double { met * 3.5 * weight / 200 / 60 }
}
