import Bus
import MQTT
import Workouts

/// A received message, decoded as far as necessary to load the runs that its batch needs.
struct RunMessage {
    let message: MQTTMessage
    /// `nil` if it is not a topic of the bus.
    let topic: Topic?
    /// A user's request; `nil` on other topics.
    let request: Result<VirtualRunRequest, PayloadError>?
    /// A snapshot that names a run; `nil` on other topics.
    let metrics: Result<RunnerMetrics, PayloadError>?
    /// A view of a run of another replica; `nil` on other topics, and on views without meaning for shards here.
    let view: SeenView?

    /// `nil` for a snapshot of a session without a run: most messages are such snapshots.
    init?(_ message: MQTTMessage, owns: (Shard) -> Bool) {
        let isMetrics = message.topic.utf8.suffix(8).elementsEqual("/metrics".utf8)
        if isMetrics, !message.topic.hasSuffix("/summary/metrics") {
            guard RunnerMetrics.namesRun(message.payload) else { return nil }
            metrics = Result { () throws(PayloadError) in try RunnerMetrics(message.payload) }
        } else {
            metrics = nil
        }
        self.message = message
        topic = Topic(message.topic)
        if case .user(_, .virtualRunRequest) = topic {
            request = Result { () throws(PayloadError) in
                try JSONCoding.decode(VirtualRunRequest.self, from: message.payload)
            }
        } else {
            request = nil
        }
        if case .user(let user, .virtualRun(let run)) = topic, !owns(run.shard),
            owns(user.shard) || message.payload.contains(#""finished""#.utf8)
        {
            view = try? JSONCoding.decode(SeenView.self, from: message.payload)
        } else {
            view = nil
        }
    }

    var payload: ArraySlice<UInt8> { message.payload }

    /// The session whose state says that it was deleted.
    var deleted: SessionKey? {
        guard case .session(let key, .state) = topic, payload.contains(#""deleted""#.utf8) else { return nil }
        return key
    }

    /// The run that a state or a record names.
    var namedRun: RunID? {
        switch topic {
        case .session(_, .state), .session(_, .workout):
            guard payload.namesRun else { return nil }
            return (try? JSONCoding.decode(NamedRun.self, from: payload))?.run
        default: return nil
        }
    }
}

/// A reader of a run.
struct RunReader: Hashable {
    let run: RunID
    let user: User
}

/// The part of a view that the owners of other shards read.
struct SeenView: Decodable {
    struct Row: Decodable {
        let user: User
        let status: ParticipantStatus
        let sharing: Sharing
    }

    struct Standing: Equatable {
        let host: User
        let statuses: [User: ParticipantStatus]
    }

    let run: RunID
    let status: RunStatus
    let host: User
    let participants: [Row]

    /// What changes when the reader accepts an invitation, or another person accepts one of the reader.
    func standing(of reader: User) -> Standing {
        let rows = participants.filter { $0.user == reader || reader == host }
        return Standing(host: host, statuses: rows.reduce(into: [:]) { $0[$1.user] = $1.status })
    }

    /// Whether the reader does not share the session as a ghost.
    func isWithdrawn(by reader: User) -> Bool {
        guard status == .finished, let own = participants.first(where: { $0.user == reader }) else { return false }
        return own.status == .left || !own.sharing.ghost
    }
}

/// The part of a state or a record that names a run.
private struct NamedRun: Decodable {
    let run: RunID?
}

extension ArraySlice<UInt8> {
    /// Whether a state or a record may name a run.
    var namesRun: Bool { contains(#""run":""#.utf8) }
}
