/// A location of one source that may count: it has a time within a segment, a place and an accuracy that is not too bad.
struct Fix: Sendable {
    /// Metres from which on a position is too inaccurate.
    private static let accuracyLimit = 50.0

    let time: Int64
    let latitude: Double
    let longitude: Double
    /// `nan` when not measured, as the others below.
    let altitude: Double
    let accuracy: Double
    let verticalAccuracy: Double
    let speed: Double
    /// The start of its segment.
    let segment: Int64
    /// Its place in its stream.
    let number: Int32
    /// Whether no line leads to it: a pause lies before it, or a distance that nobody covers.
    var startsLine = false

    /// Returns `nil` for a location that never counts.
    init?(_ location: Location, number: Int, segments: [Segment]) {
        guard let time = location.time, let latitude = location.latitude, let longitude = location.longitude,
            let segment = segments.segment(containing: time)
        else { return nil }
        let accuracy = location.horizontalAccuracy ?? .nan
        guard accuracy.isNaN || (0..<Self.accuracyLimit).contains(accuracy) else { return nil }
        self.time = time.microseconds
        self.latitude = latitude
        self.longitude = longitude
        self.accuracy = accuracy
        self.number = Int32(truncatingIfNeeded: number)
        self.segment = segment.start.microseconds
        altitude = location.altitude ?? .nan
        verticalAccuracy = location.verticalAccuracy ?? .nan
        speed = location.speed ?? .nan
    }
}
