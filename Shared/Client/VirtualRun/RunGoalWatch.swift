import Workouts

/// Whether a device has reached the goal of its virtual run, by its own items and the pauses in `state`.
///
/// A sample counts with the time since the previous one if both are in one segment: the services count as much or more.
struct RunGoalWatch {
    private let ticket: RunTicket
    private var items: [(time: Timestamp, distance: Double)] = []
    private var segments: [Segment]
    private var active = 0.0
    private var distance = 0.0

    init(_ ticket: RunTicket) {
        self.ticket = ticket
        segments = [Segment(start: Timestamp(seconds: 0), end: nil)]
    }

    mutating func add(_ sample: Sample) {
        guard let time = sample.time, ticket.goal != nil else { return }
        items.append((time, sample[.distance] ?? 0))
        count(items.count - 1)
    }

    /// Receives the session's segments. Before, all of its time counts.
    mutating func receive(_ segments: [Segment]) {
        guard segments != self.segments, !segments.isEmpty else { return }
        self.segments = segments
        (active, distance) = (0, 0)
        for index in items.indices { count(index) }
    }

    private mutating func count(_ index: Int) {
        guard index > 0, let segment = segments.segment(containing: items[index].time),
            segment.contains(items[index - 1].time)
        else { return }
        active += items[index].time.seconds(since: items[index - 1].time)
        distance += items[index].distance
    }

    var isReached: Bool {
        switch (ticket.goal, ticket.clock) {
        case (nil, _): false
        // A centimetre more than the goal: sums of decimal fractions differ in their last digits.
        case (.distance(let meters), _): distance >= meters + 0.01
        case (.duration(let seconds), .active): active >= seconds
        case (.duration(let seconds), .gun): items.last.map { $0.time.seconds(since: ticket.gun) >= seconds } ?? false
        }
    }
}
