extension FITActivity {
    /// The totals of a session in a FIT file. Absent values are not recorded. Seconds, metres, m/s, kcal, bpm, W.
    package struct Session: Equatable, Sendable {
        package let start: Double
        /// Includes pauses. Defaults to the time from the start to the message.
        package let elapsedTime: Double
        /// Excludes pauses.
        package let timerTime: Double?
        package let distance: Double?
        package let calories: Double?
        package let averageHeartRate: Double?
        package let maximumHeartRate: Double?
        package let minimumHeartRate: Double?
        /// In the unit of `Record.cadence`, without the fraction.
        package let averageCadence: Double?
        package let maximumCadence: Double?
        package let averagePower: Double?
        package let maximumPower: Double?
        package let averageSpeed: Double?
        package let maximumSpeed: Double?
        package let ascent: Double?
        package let descent: Double?
        package let sport: FITSport?
        package let subSport: FITSubSport?
        /// The length of the pool.
        package let poolLength: Double?
        /// Degrees, WGS 84.
        package let startLatitude: Double?
        package let startLongitude: Double?

        /// `start` plus the elapsed time.
        package var end: Double { start + elapsedTime }

        init?(_ message: FITMessage) {
            typealias Field = FITProfile.Session
            guard let start = message.number(Field.start) else { return nil }
            self.start = start
            elapsedTime = message.elapsedTime(Field.elapsedTime, since: start)
            timerTime = message.number(Field.timerTime)
            distance = message.number(Field.distance)
            calories = message.number(Field.calories)
            averageHeartRate = message.number(Field.averageHeartRate)
            maximumHeartRate = message.number(Field.maximumHeartRate)
            minimumHeartRate = message.number(Field.minimumHeartRate)
            averageCadence = message.number(Field.averageCadence)
            maximumCadence = message.number(Field.maximumCadence)
            averagePower = message.number(Field.averagePower)
            maximumPower = message.number(Field.maximumPower)
            averageSpeed = message.number(Field.enhancedAverageSpeed) ?? message.number(Field.averageSpeed)
            maximumSpeed = message.number(Field.enhancedMaximumSpeed) ?? message.number(Field.maximumSpeed)
            ascent = message.number(Field.ascent)
            descent = message.number(Field.descent)
            sport = message.integer(Field.sport).map(FITSport.init)
            subSport = message.integer(Field.subSport).map(FITSubSport.init)
            poolLength = message.number(Field.poolLength)
            startLatitude = message.number(Field.startLatitude)
            startLongitude = message.number(Field.startLongitude)
        }
    }

    /// A lap, in the units of `Session`.
    package struct Lap: Equatable, Sendable {
        package let start: Double
        /// Includes pauses. Defaults to the time from the start to the message.
        package let elapsedTime: Double
        /// Excludes pauses.
        package let timerTime: Double?
        package let distance: Double?
        package let calories: Double?
        package let averageHeartRate: Double?
        package let maximumHeartRate: Double?
        package let ascent: Double?
        package let descent: Double?

        /// `start` plus the elapsed time.
        package var end: Double { start + elapsedTime }

        init?(_ message: FITMessage) {
            typealias Field = FITProfile.Lap
            guard let start = message.number(Field.start) else { return nil }
            self.start = start
            elapsedTime = message.elapsedTime(Field.elapsedTime, since: start)
            timerTime = message.number(Field.timerTime)
            distance = message.number(Field.distance)
            calories = message.number(Field.calories)
            averageHeartRate = message.number(Field.averageHeartRate)
            maximumHeartRate = message.number(Field.maximumHeartRate)
            ascent = message.number(Field.ascent)
            descent = message.number(Field.descent)
        }
    }
}

extension FITMessage {
    /// Seconds, never negative: a file can declare the field with a signed type.
    fileprivate func elapsedTime(_ field: FITField, since start: Double) -> Double {
        max(0, number(field) ?? (timestamp ?? start) - start)
    }
}
