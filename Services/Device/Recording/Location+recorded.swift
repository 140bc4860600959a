import Workouts

extension Location {
    /// A recorded position with what is known of it; `nil` without a position.
    init?(
        time: Timestamp, latitude: Double?, longitude: Double?, altitude: Double?, accuracy: Double? = nil,
        speed: Double?, course: Double? = nil
    ) {
        self.init(time: time)
        set(.latitude, latitude)
        set(.longitude, longitude)
        guard self.latitude != nil, self.longitude != nil else { return nil }
        set(.altitude, altitude)
        set(.horizontalAccuracy, accuracy)
        set(.speed, speed)
        set(.course, course)
    }
}
