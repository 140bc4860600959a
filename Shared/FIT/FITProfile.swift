/// The messages and fields that Pacebus uses. Units: Unix seconds, seconds, metres, m/s, degrees, bpm, W, kcal, °C, kg.
/// Cadence is in revolutions a minute; for running and walking in strides a minute (half the steps).
package enum FITProfile {
    /// Unix seconds of FIT's epoch, 31 December 1989.
    package static let unixEpoch = 631_065_600.0

    /// The time of every timed message except `set`.
    package static let timestamp = FITField.time(253)
    /// The position of a lap, session or title among its kind.
    package static let messageIndex = FITField(254, .uint16)

    package enum FileID {
        package static let global: UInt16 = 0
        package static let type = FITField(0, .enumeration)
        package static let manufacturer = FITField(1, .uint16)
        package static let product = FITField(2, .uint16)
        package static let serialNumber = FITField(3, .uint32z)
        package static let created = FITField.time(4)
        package static let productName = FITField(8, .string)
    }

    package enum FileCreator {
        package static let global: UInt16 = 49
        package static let software = FITField(0, .uint16)
    }

    package enum DeviceInfo {
        package static let global: UInt16 = 23
        package static let index = FITField(0, .uint8)
        package static let manufacturer = FITField(2, .uint16)
        package static let serialNumber = FITField(3, .uint32z)
        package static let product = FITField(4, .uint16)
        package static let software = FITField(5, .uint16, scale: 100)
    }

    package enum Record {
        package static let global: UInt16 = 20
        package static let latitude = FITField.degrees(0)
        package static let longitude = FITField.degrees(1)
        package static let altitude = FITField(2, .uint16, scale: 5, offset: 500)
        package static let heartRate = FITField(3, .uint8)
        package static let cadence = FITField(4, .uint8)
        package static let distance = FITField(5, .uint32, scale: 100)
        package static let speed = FITField(6, .uint16, scale: 1000)
        package static let power = FITField(7, .uint16)
        package static let temperature = FITField(13, .sint8)
        /// Since the start of the recording: strides for activities with steps, crank revolutions for others.
        package static let cycles = FITField(19, .uint32)
        package static let gpsAccuracy = FITField(31, .uint8)
        /// Kilocalories since the start of the recording.
        package static let calories = FITField(33, .uint16)
        package static let fractionalCadence = FITField(53, .uint8, scale: 128)
        package static let enhancedSpeed = FITField(73, .uint32, scale: 1000)
        package static let enhancedAltitude = FITField(78, .uint32, scale: 5, offset: 500)
    }

    package enum Event {
        package static let global: UInt16 = 21
        /// 0 is the timer.
        package static let event = FITField(0, .enumeration)
        package static let type = FITField(1, .enumeration)
        package static let data = FITField(3, .uint32)
        package static let group = FITField(4, .uint8)
    }

    package enum Activity {
        package static let global: UInt16 = 34
        package static let timerTime = FITField(0, .uint32, scale: 1000)
        package static let sessions = FITField(1, .uint16)
        package static let type = FITField(2, .enumeration)
        package static let event = FITField(3, .enumeration)
        package static let eventType = FITField(4, .enumeration)
        /// Local time, encoded as if it were UTC.
        package static let localTimestamp = FITField.time(5)
    }

    package enum DeveloperDataID {
        package static let global: UInt16 = 207
        package static let developer = FITField(3, .uint8)
    }

    package enum FieldDescription {
        package static let global: UInt16 = 206
        package static let developer = FITField(0, .uint8)
        package static let number = FITField(1, .uint8)
        package static let type = FITField(2, .uint8)
        package static let name = FITField(3, .string)
        package static let units = FITField(8, .string)
    }
}
