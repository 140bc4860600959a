extension FITActivity {
    /// What the device says about a whole session. Absent is what it does not say. Seconds, metres, m/s, kcal, bpm, W.
    package struct Session: Equatable, Sendable {
        package let start: Double
        /// Pauses included. When the device did not say it: up to when the message was written.
        package let elapsedTime: Double
        /// Pauses excluded.
        package let timerTime: Double?
        package let distance: Double?
        package let calories: Double?
        package let averageHeartRate: Double?
        package let maximumHeartRate: Double?
        package let minimumHeartRate: Double?
        /// As in `Record`, without the fraction.
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
        /// Degrees, WGS 84.
        package let startLatitude: Double?
        package let startLongitude: Double?

        /// When the session was over: `start` and the time that elapsed.
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
            startLatitude = message.number(Field.startLatitude)
            startLongitude = message.number(Field.startLongitude)
        }
    }

    /// What the device says about a lap, in the units of `Session`.
    package struct Lap: Equatable, Sendable {
        package let start: Double
        /// Pauses included. When the device did not say it: up to when the message was written.
        package let elapsedTime: Double
        /// Pauses excluded.
        package let timerTime: Double?
        package let distance: Double?
        package let calories: Double?
        package let averageHeartRate: Double?
        package let maximumHeartRate: Double?

        /// When the lap was over: `start` and the time that elapsed.
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
        }
    }
}

extension FITMessage {
    /// Seconds, never negative, since a file may declare the field with any type.
    fileprivate func elapsedTime(_ field: FITField, since start: Double) -> Double {
        max(0, number(field) ?? (timestamp ?? start) - start)
    }
}
