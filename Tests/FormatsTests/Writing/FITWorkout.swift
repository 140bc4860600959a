import FIT
import Foundation
import TestSupport
import Workouts

@testable import Formats

/// The measurements of a workout, and the record that the services compute from them.
struct FITWorkout {
    var activity = Activity.running
    var environment = Workouts.Environment.outdoor
    var segments: [Segment] = []
    /// The end, if not that of the last segment.
    var endedAt: Timestamp?
    var laps: [Timestamp] = []
    var samples: [Sample] = []
    var locations: [Location] = []

    /// - Parameter revise: changes the record.
    func exported(revise: (inout WorkoutRecord) -> Void = { _ in }) -> ExportedWorkout {
        let device = Device("watch-3f9a")!
        let start = segments.first?.start ?? Timestamp(seconds: 1_700_000_000)
        let session = Session(
            key: SessionKey(User("anna")!, SessionID("0b7ac6a5-64bd-4e2d-8f12-0d3f5a1c9e77")!),
            start: SessionStart(activity: activity, environment: environment, countdown: 0), at: start, now: start)
        let items = CountedItems(streams: [device: samples], segments: segments)
        let counted = CountedLocations(
            streams: [device: locations], segments: segments, activity: activity, environment: environment)
        let route = RouteInput(track: Track(counted), totals: counted.summary())
        var record = WorkoutRecord(
            session,
            metrics: MetricsReport(
                revision: 1, state: 1, next: [StreamName(.samples, device): samples.count], chunks: 1,
                totals: items.summary(route: route, laps: laps, units: .metric, activity: activity)),
            route: RouteReport(revision: 1, state: 1, next: [:], chunks: 1, totals: route.totals),
            isComplete: true, revision: 1)
        record.segments = segments
        record.activeDuration = segments.activeDuration()
        record.startedAt = start
        let end = endedAt ?? segments.last?.end ?? start
        record.endedAt = end
        record.elapsedDuration = end.seconds(since: start)
        revise(&record)
        return ExportedWorkout(workout: record, series: Series(items), track: route.track)
    }
}

extension FITWorkout {
    /// The items that a device sends of a recording.
    init(_ recording: Recording) {
        activity = recording.activity
        environment =
            recording.environment ?? (recording.locations.isEmpty ? activity.defaultEnvironment : .outdoor)
        segments = recording.segments.map { Segment(start: $0.lowerBound, end: $0.upperBound) }
        endedAt = recording.steps.last?.at
        samples = recording.samples
        locations = recording.locations
    }

    /// The items that a device sends of an exported file.
    init(replaying bytes: [UInt8]) throws {
        self.init(Recording(try FITActivity(try FITFile(bytes))))
    }
}

extension FITWorkout {
    static let quantities: [Quantity] = [.heartRate, .distance, .speed, .cadence, .power, .temperature, .steps]

    /// Samples at each `interval` from the start to the last segment's end, pauses included. Segments are in seconds
    /// since `start`.
    static func invented(
        _ activity: Activity = .running, _ environment: Workouts.Environment = .outdoor, start: Double = 1_700_000_000,
        segments: [ClosedRange<Double>], interval: Double = 1, quantities: [Quantity] = quantities,
        withLocations: Bool = true
    ) -> FITWorkout {
        var workout = FITWorkout(activity: activity, environment: environment)
        let begin = Timestamp(seconds: start)
        workout.segments = segments.map { Segment(start: begin + $0.lowerBound, end: begin + $0.upperBound) }
        var way = 0.0
        for offset in stride(from: 0, through: segments.last!.upperBound, by: interval) {
            let wave = sin(offset / 30)
            let values: [Quantity: Double] = [
                .heartRate: (140 + 20 * wave).rounded(), .distance: (300 + 50 * wave).rounded() / 100 * interval,
                .speed: (300 + 50 * wave).rounded() / 100, .cadence: 170 + (10 * wave).rounded(),
                .power: (200 + 80 * wave).rounded(), .temperature: (12 + 3 * wave).rounded(),
                .steps: interval * 3, .activeEnergy: interval / 5,
            ]
            var sample = Sample(time: begin + offset)
            for quantity in quantities { sample[quantity] = values[quantity] }
            workout.samples.append(sample)
            way += 3 * interval
            guard withLocations else { continue }
            var location = Location(time: begin + offset, latitude: 52 + way / 111_195, longitude: 13)
            location[.altitude] = 50 + (10 * wave).rounded()
            location[.horizontalAccuracy] = 5
            workout.locations.append(location)
        }
        return workout
    }
}
