import Workouts

/// The active time of a workout: its segments, and the laps that divide them.
struct ActiveTime {
    struct Stretch {
        let start: Timestamp
        let end: Timestamp
        /// Active seconds before it.
        let before: Double
    }

    /// The position of a moment.
    struct Place {
        /// Counted from 0; `nil` outside all segments.
        let segment: Int?
        /// Counted from 0.
        let lap: Int
        /// Active seconds before it.
        let activeTime: Double
    }

    /// Closed, in order and disjoint.
    let segments: [Stretch]
    private let lapStarts: [Timestamp]

    init(_ workout: WorkoutRecord) {
        var segments: [Stretch] = []
        var total = 0.0
        for segment in workout.segments {
            guard let end = segment.end, segment.start <= end, segment.start >= segments.last?.end ?? segment.start
            else { continue }
            segments.append(Stretch(start: segment.start, end: end, before: total))
            total += seconds(from: segment.start, to: end)
        }
        self.segments = segments
        lapStarts = workout.laps.map(\.startedAt)
    }

    /// A moment between two segments or laps belongs to the later one, unless the active time stops there.
    func place(_ time: Timestamp) -> Place {
        guard let index = segments.lastIndex(startingBy: time, \.start) else {
            return Place(segment: nil, lap: 0, activeTime: 0)
        }
        let segment = segments[index]
        let isInside = time <= segment.end
        let moment = min(time, segment.end)
        var lap = lapStarts.lastIndex(startingBy: moment, \.self) ?? 0
        // A lap that begins with a pause excludes the segment before it.
        if moment == segment.end, segment.start < moment, lap > 0, lapStarts[lap] == moment { lap -= 1 }
        return Place(
            segment: isInside ? index : nil, lap: lap,
            activeTime: segment.before + seconds(from: segment.start, to: moment))
    }

    /// The first active time at or after a moment; the moment itself if there is none.
    func start(from time: Timestamp) -> Timestamp {
        segments.first { $0.end > time }.map { max($0.start, time) } ?? time
    }
}

/// Exact to the microsecond within centuries, clamped beyond.
func seconds(from start: Timestamp, to end: Timestamp) -> Double {
    (Double(end.microseconds) - Double(start.microseconds)) / 1e6
}

extension Array {
    /// Binary search; the elements are in order of their starts.
    fileprivate func lastIndex(startingBy time: Timestamp, _ start: (Element) -> Timestamp) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if start(self[middle]) <= time { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : low - 1
    }
}
