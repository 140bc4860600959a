import FIT
import Foundation
import Workouts

extension FITExport {
    /// A lap, or the whole workout.
    struct Lap {
        let start: Double
        let end: Double
        /// At least the seconds between both, so that all records are inside.
        let elapsedTime: Double
        let timerTime: Double
        let distance: Double?
        let activeEnergy: Double?
        let averageHeartRate: Double?
        let maximumHeartRate: Double?
        let averageSpeed: Double?
        /// Of steps or turns, as ``MetricsSummary`` has it.
        let averageCadence: Double?
        let averagePower: Double?
        let ascent: Double?

        fileprivate init(_ lap: MetricsSummary.Lap, _ clock: Clock) {
            start = clock[lap.startedAt]
            end = clock[lap.endedAt]
            elapsedTime = max(end - start, lap.endedAt.seconds - lap.startedAt.seconds)
            timerTime = lap.duration
            distance = lap.distance
            activeEnergy = lap.activeEnergy
            averageHeartRate = lap.averageHeartRate
            maximumHeartRate = lap.maximumHeartRate
            averageSpeed = lap.duration > 0 ? lap.distance.map { $0 / lap.duration } : nil
            averageCadence = lap.averageCadence
            averagePower = lap.averagePower
            ascent = lap.ascent
        }

        fileprivate init(_ workout: WorkoutRecord, _ clock: Clock) {
            start = clock.start
            end = clock.end
            elapsedTime = max(end - start, workout.elapsedDuration)
            timerTime = workout.activeDuration
            distance = workout.distance
            activeEnergy = workout.activeEnergy
            averageHeartRate = workout.averageHeartRate
            maximumHeartRate = workout.maximumHeartRate
            averageSpeed = workout.averageSpeed
            averageCadence = workout.averageCadence
            averagePower = workout.averagePower
            ascent = workout.ascent
        }
    }

    /// The workout's laps; without any, one lap over the whole workout.
    var laps: [Lap] { workout.laps.isEmpty ? [Lap(workout, clock)] : workout.laps.map { Lap($0, clock) } }

    mutating func addLap(_ lap: Lap, index: Int) {
        typealias Field = FITProfile.Lap
        let isLast = index + 1 >= workout.laps.count
        let cadence = workout.activity.cadenceInFiles(lap.averageCadence).map(Turns.init)
        file.addMessage(
            Field.global,
            [
                .init(FITProfile.timestamp, lap.end), .init(FITProfile.messageIndex, index),
                .init(Field.event, FITCode.lap), .init(Field.eventType, FITCode.stop), .init(Field.start, lap.start),
                .init(Field.elapsedTime, lap.elapsedTime), .init(Field.timerTime, lap.timerTime),
                .init(Field.distance, lap.distance), .init(Field.calories, lap.activeEnergy),
                .init(Field.averageHeartRate, lap.averageHeartRate),
                .init(Field.maximumHeartRate, lap.maximumHeartRate), .init(Field.averageCadence, cadence?.whole),
                .init(Field.averageFractionalCadence, cadence?.fraction), .init(Field.averagePower, lap.averagePower),
                .init(Field.enhancedAverageSpeed, lap.averageSpeed), .init(Field.ascent, lap.ascent),
                .init(Field.trigger, isLast ? FITCode.sessionEnd : FITCode.manual),
                .init(Field.sport, workout.activity.fit.sport), .init(Field.subSport, subSport),
            ])
    }

    mutating func addSession() {
        typealias Field = FITProfile.Session
        let whole = Lap(workout, clock)
        let first = exported.survey.firstOnEarth
        let cadence = workout.activity.cadenceInFiles(whole.averageCadence).map(Turns.init)
        file.addMessage(
            Field.global,
            [
                .init(FITProfile.timestamp, whole.end), .init(FITProfile.messageIndex, 0),
                .init(Field.event, FITCode.session), .init(Field.eventType, FITCode.stop),
                .init(Field.start, whole.start), .init(Field.startLatitude, first?.latitude),
                .init(Field.startLongitude, first?.longitude), .init(Field.sport, workout.activity.fit.sport),
                .init(Field.subSport, subSport), .init(Field.name, workout.name),
                .init(Field.elapsedTime, whole.elapsedTime), .init(Field.timerTime, whole.timerTime),
                .init(Field.distance, whole.distance), .init(Field.calories, whole.activeEnergy),
                .init(Field.cycles, workout.activity.countsStrides ? workout.steps.map { $0 / 2 } : nil),
                .init(Field.averageHeartRate, whole.averageHeartRate),
                .init(Field.maximumHeartRate, whole.maximumHeartRate), .init(Field.averageCadence, cadence?.whole),
                .init(Field.averageFractionalCadence, cadence?.fraction),
                .init(Field.averagePower, whole.averagePower), .init(Field.maximumPower, workout.maximumPower),
                .init(Field.enhancedAverageSpeed, whole.averageSpeed),
                .init(Field.enhancedMaximumSpeed, workout.maximumSpeed), .init(Field.ascent, whole.ascent),
                .init(Field.descent, workout.descent), .init(Field.firstLap, 0), .init(Field.laps, laps.count),
                .init(Field.trigger, 0), .init(Field.exertion, workout.exertion.map { 10 * Double($0) }),
            ])
    }

    mutating func addActivity() {
        typealias Field = FITProfile.Activity
        file.addMessage(
            Field.global,
            [
                .init(FITProfile.timestamp, clock.end), .init(Field.timerTime, workout.activeDuration),
                .init(Field.sessions, 1), .init(Field.type, 0), .init(Field.event, FITCode.activity),
                .init(Field.eventType, FITCode.stop), .init(Field.localTimestamp, localEnd),
            ])
    }

    private var subSport: Int { workout.activity.fit.subSport(workout.environment) }

    /// The end in local time; `nil` if the time zone is unknown.
    private var localEnd: Double? {
        guard let zone = workout.timeZone.flatMap({ TimeZone(identifier: $0) }) else { return nil }
        return clock.end + Double(zone.secondsFromGMT(for: Date(timeIntervalSince1970: clock.end)))
    }
}
