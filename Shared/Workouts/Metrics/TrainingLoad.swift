import Foundation

/// The load of a session, rounded to thousandths. A value without its inputs is absent.
package struct TrainingLoad: Codable, Hashable, Sendable {
    /// Banister's training impulse.
    package var heartRate: Double?
    /// Watts.
    package var normalizedPower: Double?
    /// Normalized power as a fraction of the threshold power.
    package var intensity: Double?
    /// 100 is an hour at threshold power.
    package var stress: Double?

    package init() {}

    /// `nil` if all is unknown.
    var nonEmpty: TrainingLoad? { self == TrainingLoad() ? nil : self }
}

/// The parts of a profile that the load depends on.
package struct LoadBasis: Hashable, Sendable {
    /// Banister's weights: the training impulse of a minute at the fraction r of the heart rate reserve is
    /// r · factor · e^(exponent · r).
    private struct Weights: Hashable {
        let factor: Double
        let exponent: Double

        func impulse(_ fraction: Double) -> Double { fraction * factor * exp(exponent * fraction) }
    }

    /// Banister (Physiological Testing of Elite Athletes, 1991); Morton and others, Journal of Applied Physiology 69,
    /// 1990.
    private static let men = Weights(factor: 0.64, exponent: 1.92)
    private static let women = Weights(factor: 0.86, exponent: 1.67)

    private var resting: Double?
    private var maximum: Double?
    private var sex: Profile.Sex?
    /// Watts.
    fileprivate private(set) var thresholdPower: Double?

    /// The basis of a user without a profile.
    init() {}

    init(_ profile: Profile, startedAt: Timestamp?) {
        resting = profile.restingHeartRate
        maximum = profile.maximumHeartRate(at: startedAt)
        sex = profile.sex
        thresholdPower = profile.thresholdPower
    }

    /// The training impulse of a minute at a heart rate; `nil` if the profile does not give it. That of another sex is the
    /// mean of both.
    fileprivate var impulse: ((Double) -> Double)? {
        guard let resting, let maximum, maximum > resting, let sex else { return nil }
        let weights =
            switch sex {
            case .male: [Self.men]
            case .female: [Self.women]
            case .other: [Self.men, Self.women]
            }
        return { rate in
            let fraction = min(max((rate - resting) / (maximum - resting), 0), 1)
            return weights.reduce(0) { $0 + $1.impulse(fraction) } / Double(weights.count)
        }
    }
}

extension TrainingLoad {
    /// Percent of the active time with a heart rate or power, at least.
    private static let heartRateCoverage: Int64 = 50
    private static let powerCoverage: Int64 = 90
    /// Microseconds with power, at least.
    private static let shortestPower: Int64 = 600_000_000

    /// Adds up the training impulse of the time with a known heart rate.
    mutating func addHeartRate(_ values: TimeWeightedValues, _ basis: LoadBasis) {
        let total = values.timeline.total
        guard total > 0, let impulse = basis.impulse else { return }
        var (sum, known) = (0.0, Int64(0))
        values.visit { value in
            sum += impulse(value.value) * Double(value.until - value.from) / 60e6
            known += value.until - value.from
        }
        if 100 * known >= Self.heartRateCoverage * total { heartRate = thousandths(sum) }
    }

    mutating func addPower(_ values: TimeWeightedValues, _ basis: LoadBasis) {
        var power = NormalizedPower()
        values.visit { power.add($0) }
        power.finish()
        guard power.time >= Self.shortestPower, let normalized = power.mean else { return }
        normalizedPower = thousandths(normalized)
        guard let threshold = basis.thresholdPower, 100 * power.time >= Self.powerCoverage * values.timeline.total
        else {
            return
        }
        let intensity = normalized / threshold
        self.intensity = thousandths(intensity)
        stress = thousandths(100 * Double(power.time) / 1e6 * intensity * intensity / 3_600)
    }
}

/// Normalized power (Allen and Coggan, Training and Racing with a Power Meter): the fourth root of the mean of the
/// fourth powers of the average of the last 30 s, in steps of a second.
///
/// Active time is joined over pauses. A value lasts until the next. A silence of more than 15 s ends a run: the average
/// begins again with the next value.
struct NormalizedPower {
    private static let second: Int64 = 1_000_000
    private static let window = 30

    /// Microseconds with power.
    private(set) var time: Int64 = 0
    /// The value whose end is unknown yet.
    private var last: TimeWeightedValues.Value?
    /// The current second: watts times microseconds, and its microseconds so far.
    private var energy = 0.0
    private var filled: Int64 = 0
    /// The means of the last seconds of the run, in a ring, and the number of all its seconds.
    private var seconds = [Double](repeating: 0, count: window)
    private var count = 0
    private var fourthPowers = 0.0
    private var averages = 0

    /// `nil` if no run lasts 30 s.
    var mean: Double? { averages > 0 ? (fourthPowers / Double(averages)).squareRoot().squareRoot() : nil }

    mutating func add(_ value: TimeWeightedValues.Value) {
        if let last {
            if value.from - last.from > Int64(SourceOrder.freshness * 1e6) {
                hold(last.value, for: last.until - last.from)
                (energy, filled, count) = (0, 0, 0)
            } else {
                hold(last.value, for: value.from - last.from)
            }
        }
        last = value
    }

    mutating func finish() {
        if let last { hold(last.value, for: last.until - last.from) }
        last = nil
    }

    private mutating func hold(_ watts: Double, for microseconds: Int64) {
        time += microseconds
        var rest = microseconds
        while rest > 0 {
            let part = min(rest, Self.second - filled)
            energy += watts * Double(part)
            filled += part
            rest -= part
            if filled == Self.second { endSecond() }
        }
    }

    private mutating func endSecond() {
        seconds[count % Self.window] = energy / Double(Self.second)
        count += 1
        (energy, filled) = (0, 0)
        guard count >= Self.window else { return }
        let average = seconds.reduce(0, +) / Double(Self.window)
        fourthPowers += average * average * average * average
        averages += 1
    }
}
