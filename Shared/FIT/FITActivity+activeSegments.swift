extension FITActivity {
    /// The active time of the first session.
    package var activeSegments: [ClosedRange<Double>] { activeSegments(of: session) }

    /// When the timer ran during the session, in order and apart from one another, in Unix seconds.
    ///
    /// The timer events are taken in the order of time and cut to [start, end] of the session, since an editor may
    /// have cut the session and not the events. A start while the timer runs and a stop while it stands change
    /// nothing; a stop with nothing before it ends a segment that began with the session; a start with nothing after
    /// it lasts to the session's end. A pause of no length is none. Events that leave no active time at all tell
    /// nothing, and the whole session counts, as it does without events.
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

        // Sorting is stable: events of one second stay in the order of the file.
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
