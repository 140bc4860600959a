package import Workouts

/// A `workouts` request: a page of the history, or the changes since a cursor.
package enum HistoryRequest: Hashable, Sendable {
    case page(HistoryQuery)
    /// The changes and deletions after a cursor, oldest first; from 0 all workouts.
    case changes(after: ChangeCursor)
}

extension HistoryRequest: Codable {
    private enum Key: String, CodingKey, CaseIterable {
        case changedAfter, before, from, to, limit
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        guard let cursor = try container.decodeIfPresent(ChangeCursor.self, forKey: .changedAfter) else {
            self = .page(try HistoryQuery(from: decoder))
            return
        }
        guard Set(container.allKeys) == [.changedAfter] else {
            throw DecodingError.dataCorruptedError(
                forKey: .changedAfter, in: container,
                debugDescription: "not together with before, from, to or limit; changes come at most 100 at a time")
        }
        self = .changes(after: cursor)
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .page(let query): try query.encode(to: encoder)
        case .changes(let cursor):
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(cursor, forKey: .changedAfter)
        }
    }
}

/// The part of a user's history that a request asks for, newest first.
package struct HistoryQuery: Hashable, Sendable {
    package static let limit = 100

    /// Only workouts before this position: `next` of the previous page.
    package var before: HistoryPlace?
    /// Only workouts that began at this time or later.
    package var from: Timestamp?
    /// Only workouts that began before this time.
    package var to: Timestamp?
    /// The maximum number of workouts.
    package var limit: Int

    package init(before: HistoryPlace? = nil, from: Timestamp? = nil, to: Timestamp? = nil, limit: Int = 20) {
        self.before = before
        self.from = from
        self.to = to
        self.limit = limit
    }
}

extension HistoryQuery: Codable {
    private enum Key: String, CodingKey {
        case before, from, to, limit
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        before = try container.number(HistoryPlace.self, forKey: .before)
        from = try container.number(Timestamp.self, forKey: .from)
        to = try container.number(Timestamp.self, forKey: .to)
        limit = try container.number(Int.self, forKey: .limit) ?? 20
        guard (1...Self.limit).contains(limit) else {
            throw DecodingError.dataCorruptedError(
                forKey: .limit, in: container, debugDescription: "1 to \(Self.limit)")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(before, forKey: .before)
        try container.encodeIfPresent(from, forKey: .from)
        try container.encodeIfPresent(to, forKey: .to)
        try container.encode(limit, forKey: .limit)
    }
}

/// A request of a user who may view another one, on `u/{user}/viewers/{viewer}/request`.
package struct ViewerRequest: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        /// A part of the viewed user's history.
        case workouts(HistoryQuery)
        /// The changes of the viewed user's workouts after a cursor.
        case workoutChanges(after: ChangeCursor)
        /// The record, the series and the track of a finished workout, published again.
        case chunks(SessionID)
    }

    package var id: CommandID
    /// The reader of the reply, on the viewer's `replies`; `nil` if nothing reads it.
    package var client: Client?
    package var action: Action

    package init(id: CommandID, client: Client?, action: Action) {
        self.id = id
        self.client = client
        self.action = action
    }
}

extension ViewerRequest: Codable {
    private enum Key: String, CodingKey {
        case id, client, type, session
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(CommandID.self, forKey: .id)
        client = try container.decodeIfPresent(Client.self, forKey: .client)
        switch try container.decode(String.self, forKey: .type) {
        case "workouts":
            switch try HistoryRequest(from: decoder) {
            case .page(let query): action = .workouts(query)
            case .changes(let cursor): action = .workoutChanges(after: cursor)
            }
        case "chunks": action = .chunks(try container.decode(SessionID.self, forKey: .session))
        case let type:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container,
                debugDescription: "unknown request \"\(type.prefix(40))\"; viewers may send workouts and chunks")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(client, forKey: .client)
        switch action {
        case .workouts(let query):
            try container.encode("workouts", forKey: .type)
            try query.encode(to: encoder)
        case .workoutChanges(let cursor):
            try container.encode("workouts", forKey: .type)
            try HistoryRequest.changes(after: cursor).encode(to: encoder)
        case .chunks(let session):
            try container.encode("chunks", forKey: .type)
            try container.encode(session, forKey: .session)
        }
    }
}
