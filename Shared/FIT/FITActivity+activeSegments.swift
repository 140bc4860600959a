extension FITActivity {
    /// The active time of the first session.
    package var activeSegments: [ClosedRange<Double>] { activeSegments(of: session) }

    /// The periods of the session in which the timer ran, in Unix seconds, sorted and disjoint.
    ///
    /// Timer events are sorted by time and limited to the session, because an editor may cut the session without its
    /// events. A start while the timer runs and a stop while it is stopped have no effect. A stop without an earlier
    /// event ends a segment that began with the session. A start without a later event lasts to the session's end.
    /// Pauses of zero length are ignored. Without events, or if the events leave no active time, the whole session is
    /// active.
    package func activeSegments(of session: Session) -> [ClosedRange<Double>] {
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
