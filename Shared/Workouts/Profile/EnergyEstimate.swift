/// Estimates the active energy of a workout without measured energy.
///
/// With a known heart rate, age and weight it uses the heart rate (Keytel and others, Journal of Sports Sciences 23,
/// 2005). Otherwise it uses the average speed of walking and running (ACSM), else the activity's metabolic equivalent.
/// Active energy excludes the resting part, 1 MET. Without a weight there is no estimate: a guessed weight is often
/// wrong by half.
package struct EnergyEstimate: Hashable, Sendable {
    /// Fractions of the maximum heart rate: the formula's weight rises from 0 to 1 between the first two; the third is
    /// the lowest in the study.
    private static let ramp = (from: 0.5, to: 0.6, studied: 0.57)
    /// People run from this speed on: 8 km/h.
    private static let runningSpeed = 8 / 3.6

    private let weight: Double
    private let activity: Activity
    private let sex: Profile.Sex
    private let age: Double?
    private let maximum: Double?

    package init?(_ profile: Profile, activity: Activity, startedAt: Timestamp?) {
        guard let weight = profile.weight else { return nil }
        self.weight = weight
        self.activity = activity
        sex = profile.sex ?? .other
        age = profile.age(at: startedAt)
        maximum = profile.maximumHeartRate(at: startedAt)
    }

    /// Active kcal per second at a heart rate; `nil` if the profile lacks age or weight.
    func rate(heartRate: Double) -> Double? {
        guard let age, let maximum else { return nil }
        let part = min(1, max(0, (heartRate / maximum - Self.ramp.from) / (Self.ramp.to - Self.ramp.from)))
        let studied = max(heartRate, maximum * Self.ramp.studied)
        let men = -55.0969 + 0.6309 * studied + 0.1988 * weight + 0.2017 * age
        let women = -20.4022 + 0.4472 * studied - 0.1263 * weight + 0.074 * age
        let kilojoules =
            switch sex {
            case .male: men
            case .female: women
            case .other: (men + women) / 2
            }
        return part * max(0, kilojoules / 4.184 / 60 - rate(met: 1))
    }

    /// Active kcal per second at an average speed in m/s; without a speed, at the activity's usual intensity.
    func rate(speed: Double?) -> Double {
        switch activity {
        case .running, .walking, .hiking:
            guard let speed else { break }
            // The part above the 3.5 ml/kg/min of rest.
            let oxygen = (speed < Self.runningSpeed ? 0.1 : 0.2) * speed * 60
            return oxygen * weight * 5 / 1000 / 60
        case .cycling, .rowing, .swimming, .traditionalStrength, .functionalStrength, .hiit, .other: break
        }
        return rate(met: activity.metabolicEquivalent - 1)
    }

    /// Active kcal of a span of active time.
    ///
    /// - Parameters:
    ///   - heartRate: the energy from known heart rates, and the seconds for which they are known.
    ///   - active: the seconds of the span.
    ///   - speed: the average speed; `nil` when unknown.
    func energy(heartRate: Portion, active: Double, speed: Double?) -> Double {
        guard age != nil, maximum != nil else { return active * rate(speed: speed) }
        return heartRate.kcal + max(0, active - heartRate.seconds) * rate(speed: speed)
    }

    /// The part of the energy that heart rates account for.
    struct Portion: Sendable {
        var kcal = 0.0
        var seconds = 0.0
    }

    private func rate(met: Double) -> Double { met * 3.5 * weight / 200 / 60 }
}

extension Activity {
    /// The usual intensity in MET (Compendium of Physical Activities, 2011).
    fileprivate var metabolicEquivalent: Double {
        switch self {
        case .running: 8
        case .walking: 3.5
        case .hiking: 6
        case .cycling: 7.5
        case .rowing: 7
        case .swimming: 5.8
        case .traditionalStrength: 3.5
        case .functionalStrength: 4.3
        case .hiit: 8
        case .other: 4
        }
    }
}
