package import Formats
import Foundation
package import Workouts

/// A simulated outdoor run. The same seed, start and rate give the same run.
package struct SimulatedRun: IteratorProtocol {
    package static let countdown = SessionStart.defaultCountdown
    /// Seconds without values after which a device in a virtual run sends an item with its time alone.
    static let heartbeatInterval = 3.0

    private enum Phase {
        case start, samples, end, over
    }

    private let start: Timestamp
    private let last: Int?
    /// Seconds from sample to sample.
    private let interval: Double
    private let replaces: Bool
    private let ticket: RunTicket?
    /// Seconds from the start to the first sample.
    private let countdown: Double
    /// The time of the latest step with a sample.
    private var latest: Timestamp?
    private var random: SplitMix64
    private var route: SimulatedRoute
    /// The position at the latest sample, until it is returned as a step.
    private var location: Location?
    private var phase = Phase.start
    private var number = 0
    private var heartRate = 92.0
    /// The difference to the planned speed, in m/s.
    private var drift = 0.0
    /// The unfinished part of a step.
    private var stepFraction = 0.0

    /// - Parameters:
    ///   - duration: seconds; without it the run never ends.
    ///   - rate: samples a second.
    ///   - replaces: whether the start discards an unfinished session of the user.
    ///   - ticket: the virtual run that it begins in. The device then sends a heartbeat where it has no values.
    package init(
        seed: UInt64, start: Timestamp, duration: Int?, rate: Double = 1, replaces: Bool = false,
        ticket: RunTicket? = nil
    ) {
        self.start = start
        self.replaces = replaces
        self.ticket = ticket
        countdown = ticket.map { ($0.startAt - $0.offset).seconds(since: start) } ?? Self.countdown
        interval = 1 / rate
        last = duration.map { Self.lastNumber($0, rate: rate) }
        random = SplitMix64(seed: seed)
        route = SimulatedRoute(seed: ~seed)
    }

    /// The number of the last sample of a run of `duration` seconds.
    static func lastNumber(_ duration: Int, rate: Double) -> Int { Int(Double(duration) * rate) }

    private func time(_ number: Int) -> Timestamp { start + countdown + Double(number) * interval }

    package mutating func next() -> Step? {
        if let pending = location, let time = pending.time {
            location = nil
            return Step(at: time, .location(pending))
        }
        switch phase {
        case .start:
            phase = .samples
            var session = SessionStart(
                activity: .running, environment: .outdoor, countdown: Self.countdown,
                timeZone: TimeZone.current.identifier)
            session.place = SimulatedRoute.start
            session.replace = replaces
            session.run = ticket?.run
            session.startAt = ticket?.startAt
            if ticket != nil { session.countdown = nil }
            return Step(at: start, .command(.start(session)))
        case .samples:
            let time = time(number)
            if let heartbeat = heartbeat(before: time) {
                latest = heartbeat
                return Step(at: heartbeat, .sample(Sample(time: heartbeat)))
            }
            latest = time
            let sample = measure(time)
            if number == last { phase = .end }
            number += 1
            return Step(at: time, .sample(sample))
        case .end:
            phase = .over
            return Step(at: time(number - 1), .command(.end(streams: [:])))
        case .over: return nil
        }
    }

    /// The time of the next item without values in a virtual run, while the next sample is farther away.
    private func heartbeat(before sample: Timestamp) -> Timestamp? {
        guard ticket != nil, let latest else { return nil }
        let time = latest + Self.heartbeatInterval
        return time < sample ? time : nil
    }

    private mutating func measure(_ time: Timestamp) -> Sample {
        let seconds = Double(number) * interval
        drift = pow(0.98, interval) * drift + Double.random(in: -0.05...0.05, using: &random) * interval.squareRoot()
        // Ten seconds of acceleration, then about 5:45 a kilometre with small variations.
        let plan = 2.9 * min(1, (seconds + 3) / 10) + 0.2 * sin(seconds / 95)
        let speed = max(0.8, plan + drift)
        // The heart rate follows effort within half a minute and drifts up over time.
        let effort = 92 + 20 * speed + min(12, seconds / 300)
        heartRate += (effort - heartRate) * min(1, interval / 30)
        heartRate += Double.random(in: -0.6...0.6, using: &random) * interval.squareRoot()
        let cadence = 150 + 6 * speed + Double.random(in: -1.5...1.5, using: &random)

        var sample = Sample(time: time)
        sample[.heartRate] = heartRate.rounded()
        sample[.speed] = (speed * 100).rounded() / 100
        sample[.cadence] = cadence.rounded()
        if number > 0 {
            stepFraction += cadence / 60 * interval
            sample[.distance] = (speed * interval * 100).rounded() / 100
            sample[.activeEnergy] = (speed * interval * 72).rounded() / 1000
            sample[.steps] = stepFraction.rounded(.down)
            stepFraction -= stepFraction.rounded(.down)
        }
        let distance = number > 0 ? speed * interval : 0
        location = route.advance(by: distance, in: interval, at: time, speed: sample[.speed] ?? speed)
        // Nine hours from full to empty, reported once a minute.
        if number == 0 || Int(seconds / 60) > Int((seconds - interval) / 60) {
            sample[.battery] = (max(0, 0.93 - seconds / 32_400) * 1000).rounded() / 1000
        }
        return sample
    }
}
