import FIT

extension FITFixture {
    /// A small recording in the form of a watch's: a record every `interval` seconds of active time with heart rate,
    /// speed, distance, cadence and position; timer events; one lap; one session. Equal arguments give equal bytes.
    ///
    /// Each active segment has a record at both ends. The recorded distance is the sum of the speeds, and the session's
    /// totals equal those of the records.
    ///
    /// - Parameters:
    ///   - start: Unix seconds.
    ///   - duration: seconds from the start to the end, pauses included.
    ///   - pauses: in seconds since the start; sorted, disjoint and within the duration.
    ///   - sport: FIT's number, 1 for running.
    package static func workout(
        start: Int, duration: Int, pauses: [ClosedRange<Int>] = [], interval: Int = 1, sport: Int = 1,
        bigEndian: Bool = false
    ) -> [UInt8] {
        var fixture = FITFixture(bigEndian: bigEndian)
        fixture.add(
            0, [.init(0, .enumeration, 4), .init(1, .uint16, 255), .init(3, .uint32z, 1), .time(4, start)])
        let starts = [0] + pauses.map(\.upperBound)
        let ends = pauses.map(\.lowerBound) + [duration]
        var moment = Instant()
        for (from, to) in zip(starts, ends) {
            fixture.addTimerEvent(at: start + from, starts: true)
            moment.time = from
            moment.record(to: &fixture, start: start)
            while moment.time < to {
                moment.advance(by: min(interval, to - moment.time))
                moment.record(to: &fixture, start: start)
            }
            fixture.addTimerEvent(at: start + to, starts: false)
        }
        moment.addTotals(to: &fixture, start: start, duration: duration, sport: sport)
        return fixture.bytes
    }

    private mutating func addTimerEvent(at time: Int, starts: Bool) {
        add(
            21, local: 1,
            [.time(253, time), .init(0, .enumeration, 0), .init(1, .enumeration, starts ? 0 : 4), .init(4, .uint8, 0)])
    }
}

/// The simulated sensor values and their sums, in integers of FIT's units.
private struct Instant {
    /// Seconds since the start.
    var time = 0
    var activeSeconds = 0
    /// Centimetres.
    var distance = 0
    var heartRateSum = 0
    var heartRateMaximum = 0

    /// A wave from 0 to 30 and back, one minute long.
    var wave: Int { 30 - abs(activeSeconds % 60 - 30) }
    var heartRate: Int { 120 + wave }
    /// Millimetres a second, a multiple of ten.
    var speed: Int { 2500 + 10 * wave }

    mutating func advance(by seconds: Int) {
        // A measured value lasts until the next.
        heartRateSum += heartRate * seconds
        distance += speed / 10 * seconds
        time += seconds
        activeSeconds += seconds
    }

    mutating func record(to fixture: inout FITFixture, start: Int) {
        heartRateMaximum = max(heartRateMaximum, heartRate)
        // Due north from 52°N 13°E: one metre is about 107 units; a half turn has 2³¹ units.
        fixture.add(
            20, local: 2,
            [
                .time(253, start + time), .init(0, .sint32, 620_000_000 + distance * 107 / 100),
                .init(1, .sint32, 155_000_000), .init(2, .uint16, (50 + 500) * 5), .init(3, .uint8, heartRate),
                .init(4, .uint8, 80 + wave / 10), .init(5, .uint32, distance), .init(6, .uint16, speed),
            ])
    }

    func addTotals(to fixture: inout FITFixture, start: Int, duration: Int, sport: Int) {
        let end = start + duration
        let heartRate = [
            activeSeconds > 0 ? (heartRateSum + activeSeconds / 2) / activeSeconds : 120, heartRateMaximum,
        ]
        func totals(_ event: Int, heartRateField: UInt8) -> [FITFixture.Field] {
            [
                .time(253, end), .time(2, start), .init(0, .enumeration, event), .init(1, .enumeration, 1),
                .init(7, .uint32, duration * 1000), .init(8, .uint32, activeSeconds * 1000),
                .init(9, .uint32, distance), .init(11, .uint16, activeSeconds / 6),
                .init(heartRateField, .uint8, heartRate[0]), .init(heartRateField + 1, .uint8, heartRate[1]),
            ]
        }
        fixture.add(19, local: 3, [.init(254, .uint16, 0)] + totals(9, heartRateField: 15))
        fixture.add(
            18, local: 4,
            [.init(254, .uint16, 0), .init(5, .enumeration, sport), .init(6, .enumeration, 0), .init(26, .uint16, 1)]
                + totals(8, heartRateField: 16))
        fixture.add(
            34, local: 5,
            [
                .time(253, end), .init(0, .uint32, activeSeconds * 1000), .init(1, .uint16, 1),
                .init(2, .enumeration, 0),
                .init(3, .enumeration, 26), .init(4, .enumeration, 1),
            ])
    }
}
