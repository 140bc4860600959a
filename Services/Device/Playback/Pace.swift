import Workouts

/// When the steps of a playback are due.
struct Pace: Equatable {
    /// When playing began.
    let beganAt: Timestamp
    /// The time of the first step.
    let origin: Timestamp
    /// Times real time; 0 is as fast as the receiver acknowledges.
    let speed: Double

    /// Whether the acknowledgements set the pace.
    var followsReceiver: Bool { speed == 0 }

    func isDue(_ time: Timestamp, _ now: Timestamp) -> Bool {
        followsReceiver || time.seconds(since: origin) <= now.seconds(since: beganAt) * speed
    }
}
