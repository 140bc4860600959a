extension FITProfile {
    package enum Session {
        package static let global: UInt16 = 18
        package static let event = FITField(0)
        package static let eventType = FITField(1)
        package static let start = FITField.time(2)
        package static let startLatitude = FITField.degrees(3)
        package static let startLongitude = FITField.degrees(4)
        package static let sport = FITField(5)
        package static let subSport = FITField(6)
        package static let elapsedTime = FITField(7, scale: 1000)
        package static let timerTime = FITField(8, scale: 1000)
        package static let distance = FITField(9, scale: 100)
        package static let calories = FITField(11)
        package static let averageSpeed = FITField(14, scale: 1000)
        package static let maximumSpeed = FITField(15, scale: 1000)
        package static let averageHeartRate = FITField(16)
        package static let maximumHeartRate = FITField(17)
        package static let averageCadence = FITField(18)
        package static let maximumCadence = FITField(19)
        package static let averagePower = FITField(20)
        package static let maximumPower = FITField(21)
        package static let ascent = FITField(22)
        package static let descent = FITField(23)
        package static let firstLap = FITField(25)
        package static let laps = FITField(26)
        package static let trigger = FITField(28)
        package static let minimumHeartRate = FITField(64)
        package static let enhancedAverageSpeed = FITField(124, scale: 1000)
        package static let enhancedMaximumSpeed = FITField(125, scale: 1000)
    }

    package enum Lap {
        package static let global: UInt16 = 19
        package static let event = FITField(0)
        package static let eventType = FITField(1)
        package static let start = FITField.time(2)
        package static let elapsedTime = FITField(7, scale: 1000)
        package static let timerTime = FITField(8, scale: 1000)
        package static let distance = FITField(9, scale: 100)
        package static let calories = FITField(11)
        package static let averageSpeed = FITField(13, scale: 1000)
        package static let maximumSpeed = FITField(14, scale: 1000)
        package static let averageHeartRate = FITField(15)
        package static let maximumHeartRate = FITField(16)
        package static let averageCadence = FITField(17)
        package static let maximumCadence = FITField(18)
        package static let averagePower = FITField(19)
        package static let maximumPower = FITField(20)
        package static let ascent = FITField(21)
        package static let descent = FITField(22)
        package static let trigger = FITField(24)
        package static let sport = FITField(25)
        package static let subSport = FITField(39)
        package static let enhancedAverageSpeed = FITField(110, scale: 1000)
        package static let enhancedMaximumSpeed = FITField(111, scale: 1000)
    }

    /// A set of a strength workout.
    package enum Set {
        package static let global: UInt16 = 225
        package static let duration = FITField(0, scale: 1000)
        package static let repetitions = FITField(3)
        package static let weight = FITField(4, scale: 16)
        /// 0 is rest, 1 active.
        package static let type = FITField(5)
        package static let start = FITField.time(6)
        package static let category = FITField(7)
        package static let subtype = FITField(8)
        package static let index = FITField(10)
        package static let timestamp = FITField.time(254)
    }

    package enum ExerciseTitle {
        package static let global: UInt16 = 264
        package static let category = FITField(0)
        package static let name = FITField(1)
        package static let text = FITField(2)
    }

    package enum WeatherConditions {
        package static let global: UInt16 = 128
        /// 0 is the weather of the moment, others are forecasts.
        package static let report = FITField(0)
        package static let temperature = FITField(1)
        package static let condition = FITField(2)
        package static let windDirection = FITField(3)
        package static let windSpeed = FITField(4, scale: 1000)
        package static let humidity = FITField(7)
        package static let observed = FITField.time(9)
    }
}
