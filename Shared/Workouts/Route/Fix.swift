/// A location of one source that may count: it has a time in a segment, and a position of sufficient accuracy or only an
/// altitude.
struct Fix: Sendable {
    let time: Int64
    /// `nan` without a position.
    let latitude: Double
    let longitude: Double
    /// `nan` if not measured; so are the fields below.
    let altitude: Double
    let verticalAccuracy: Double
    let accuracy: Double
    let speed: Double
    /// The start of its segment.
    let segment: Int64
    /// The number of its item in the stream.
    let number: Int32
    /// Whether a new line starts here: after a pause or an impossible distance.
    var startsLine = false

    /// Returns `nil` for a location that cannot count.
    init?(_ location: Location, number: Int, segments: [Segment]) {
        guard let time = location.time, let segment = segments.segment(containing: time) else { return nil }
        if let latitude = location.latitude, let longitude = location.longitude {
            guard location.isAccurate else { return nil }
            (self.latitude, self.longitude) = (latitude, longitude)
        } else {
            guard location.altitude != nil else { return nil }
            (latitude, longitude) = (.nan, .nan)
        }
        self.time = time.microseconds
        accuracy = location.horizontalAccuracy ?? .nan
        self.number = Int32(truncatingIfNeeded: number)
        self.segment = segment.start.microseconds
        altitude = location.altitude ?? .nan
        verticalAccuracy = location.verticalAccuracy ?? .nan
        speed = location.speed ?? .nan
    }

    var hasPosition: Bool { !latitude.isNaN }
}
