import FIT
import Workouts

/// What a FIT file has besides its records: lengths of a pool, a strap's beats, laps.
extension Recording {
    /// The lengths end with a stroke count; their metres grow while they are swum.
    mutating func addLengths(_ lengths: [FITActivity.Length], _ session: FITActivity.Session) {
        poolLength = session.poolLength
        let swum = lengths.filter(\.isActive)
        merge(
            swum.map { length in
                var sample = Sample(time: activeTime(at: Timestamp(seconds: length.end)))
                sample.set(.poolLengths, 1)
                sample.set(.strokes, length.strokes)
                sample.set(.speed, length.averageSpeed)
                sample.set(.cadence, length.averageCadence)
                return sample
            })
        guard let poolLength else { return }
        accrue(
            .distance,
            swum.map { length in
                let times = [length.start, max(length.start, length.end)].map { Timestamp(seconds: $0) }
                return Share(time: times[0]...times[1], amount: poolLength)
            })
    }

    /// The beats count where no record has a heart rate.
    mutating func addBeats(_ beats: [FITActivity.HeartRate]) {
        guard !samples.contains(where: { $0[.heartRate] != nil }) else { return }
        merge(
            beats.map { (time: Timestamp(seconds: $0.time), rate: $0.rate) }.filter { (start...end).contains($0.time) }
                .map { time, rate in
                    var sample = Sample(time: time)
                    sample.set(.heartRate, rate)
                    return sample
                })
    }

    mutating func addLaps(_ laps: [FITActivity.Lap]) {
        let laps = laps.filter { Timestamp(seconds: $0.start) < end && Timestamp(seconds: $0.end) > start }
            .sorted { $0.start < $1.start }
        // A lap's start is often rounded up to a second; its duration is exact.
        self.laps = zip(laps, laps.dropFirst()).map { lap, next in
            Timestamp(seconds: lap.end <= next.start + 1 ? min(lap.end, next.start) : next.start)
        }
        complete(
            with: laps.map { lap in
                RecordedLap(
                    time: Timestamp(seconds: lap.start)...Timestamp(seconds: lap.end), totals: RecordedTotals(lap))
            })
    }

    /// The newest active time at a moment.
    private func activeTime(at time: Timestamp) -> Timestamp {
        guard let segment = segments.last(where: { $0.lowerBound <= time }) else { return segments[0].lowerBound }
        return min(time, segment.upperBound)
    }

    /// Adds samples; those of the same time become one.
    private mutating func merge(_ more: [Sample]) {
        guard !more.isEmpty else { return }
        let timed = (samples + more).compactMap { sample in sample.time.map { (time: $0, sample: sample) } }
        samples = timed.sorted { $0.time < $1.time }.reduce(into: []) { merged, next in
            guard let last = merged.indices.last, merged[last].time == next.time else {
                merged.append(next.sample)
                return
            }
            for quantity in next.sample.quantities {
                let sum = quantity.isDelta ? merged[last][quantity] ?? 0 : 0
                let values = next.sample[all: quantity]
                merged[last][all: quantity] = quantity.isDelta ? values.map { $0 + sum } : values
            }
        }
    }
}

extension RecordedTotals {
    init(_ session: FITActivity.Session) {
        self.init(
            distance: session.distance.measured, activeTime: session.timerTime ?? session.elapsedTime,
            energy: session.calories.measured,
            ascent: session.ascent.measured(with: session.descent),
            descent: session.descent.measured(with: session.ascent), averageHeartRate: session.averageHeartRate.measured
        )
    }

    fileprivate init(_ lap: FITActivity.Lap) {
        self.init(
            distance: lap.distance.measured, activeTime: lap.timerTime ?? lap.elapsedTime,
            energy: lap.calories.measured, ascent: lap.ascent.measured, descent: lap.descent.measured,
            averageHeartRate: lap.averageHeartRate.measured)
    }
}

extension Double? {
    /// Without 0, which many devices write for what they did not measure, and without absurd values of damaged files.
    fileprivate var measured: Double? { flatMap { $0 > 0 && $0 <= 1e9 ? $0 : nil } }

    /// Also 0 if the device measured the other direction.
    fileprivate func measured(with other: Double?) -> Double? { measured ?? (other.measured == nil ? nil : self) }
}
