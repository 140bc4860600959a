import Bus
import Foundation
import Testing
import Workouts

/// The payload uses HealthKit's own names.
struct HealthKitPayloadTests {
    private let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)

    private var workout: HealthKitWorkout {
        var metadata = HealthKitWorkout.Metadata(key, revision: 7, isIndoor: false)
        metadata.elevationAscended = .init(12, unit: "m")
        metadata.weatherTemperature = .init(21.5, unit: "degC")
        metadata.weatherHumidity = .init(60, unit: "%")
        metadata.averageSpeed = .init(3, unit: "m/s")
        metadata.maximumSpeed = .init(4, unit: "m/s")
        metadata.timeZone = "Europe/Berlin"
        var workout = HealthKitWorkout(
            activityType: 37, locationType: .outdoor, startDate: Timestamp(seconds: 100),
            endDate: Timestamp(seconds: 200), duration: 90,
            events: [
                .init(type: .lap, date: Timestamp(seconds: 100), duration: 50),
                .init(type: .pause, date: Timestamp(seconds: 150)), .init(type: .resume, date: Timestamp(seconds: 160)),
            ],
            quantities: [
                .init(
                    identifier: "HKQuantityTypeIdentifierHeartRate", statistic: .average, unit: "count/min", value: 140)
            ], metadata: metadata)
        workout.routeRevision = 6
        return workout
    }

    @Test func `keys and raw values are those of HealthKit`() throws {
        let text = """
            {"activityType":37,"duration":90,"endDate":200,"events":[{"date":100,"duration":50,"type":3},
            {"date":150,"type":1},{"date":160,"type":2}],"locationType":3,
            "metadata":{"HKAverageSpeed":{"unit":"m/s","value":3},"HKElevationAscended":{"unit":"m","value":12},
            "HKExternalUUID":"6f9619ff-8b86-d011-b42d-00c04fc964ff","HKIndoorWorkout":false,
            "HKMaximumSpeed":{"unit":"m/s","value":4},
            "HKSyncIdentifier":"anna/6f9619ff-8b86-d011-b42d-00c04fc964ff","HKSyncVersion":7,"HKTimeZone":"Europe/Berlin",
            "HKWeatherHumidity":{"unit":"%","value":60},"HKWeatherTemperature":{"unit":"degC","value":21.5}},
            "quantities":[{"identifier":"HKQuantityTypeIdentifierHeartRate","statistic":"average","unit":"count/min",
            "value":140}],"routeRevision":6,"startDate":100}
            """
        #expect(String(decoding: JSONCoding.encode(workout), as: UTF8.self) == text.replacing("\n", with: ""))
    }

    @Test func `a payload is read as written`() throws {
        #expect(try JSONCoding.decode(HealthKitWorkout.self, from: JSONCoding.encode(workout)) == workout)
    }
}
