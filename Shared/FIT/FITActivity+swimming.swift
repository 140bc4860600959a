extension FITActivity {
    /// A length of a pool.
    package struct Length: Equatable, Sendable {
        package let start: Double
        /// The swimmer touched the wall; the device noticed it, and wrote the message, some seconds later.
        package let end: Double
        /// Whether it was swum; otherwise the swimmer rested.
        package let isActive: Bool
        package let strokes: Double?
        /// Metres a second.
        package let averageSpeed: Double?
        /// Strokes a minute.
        package let averageCadence: Double?

        init?(_ message: FITMessage) {
            typealias Field = FITProfile.Length
            guard let start = message.number(Field.start),
                let end = message.number(Field.elapsedTime).map({ start + max(0, $0) }) ?? message.timestamp
            else { return nil }
            self.start = start
            self.end = end
            isActive = message.integer(Field.type) == 1
            strokes = message.number(Field.strokes)
            averageSpeed = message.number(Field.averageSpeed)
            averageCadence = message.number(Field.averageCadence)
        }
    }

    /// The heart rate at one beat.
    package struct HeartRate: Equatable, Sendable {
        package let time: Double
        package let rate: Double
    }
}

extension FITActivity.HeartRate {
    /// The beats of all messages. A message with a timestamp relates the strap's clock to the device's; the times of
    /// the messages after it are low bits of the strap's clock, which never runs backwards.
    static func all(in messages: [FITMessage]) -> [FITActivity.HeartRate] {
        typealias Field = FITProfile.HeartRate
        let ticksPerSecond = Field.beatTime.scale
        var beats: [FITActivity.HeartRate] = []
        /// Unix seconds of the strap's zero.
        var zero: Double?
        /// The strap's clock at the newest beat, in ticks.
        var newest: UInt64?
        for message in messages where message.global == Field.global {
            var ticks = message.numbers(Field.beatTime).map { seconds in
                seconds.flatMap { UInt64(exactly: ($0 * ticksPerSecond).rounded()) }
            }
            if let time = message.timestamp, let first = ticks.first ?? nil {
                zero = time + (message.number(Field.fraction) ?? 0) - Double(first) / ticksPerSecond
            }
            if let last = ticks.last ?? nil { newest = last }
            if case .bytes(let bytes) = message.fields[Field.compressedBeatTimes.number], var clock = newest {
                for low in pairs(bytes) {
                    clock = (clock & ~0xFFF | low) &+ (low < clock & 0xFFF ? 0x1000 : 0)
                    ticks.append(clock)
                }
                newest = clock
            }
            guard let zero else { continue }
            for (ticks, rate) in zip(ticks, message.numbers(Field.filteredRate)) {
                guard let ticks, let rate else { continue }
                beats.append(FITActivity.HeartRate(time: zero + Double(ticks) / ticksPerSecond, rate: rate))
            }
        }
        return beats.sorted { $0.time < $1.time }
    }

    /// The numbers of 12 bits, low bits first.
    private static func pairs(_ bytes: [UInt8]) -> [UInt64] {
        stride(from: 0, to: bytes.count / 3 * 3, by: 3).flatMap { index in
            let bits = bytes[index..<index + 3].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return [bits & 0xFFF, bits >> 12]
        }
    }
}
