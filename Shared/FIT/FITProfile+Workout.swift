extension FITProfile {
    package enum Session {
        package static let global: UInt16 = 18
        package static let event = FITField(0, .enumeration)
        package static let eventType = FITField(1, .enumeration)
        package static let start = FITField.time(2)
        package static let startLatitude = FITField.degrees(3)
        package static let startLongitude = FITField.degrees(4)
        package static let sport = FITField(5, .enumeration)
        package static let subSport = FITField(6, .enumeration)
        package static let elapsedTime = FITField(7, .uint32, scale: 1000)
        package static let timerTime = FITField(8, .uint32, scale: 1000)
        package static let distance = FITField(9, .uint32, scale: 100)
        /// Strides for activities with steps, crank revolutions for others.
        package static let cycles = FITField(10, .uint32)
        package static let calories = FITField(11, .uint16)
        package static let averageSpeed = FITField(14, .uint16, scale: 1000)
        package static let maximumSpeed = FITField(15, .uint16, scale: 1000)
        package static let averageHeartRate = FITField(16, .uint8)
        package static let maximumHeartRate = FITField(17, .uint8)
        package static let averageCadence = FITField(18, .uint8)
        package static let maximumCadence = FITField(19, .uint8)
        package static let averagePower = FITField(20, .uint16)
        package static let maximumPower = FITField(21, .uint16)
        package static let ascent = FITField(22, .uint16)
        package static let descent = FITField(23, .uint16)
        package static let firstLap = FITField(25, .uint16)
        package static let laps = FITField(26, .uint16)
        package static let trigger = FITField(28, .enumeration)
        /// The length of the pool.
        package static let poolLength = FITField(44, .uint16, scale: 100)
        package static let minimumHeartRate = FITField(64, .uint8)
        package static let averageFractionalCadence = FITField(92, .uint8, scale: 128)
        package static let name = FITField(110, .string)
        package static let enhancedAverageSpeed = FITField(124, .uint32, scale: 1000)
        package static let enhancedMaximumSpeed = FITField(125, .uint32, scale: 1000)
        /// The perceived exertion, ten times 0 to 10.
        package static let exertion = FITField(193, .uint8)
    }

    /// The sport of the records that follow.
    package enum Sport {
        package static let global: UInt16 = 12
        package static let sport = FITField(0, .enumeration)
        package static let subSport = FITField(1, .enumeration)
    }

    package enum Lap {
        package static let global: UInt16 = 19
        package static let event = FITField(0, .enumeration)
        package static let eventType = FITField(1, .enumeration)
        package static let start = FITField.time(2)
        package static let elapsedTime = FITField(7, .uint32, scale: 1000)
        package static let timerTime = FITField(8, .uint32, scale: 1000)
        package static let distance = FITField(9, .uint32, scale: 100)
        package static let calories = FITField(11, .uint16)
        package static let averageSpeed = FITField(13, .uint16, scale: 1000)
        package static let maximumSpeed = FITField(14, .uint16, scale: 1000)
        package static let averageHeartRate = FITField(15, .uint8)
        package static let maximumHeartRate = FITField(16, .uint8)
        package static let averageCadence = FITField(17, .uint8)
        package static let maximumCadence = FITField(18, .uint8)
        package static let averagePower = FITField(19, .uint16)
        package static let maximumPower = FITField(20, .uint16)
        package static let ascent = FITField(21, .uint16)
        package static let descent = FITField(22, .uint16)
        package static let trigger = FITField(24, .enumeration)
        package static let sport = FITField(25, .enumeration)
        package static let subSport = FITField(39, .enumeration)
        package static let averageFractionalCadence = FITField(80, .uint8, scale: 128)
        package static let enhancedAverageSpeed = FITField(110, .uint32, scale: 1000)
        package static let enhancedMaximumSpeed = FITField(111, .uint32, scale: 1000)
    }

    /// A length of a pool, or the rest after it.
    package enum Length {
        package static let global: UInt16 = 101
        package static let start = FITField.time(2)
        package static let elapsedTime = FITField(3, .uint32, scale: 1000)
        package static let strokes = FITField(5, .uint16)
        package static let averageSpeed = FITField(6, .uint16, scale: 1000)
        package static let averageCadence = FITField(9, .uint8)
        /// 0 is a rest, 1 is a length swum.
        package static let type = FITField(12, .enumeration)
    }

    /// Heart beats that a strap kept while it had no connection, on a clock of its own.
    package enum HeartRate {
        package static let global: UInt16 = 132
        /// The part of a second to add to the message's time.
        package static let fraction = FITField(0, .uint16, scale: 32_768)
        /// An array, one number for each beat.
        package static let filteredRate = FITField(6, .uint8)
        /// Seconds of the strap's clock; an array, one number for each beat.
        package static let beatTime = FITField(9, .uint32, scale: 1024)
        /// The low 12 bits of the strap's clock at each beat; two beats in three bytes.
        package static let compressedBeatTimes = FITField(10, .byte)
    }

    /// A set of a strength workout.
    package enum Set {
        package static let global: UInt16 = 225
        package static let duration = FITField(0, .uint32, scale: 1000)
        package static let repetitions = FITField(3, .uint16)
        package static let weight = FITField(4, .uint16, scale: 16)
        /// 0 is rest, 1 is active.
        package static let type = FITField(5, .uint8)
        package static let start = FITField.time(6)
        package static let category = FITField(7, .uint16)
        package static let subtype = FITField(8, .uint16)
        package static let index = FITField(10, .uint16)
        package static let timestamp = FITField.time(254)
    }

    package enum ExerciseTitle {
        package static let global: UInt16 = 264
        package static let category = FITField(0, .uint16)
        package static let name = FITField(1, .uint16)
        package static let text = FITField(2, .string)
    }

    package enum WeatherConditions {
        package static let global: UInt16 = 128
        /// 0 is current weather; other values are forecasts.
        package static let report = FITField(0, .enumeration)
        package static let temperature = FITField(1, .sint8)
        package static let condition = FITField(2, .enumeration)
        package static let windDirection = FITField(3, .uint16)
        package static let windSpeed = FITField(4, .uint16, scale: 1000)
        package static let apparentTemperature = FITField(6, .sint8)
        /// Percent.
        package static let humidity = FITField(7, .uint8)
        package static let observed = FITField.time(9)
    }
}
