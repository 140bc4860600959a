package import Workouts

/// The input of all formats: a finished workout with its time series and its track.
///
/// Rows are read chunk by chunk in each pass over the points, so that memory does not grow with the workout.
package struct ExportedWorkout: Sendable {
    package let workout: WorkoutRecord
    let series: ChunkedRows<Series>
    let track: ChunkedRows<Track>
    let survey: PointSurvey

    /// - Throws: what reading a chunk throws.
    package init(workout: WorkoutRecord, series: ChunkedRows<Series>, track: ChunkedRows<Track>) throws {
        self.workout = workout
        self.series = series
        self.track = track
        survey = try PointSurvey(workout, series, track)
    }

    /// A pass over the measurements by time: each moment of the series and of the track, without resampling.
    var points: ExportedPoints { ExportedPoints(series, track, isDistanceMeasured: survey.isDistanceMeasured) }
}

/// The rows of a workout in chunks, which are read when they are needed.
package struct ChunkedRows<Rows: Sendable>: Sendable {
    let count: Int
    let read: @Sendable (_ number: Int) throws -> Rows

    /// - Parameter read: returns the same rows each time.
    package init(count: Int, read: @escaping @Sendable (_ number: Int) throws -> Rows) {
        self.count = count
        self.read = read
    }
}

/// The measurements of one moment. Values that were not measured are absent.
struct ExportedPoint: Equatable, Sendable {
    let time: Timestamp
    var place: Place?
    /// Metres.
    var altitude: Double?
    /// Degrees.
    var course: Double?
    /// The accuracy of the place in metres.
    var horizontalAccuracy: Double?
    /// The distance is in metres since the session's start, without pauses. Other deltas count from the previous point
    /// with a value.
    var values = Sample()

    init(time: Timestamp) {
        self.time = time
    }

    subscript(quantity: Quantity) -> Double? {
        get { values[quantity] }
        set { values[quantity] = newValue }
    }

    /// Adds measurements of another source at the same moment that this point lacks.
    mutating func fill(from other: ExportedPoint) {
        place = place ?? other.place
        altitude = altitude ?? other.altitude
        course = course ?? other.course
        horizontalAccuracy = horizontalAccuracy ?? other.horizontalAccuracy
        for quantity in other.values.quantities where values[quantity] == nil {
            values[all: quantity] = other.values[all: quantity]
        }
    }
}
