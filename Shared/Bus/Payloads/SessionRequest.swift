package import Workouts

/// A request on a session's `request`.
package struct SessionRequest: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        /// Publishes the finished record, the series and the track again.
        case chunks
        /// Publishes the track alone again.
        case track
        /// Repeats the export of a workout to one target or to all, including completed ones. The answer goes to
        /// `replies`.
        case export(Target?)
        /// Sends a finished workout as a file, in parts from a number on. The answers are ``FilePart``s on `replies`.
        case file(format: String, from: Int)
    }

    package var id: CommandID
    /// The reader of the reply; `nil` if nothing reads it.
    package var client: Client?
    package var action: Action

    package init(id: CommandID, client: Client?, action: Action) {
        self.id = id
        self.client = client
        self.action = action
    }
}

extension SessionRequest: Codable {
    private enum Key: String, CodingKey {
        case id, client, type, of, target, format, from
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        id = try container.decode(CommandID.self, forKey: .id)
        client = try container.decodeIfPresent(Client.self, forKey: .client)
        switch try container.decode(String.self, forKey: .type) {
        case "chunks":
            let kind = try container.decodeIfPresent(String.self, forKey: .of)
            action = kind == ChunkKind.track.rawValue ? .track : .chunks
        case "export": action = .export(try container.decodeIfPresent(Target.self, forKey: .target))
        case "file":
            let from = try container.decodeIfPresent(Int.self, forKey: .from) ?? 0
            guard SeenRevision.range.contains(Int64(from)) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .from, in: container, debugDescription: "the number of a part, from 0")
            }
            action = .file(format: try container.decode(String.self, forKey: .format), from: from)
        case let type:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "unknown request \"\(type.prefix(40))\"")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(id, forKey: .id)
        try container.encodeIfPresent(client, forKey: .client)
        switch action {
        case .chunks: try container.encode("chunks", forKey: .type)
        case .track:
            try container.encode("chunks", forKey: .type)
            try container.encode(ChunkKind.track.rawValue, forKey: .of)
        case .export(let target):
            try container.encode("export", forKey: .type)
            try container.encodeIfPresent(target, forKey: .target)
        case .file(let format, let from):
            try container.encode("file", forKey: .type)
            try container.encode(format, forKey: .format)
            try container.encode(from, forKey: .from)
        }
    }
}
