/// When a session was in use: the times of its commands and of its items, reduced to the silences between them.
///
/// It is the same for every order in which they arrive.
struct SessionUse: Codable, Equatable, Sendable {
    /// Times without commands.
    private var commands = Silences()
    /// Times without items of any device.
    private(set) var items = Silences()

    init() {}

    init(_ command: Timestamp) {
        note(command)
    }

    /// A command happened.
    mutating func note(_ command: Timestamp) {
        let command = Silences([.init(from: nil, to: command), .init(from: command, to: nil)])
        commands = commands.intersection(command).bounded
    }

    /// A service reports its silences.
    mutating func note(_ silences: Silences) {
        items = items.intersection(silences).bounded
    }

    /// The time of the newest item.
    var newest: Timestamp? { items.gaps.last?.from }

    /// The parts of segments in which the session was in use: a segment that holds items ends at the last item or
    /// command before a silence, and begins again at the first after it.
    ///
    /// - Parameter limit: the maximum number of segments besides the last one. Silences beyond it stay in the segments.
    func withoutSilences(_ segments: [Segment], limit: Int) -> [Segment] {
        guard segments.contains(where: isLong), !items.gaps.isEmpty else { return segments }
        let silences = items.intersection(commands)
        var room = max(0, limit - segments.count)
        return segments.flatMap { segment -> [Segment] in
            guard isLong(segment), hasItems(segment) else { return [segment] }
            var parts: [Segment] = []
            var start = segment.start
            for gap in silences.gaps where room > 0 {
                let from = max(gap.from ?? segment.start, segment.start)
                // An open segment continues while its last silence is not over.
                guard let to = [gap.to, segment.end].compactMap(\.self).min(),
                    to.seconds(since: from) > Silences.minimum
                else { continue }
                parts.append(Segment(start: start, end: from))
                start = to
                room -= 1
            }
            parts.append(Segment(start: start, end: segment.end))
            return parts.filter { $0.start != $0.end || isItem($0.start) }
        }
    }

    private func isLong(_ segment: Segment) -> Bool {
        let newest = [items, commands].compactMap { $0.gaps.last?.from }.max()
        guard let end = segment.end ?? newest else { return false }
        return end.seconds(since: segment.start) > Silences.minimum
    }

    private func hasItems(_ segment: Segment) -> Bool {
        !items.gaps.contains { gap in
            let isBefore = gap.from.map { $0 < segment.start } ?? true
            guard let to = gap.to else { return isBefore }
            return isBefore && (segment.end.map { to > $0 } ?? false)
        }
    }

    private func isItem(_ time: Timestamp) -> Bool {
        !items.gaps.contains { gap in
            (gap.from.map { $0 < time } ?? true) && (gap.to.map { $0 > time } ?? true)
        }
    }
}

/// What the end of a session without an `end` follows from, besides its commands and reported items.
struct OpenEnd: Codable, Equatable, Sendable {
    /// The time of the newest item known when the session was saved.
    var newest: Timestamp?
    /// The time of the discard: without items, the only evidence of when the session ended.
    var discardedAt: Timestamp?
}

extension Session {
    /// A service reports its silences.
    package mutating func receive(_ silences: Silences) {
        presence?.note(silences)
        if !silences.gaps.isEmpty { receiveFirstItem() }
    }

    /// The last segment of a session without an `end` ends with its last item, but not before the last lap or completed
    /// set, which prove that the session was still active.
    mutating func endWithItems() {
        guard let openEnd, let since = closedSegments.last?.start else { return }
        let items = [openEnd.newest, presence?.newest, hasItems ? nil : openEnd.discardedAt]
        let actions = [laps.last, planned?.progress.latest ?? plannedUntil]
        let endedAt = (items + actions).compactMap(\.self).reduce(since, max)
        closedSegments[closedSegments.count - 1].end = endedAt
        switch status {
        case .saving: status = .saving(endedAt: endedAt)
        case .completed: status = .completed(endedAt: endedAt)
        case .unfinished, .canceled, .deleted: break
        }
    }
}

extension Session {
    /// Whether two states of a session look alike to readers: they may differ in when commands and items came.
    package func looks(like other: Session) -> Bool {
        var other = other
        let segments = other.segments
        other.presence = presence
        return self == other && self.segments == segments
    }
}
