import TestSupport
import Testing
import Workouts

@testable import Formats

struct ExportedWorkoutTests {
    private func points(_ series: Series, _ track: Track) throws -> [ExportedPoint] {
        let workout = try PlayedWorkout(Recording(.running)).workout
        return ExportedWorkout(workout: workout, series: series, track: track).allPoints
    }

    private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: 1_700_000_000 + seconds) }

    @Test func `rows of one moment become one point, and other rows stay separate`() throws {
        let series = Series(
            times: [time(0), time(1), time(1), time(3)],
            columns: [
                .init(quantity: .heartRate, values: [100, nil, 101, 102]),
                .init(quantity: .distance, values: [0, 2.5, nil, 5]),
            ])
        let track = Track(
            times: [time(-1), time(1), time(2)],
            columns: [
                .init(kind: .latitude, values: [50, 50.1, 50.2]), .init(kind: .longitude, values: [8, 8.1, 8.2]),
                .init(kind: .distance, values: [0, 9, 10]),
            ])
        let points = try points(series, track)
        #expect(points.map(\.time) == [-1, 0, 1, 2, 3].map(time))
        #expect(points.map { $0[.heartRate] } == [nil, 100, 101, nil, 102])
        #expect(points.map { $0[.distance] } == [nil, 0, 2.5, nil, 7.5])
        #expect(points.map(\.place?.la) == [50, nil, 50.1, 50.2, nil])
    }

    @Test func `without a measured distance the track's distance counts`() throws {
        let track = Track(times: [time(0), time(1)], columns: [.init(kind: .distance, values: [0, 3])])
        #expect(try points(Series(times: [], columns: []), track).map { $0[.distance] } == [0, 3])
    }
}
