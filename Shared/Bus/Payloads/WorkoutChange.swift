package import Workouts

/// One entry of the changes since a cursor: the workout as it is now, or that it is gone.
package enum WorkoutChange: Hashable, Sendable {
    case workout(WorkoutOverview)
    case deleted(SessionID, changed: Int64)

    package var session: SessionID {
        switch self {
        case .workout(let workout): workout.session
        case .deleted(let session, _): session
        }
    }

    /// The entry as viewers may read it.
    package var forViewers: WorkoutChange {
        if case .workout(let workout) = self { .workout(workout.forViewers) } else { self }
    }
}

extension WorkoutChange: Codable {
    private enum Key: String, CodingKey {
        case session, deleted, changed
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        guard try container.decodeIfPresent(Bool.self, forKey: .deleted) == true else {
            self = .workout(try WorkoutOverview(from: decoder))
            return
        }
        self = .deleted(
            try container.decode(SessionID.self, forKey: .session),
            changed: try container.decode(Int64.self, forKey: .changed))
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .workout(let workout): try workout.encode(to: encoder)
        case .deleted(let session, let changed):
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(session, forKey: .session)
            try container.encode(true, forKey: .deleted)
            try container.encode(changed, forKey: .changed)
        }
    }
}

/// The changes that a reader has: a number, or an object between two pages.
package struct ChangeCursor: Hashable, Sendable {
    /// The reader has the changes up to this number.
    package let changed: Int64
    /// It knows of every deletion up to this number: the last change when it began at the start, else `changed`.
    package let since: Int64
    /// The last change when it read its page. Workouts that had changed by then were not in it under older numbers.
    package let latest: Int64

    package init(_ changed: Int64) {
        self.init(changed, since: changed, latest: changed)
    }

    package init(_ changed: Int64, since: Int64, latest: Int64) {
        (self.changed, self.since, self.latest) = (changed, since, latest)
    }
}

extension ChangeCursor: Codable {
    private enum Key: String, CodingKey {
        case changed, since, latest
    }

    package init(from decoder: any Decoder) throws {
        if let number = try? decoder.singleValueContainer().decode(Double.self) {
            guard let changed = Int64(exactly: number) else {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "not a whole number"))
            }
            self.init(changed)
        } else {
            let container = try decoder.container(keyedBy: Key.self)
            self.init(
                try container.decode(Int64.self, forKey: .changed),
                since: try container.decode(Int64.self, forKey: .since),
                latest: try container.decode(Int64.self, forKey: .latest))
        }
        guard [changed, since, latest].allSatisfy(SeenRevision.range.contains) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "0, or next of the previous reply"))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        guard self != ChangeCursor(changed) else {
            var container = encoder.singleValueContainer()
            return try container.encode(changed)
        }
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(changed, forKey: .changed)
        try container.encode(since, forKey: .since)
        try container.encode(latest, forKey: .latest)
    }
}

/// `next` of a reply: where the next page of the history begins, or the cursor for later changes.
package enum HistoryCursor: Hashable, Sendable {
    case before(HistoryPlace)
    case changedAfter(ChangeCursor)

    package var place: HistoryPlace? { if case .before(let place) = self { place } else { nil } }

    package var changedAfter: ChangeCursor? { if case .changedAfter(let cursor) = self { cursor } else { nil } }
}

extension HistoryCursor: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let place = try? container.decode(HistoryPlace.self) {
            self = .before(place)
        } else {
            self = .changedAfter(try container.decode(ChangeCursor.self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .before(let place): try container.encode(place)
        case .changedAfter(let cursor): try container.encode(cursor)
        }
    }
}
