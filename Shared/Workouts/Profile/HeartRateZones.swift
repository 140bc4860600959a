/// Five heart rate zones, divided by four rising limits in beats per minute. A limit belongs to the zone above it.
package struct HeartRateZones: Hashable, Sendable {
    package static let count = 5
    /// The limits as fractions of the threshold heart rate (Allen and Coggan, Training and Racing with a Power Meter).
    private static let thresholdFractions = [0.68, 0.83, 0.94, 1.05]
    /// The limits as fractions of the maximum heart rate.
    private static let maximumFractions = [0.6, 0.7, 0.8, 0.9]

    package let limits: [Double]

    /// The profile's limits, else 68, 83, 94 and 105 % of the threshold heart rate, else 60, 70, 80 and 90 % of the maximum;
    /// `nil` if all are unknown.
    package init?(_ profile: Profile, startedAt: Timestamp?) {
        if let limits = profile.zones, limits.count == Self.count - 1 {
            self.limits = limits
        } else if let threshold = profile.thresholdHeartRate {
            limits = Self.thresholdFractions.map { $0 * threshold }
        } else if let maximum = profile.maximumHeartRate(at: startedAt) {
            limits = Self.maximumFractions.map { $0 * maximum }
        } else {
            return nil
        }
    }

    /// The index of a value's zone.
    func zone(of heartRate: Double) -> Int {
        var zone = 0
        while zone < limits.count, heartRate >= limits[zone] { zone += 1 }
        return zone
    }
}

extension Profile {
    /// The profile's value, else 208 − 0.7 · age (Tanaka); `nil` if both are unknown.
    func maximumHeartRate(at time: Timestamp?) -> Double? {
        maximumHeartRate ?? age(at: time).map { 208 - 0.7 * $0 }
    }

    /// Whole years from the year of birth to the year of `time`.
    func age(at time: Timestamp?) -> Double? {
        guard let birthYear, let time else { return nil }
        return Double(max(0, time.year - birthYear))
    }
}

/// The parts of a profile that results depend on.
package struct Physiology: Hashable, Sendable {
    package var zones: HeartRateZones?
    package var energy: EnergyEstimate?
    package var load = LoadBasis()

    /// The physiology of a user without a profile.
    package init() {}

    /// From the user's profile, as of the day the session began.
    package init(_ profile: Profile?, of state: SessionState) {
        guard let profile else { return }
        let start = state.startedAt ?? state.segments.first?.start
        zones = HeartRateZones(profile, startedAt: start)
        energy = EnergyEstimate(profile, activity: state.activity, startedAt: start)
        load = LoadBasis(profile, startedAt: start)
    }
}
