package import Workouts

/// How far the import of a file is, on `imports/{import}`.
package struct ImportStatus: Codable, Hashable, Sendable {
    package enum Status: String, Codable, CaseIterable, Sendable {
        /// Parts are missing.
        case receiving
        /// The file is read and compared with the workouts that are there.
        case reading
        /// It looks like `match`: `import` logs it, `skip` does not.
        case asking
        /// It overlaps an unfinished session, or a limit is reached.
        case waiting
        case logging
        /// `sessions` are its workouts.
        case done
        case refused

        package var isOver: Bool { self == .done || self == .refused }
    }

    package var id: ImportID
    package var revision: Int64
    package var status: Status
    package var name: String
    /// Of the file as it was sent.
    package var bytes: Int
    /// When the status last changed.
    package var at: Timestamp
    /// The part of `receiving` or `logging` that is done, 0 to 1.
    package var progress: Double?
    /// The workouts so far, in the order of the file.
    package var sessions: [SessionID] = []
    /// Why it asks, waits or was refused, and what to do. For people.
    package var reason: String?
    /// What people should know about the file, such as that it is cut off.
    package var remarks: [String]?
    /// The workout that `asking` and a skipped import are about.
    package var match: SessionID?

    private enum CodingKeys: String, CodingKey {
        case id = "import"
        case revision, status, name, bytes, at, progress, sessions, reason, remarks, match
    }

    package init(id: ImportID, revision: Int64, status: Status, name: String, bytes: Int, at: Timestamp) {
        (self.id, self.revision, self.status) = (id, revision, status)
        (self.name, self.bytes, self.at) = (name, bytes, at)
    }
}

/// A request on `import-request`.
package struct ImportRequest: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        /// Logs a file that looks like a workout that is there.
        case log(ImportID)
        /// Does not log it.
        case skip(ImportID)
        /// Reads a refused file again.
        case retry(ImportID)
        /// Ends an import of which nothing is logged yet.
        case cancel(ImportID)
        /// The imports that were over before a time, newest first, at most 100.
        case list(before: Timestamp?)

        package var id: ImportID? {
            switch self {
            case .log(let id), .skip(let id), .retry(let id), .cancel(let id): id
            case .list: nil
            }
        }
    }

    package static let listLimit = 100

    package var id: CommandID
    /// The reader of the reply; `nil` if nothing reads it.
    package var client: Client?
    package var action: Action

    package init(id: CommandID, client: Client?, action: Action) {
        (self.id, self.client, self.action) = (id, client, action)
    }
}

extension ImportRequest: Codable {
    private enum Key: String, CodingKey {
        case id, client, type, before
        case target = "import"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(CommandID.self, forKey: .id)
        client = try container.decodeIfPresent(Client.self, forKey: .client)
        func target() throws -> ImportID { try container.decode(ImportID.self, forKey: .target) }
        switch try container.decode(String.self, forKey: .type) {
        case "import": action = .log(try target())
        case "skip": action = .skip(try target())
        case "retry": action = .retry(try target())
        case "cancel": action = .cancel(try target())
        case "imports": action = .list(before: try container.number(Timestamp.self, forKey: .before))
        case let type:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container,
                debugDescription: "unknown request \"\(type.prefix(40))\"; "
                    + "allowed: import, skip, retry, cancel and imports")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(client, forKey: .client)
        try container.encodeIfPresent(action.id, forKey: .target)
        switch action {
        case .log: try container.encode("import", forKey: .type)
        case .skip: try container.encode("skip", forKey: .type)
        case .retry: try container.encode("retry", forKey: .type)
        case .cancel: try container.encode("cancel", forKey: .type)
        case .list(let before):
            try container.encode("imports", forKey: .type)
            try container.encodeIfPresent(before, forKey: .before)
        }
    }
}
