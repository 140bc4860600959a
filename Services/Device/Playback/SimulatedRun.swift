import Foundation
import Workouts

/// An invented outdoor run, a sample every second: the same seed and start give the same run.
struct SimulatedRun: IteratorProtocol {
    static let countdown = SessionStart.defaultCountdown

    private enum Phase {
        case start, samples, end, over
    }

    private let start: Timestamp
    private let duration: Int?
    private var random: SplitMix64
    private var phase = Phase.start
    /// Whole seconds since the countdown ended.
    private var second = 0
    private var heartRate = 92.0
    /// The runner's drift from the plan, in m/s.
    private var drift = 0.0
    /// The part of a step that is not finished.
    private var stepFraction = 0.0

    /// - Parameter duration: seconds; without it the run goes on.
    init(seed: UInt64, start: Timestamp, duration: Int?) {
        self.start = start
        self.duration = duration
        random = SplitMix64(state: seed)
    }

    mutating func next() -> Step? {
        switch phase {
        case .start:
            phase = .samples
            let action = SessionAction.start(
                SessionStart(
                    activity: .running, environment: .outdoor, countdown: Self.countdown,
                    timeZone: TimeZone.current.identifier))
            return Step(at: start, .command(action))
        case .samples:
            let time = start + Self.countdown + Double(second)
            let sample = measure(time)
            if second == duration { phase = .end }
            second += 1
            return Step(at: time, .sample(sample))
        case .end:
            phase = .over
            return Step(at: start + Self.countdown + Double(second - 1), .command(.end(streams: [:])))
        case .over: return nil
        }
    }

    private mutating func measure(_ time: Timestamp) -> Sample {
        let seconds = Double(second)
        drift = 0.98 * drift + Double.random(in: -0.05...0.05, using: &random)
        // Ten seconds to get going, then about 5:45 for a kilometre, a little faster and slower over the hills.
        let plan = 2.9 * min(1, (seconds + 3) / 10) + 0.2 * sin(seconds / 95)
        let speed = max(0.8, plan + drift)
        // The heart follows effort within half a minute, and the same effort costs more as time passes.
        let effort = 92 + 20 * speed + min(12, seconds / 300)
        heartRate += (effort - heartRate) / 30 + Double.random(in: -0.6...0.6, using: &random)
        let cadence = 150 + 6 * speed + Double.random(in: -1.5...1.5, using: &random)

        var sample = Sample(time: time)
        sample[.heartRate] = heartRate.rounded()
        sample[.speed] = (speed * 100).rounded() / 100
        sample[.cadence] = cadence.rounded()
        if second > 0 {
            stepFraction += cadence / 60
            sample[.distance] = (speed * 100).rounded() / 100
            sample[.activeEnergy] = (speed * 72).rounded() / 1000
            sample[.steps] = stepFraction.rounded(.down)
            stepFraction -= stepFraction.rounded(.down)
        }
        // Nine hours from full to empty, told once a minute.
        if second % 60 == 0 { sample[.battery] = (max(0, 0.93 - seconds / 32_400) * 1000).rounded() / 1000 }
        return sample
    }
}

/// Random numbers that can be repeated.
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var result = state
        result = (result ^ (result >> 30)) &* 0xBF58_476D_1CE4_E5B9
        result = (result ^ (result >> 27)) &* 0x94D0_49BB_1331_11EB
        return result ^ (result >> 31)
    }
}
