/// A recorded activity from a FIT file. Sessions, laps, records and timer events are in file order. Devices write them
/// sorted by time; editors may not. Times are Unix seconds.
package struct FITActivity: Sendable {
    /// The sessions of the file, at least one. A triathlon has one per sport.
    package let sessions: [Session]
    package let laps: [Lap]
    package let records: [Record]
    package let timerEvents: [TimerEvent]
    package let lengths: [Length]
    /// The beats of a strap, sorted by time.
    package let heartRates: [HeartRate]

    /// The first session.
    package var session: Session { sessions[0] }

    /// Skips messages without a time. Throws `noSession` if no session has a start time. The records before a cut are a
    /// session too.
    package init(_ file: FITFile) throws(FITError) {
        let messages = file.messages + [file.openSession].compactMap(\.self)
        func all<Part>(_ global: UInt16, _ part: (FITMessage) -> Part?) -> [Part] {
            messages.lazy.filter { $0.global == global }.compactMap(part)
        }
        sessions = all(FITProfile.Session.global, Session.init)
        laps = all(FITProfile.Lap.global, Lap.init)
        let developerFields = FITDeveloperFields(file.messages)
        records = all(FITProfile.Record.global) { Record($0, developerFields) }
        timerEvents = all(FITProfile.Event.global, TimerEvent.init)
        lengths = all(FITProfile.Length.global, Length.init)
        heartRates = HeartRate.all(in: file.messages)
        guard !sessions.isEmpty else { throw file.cut ?? .noSession }
    }
}

extension FITActivity {
    /// The measurements of one moment. Absent values are not measured.
    package struct Record: Equatable, Sendable {
        package let time: Double
        /// Degrees, WGS 84.
        package let latitude: Double?
        package let longitude: Double?
        /// Metres.
        package let altitude: Double?
        /// Beats a minute.
        package let heartRate: Double?
        /// Revolutions a minute; for running and walking, strides a minute (half the steps). Includes the fraction.
        package let cadence: Double?
        /// Metres since the start of the recording.
        package let distance: Double?
        /// Metres a second.
        package let speed: Double?
        /// Watts.
        package let power: Double?
        /// °C.
        package let temperature: Double?
        /// The horizontal accuracy in metres.
        package let gpsAccuracy: Double?
        /// Revolutions since the start of the recording; strides for running and walking.
        package let cycles: Double?
        /// Kilocalories since the start of the recording.
        package let calories: Double?

        /// The numbers of developer fields by name.
        package let developer: [String: [Double]]
        private let message: FITMessage

        init?(_ message: FITMessage, _ developerFields: FITDeveloperFields) {
            typealias Field = FITProfile.Record
            guard let time = message.timestamp else { return nil }
            self.time = time
            latitude = message.number(Field.latitude)
            longitude = message.number(Field.longitude)
            altitude = message.number(Field.enhancedAltitude) ?? message.number(Field.altitude)
            heartRate = message.number(Field.heartRate)
            cadence = message.number(Field.cadence).map { $0 + (message.number(Field.fractionalCadence) ?? 0) }
            distance = message.number(Field.distance)
            speed = message.number(Field.enhancedSpeed) ?? message.number(Field.speed)
            power = message.number(Field.power)
            temperature = message.number(Field.temperature)
            gpsAccuracy = message.number(Field.gpsAccuracy)
            cycles = message.number(Field.cycles)
            calories = message.number(Field.calories)
            developer = developerFields.values(of: message)
            self.message = message
        }

        /// The value of any other field of the profile, in its unit.
        package func number(_ field: FITField) -> Double? { message.number(field) }
    }

    /// A start or stop of the device's timer.
    package struct TimerEvent: Equatable, Sendable {
        /// Raw values are those of FIT's event types.
        package enum Kind: Int, Sendable {
            case start = 0
            case stop = 1
            case stopAll = 4
            case stopDisable = 8
            case stopDisableAll = 9
        }

        package let time: Double
        package let kind: Kind

        init?(_ message: FITMessage) {
            guard message.integer(FITProfile.Event.event) == 0, let time = message.timestamp,
                let kind = message.integer(FITProfile.Event.type).flatMap(Kind.init)
            else { return nil }
            self.time = time
            self.kind = kind
        }
    }
}
