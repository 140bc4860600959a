extension FITActivity {
    /// How far the segments may be from the session's timer time: seconds, and a part of it.
    private static let tolerance = (seconds: 2.0, part: 0.01)

    /// The active time of the first session.
    package var activeSegments: [ClosedRange<Double>] { activeSegments(of: session) }

    /// The start of the session after this one.
    package func end(of session: Session) -> Double {
        sessions.lazy.map(\.start).filter { $0 > session.start }.min() ?? .infinity
    }

    /// The periods of the session in which the timer ran, in Unix seconds, sorted and disjoint.
    ///
    /// They follow from the timer's events, unless the session's timer time shows that the timer ran on: some watches
    /// write a stop for every rest at the wall of a pool. Times in a file are often whole seconds, and some devices
    /// write their last records after the last stop. So a record less than a second after the last segment extends it,
    /// and a later one does as far as the timer time asks for it.
    package func activeSegments(of session: Session) -> [ClosedRange<Double>] {
        var segments = timerSegments(of: session)
        var missing = 0.0
        if let timerTime = session.timerTime {
            missing = timerTime - segments.duration
            let tolerance = max(Self.tolerance.seconds, timerTime * Self.tolerance.part)
            if missing > tolerance, abs(session.elapsedTime - timerTime) < tolerance {
                segments = [session.start...session.end]
                missing = 0
            }
        }
        let last = segments[segments.count - 1]
        let limit = end(of: session)
        let times = records.lazy.map(\.time).filter { last.upperBound < $0 && $0 < limit }
        if let end = times.filter({ $0 - last.upperBound < max(1, missing + 1) }).max() {
            segments[segments.count - 1] = last.lowerBound...end
        }
        return segments
    }

    /// The periods between the timer's events.
    ///
    /// Events are sorted by time and limited to the session, because an editor may cut the session without its events. A
    /// start while the timer runs and a stop while it is stopped have no effect. A stop without an earlier event ends a
    /// segment that began with the session. A start without a later event lasts to the session's end. Pauses of zero
    /// length are ignored. Without events, or if the events leave no active time, the whole session is active.
    private func timerSegments(of session: Session) -> [ClosedRange<Double>] {
        var segments: [ClosedRange<Double>] = []
        func close(_ from: Double, _ to: Double) {
            let (start, end) = (max(from, session.start), min(to, session.end))
            guard start < end else { return }
            if let previous = segments.last, previous.upperBound == start {
                segments[segments.count - 1] = previous.lowerBound...end
            } else {
                segments.append(start...end)
            }
        }

        // The sort is stable: events of one second keep their order in the file.
        let events = timerEvents.sorted { $0.time < $1.time }
        var running: Double? = events.first?.kind == .start ? nil : session.start
        for event in events {
            if event.kind == .start {
                running = running ?? event.time
            } else if let start = running {
                close(start, event.time)
                running = nil
            }
        }
        if let start = running { close(start, session.end) }
        return segments.isEmpty ? [session.start...session.end] : segments
    }
}

extension [ClosedRange<Double>] {
    fileprivate var duration: Double { reduce(0) { $0 + $1.upperBound - $1.lowerBound } }
}
