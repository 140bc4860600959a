import Bus
import MQTT
import ServiceKit
import Workouts

/// What a person asks a service for.
enum Press: Equatable, Sendable {
    case command(SessionID, SessionAction)
    case request(UserRequest.Action)
    case virtualRun(RunID?, VirtualRunRequest.Action)

    /// Presses of one lane are sent in their order, one at a time.
    enum Lane: Hashable {
        case session(SessionID)
        case requests
        case virtualRuns
    }

    var lane: Lane {
        switch self {
        case .command(let session, _): .session(session)
        case .request: .requests
        case .virtualRun: .virtualRuns
        }
    }
}

/// A person's command or request. Three days after its first POST it is gone; until then a repeated POST gets the same answer.
struct PendingCommand: Equatable, Sendable {
    /// Identifies the press for its user; a POST with the same id is a repetition.
    let id: CommandID
    let user: User
    let press: Press
    /// When the person pressed, by the clock of this process at the first POST. It never changes.
    let at: Timestamp
    /// When the first POST came.
    var posted: Moment
    /// The position among the user's presses.
    let number: Int
    /// `nil` until the service replied or this process gave up.
    var reply: Reply?

    /// Whether the press is on disk. It is not sent before.
    var isStored = false
    /// When it was last sent on the present connection.
    var sent: Moment?
    /// The end of the wait that a refusal asked for.
    var pausedUntil: Moment?

    /// The press's name for a person.
    var words: String {
        switch press {
        case .command(_, let action): action.name
        case .request: "changes of plans or profile"
        case .virtualRun(_, let action): action.name
        }
    }

    func isDue(_ now: Moment) -> Bool {
        guard isStored, reply == nil else { return false }
        if let pausedUntil, now < pausedUntil { return false }
        return sent.map { now.seconds(since: $0) >= PendingCommands.interval } ?? true
    }

    /// The message on the bus. Its content is the same at each repetition but for the reader of the reply.
    func message(client: Client?) -> MQTTMessage {
        switch press {
        case .command(let session, let action):
            let command = Command(id: id, client: client, at: at, action: action)
            return Topic.session(SessionKey(user, session), .command).message(JSONCoding.encode(command))
        case .request(let action):
            return Topic.user(user, .request)
                .message(JSONCoding.encode(UserRequest(id: id, client: client, action: action)))
        case .virtualRun(let run, let action):
            return Topic.user(user, .virtualRunRequest)
                .message(JSONCoding.encode(VirtualRunRequest(id: id, client: client, run: run, action: action)))
        }
    }
}

/// The stored form: the message's payload without a client, and the topic it goes to.
extension PendingCommand: Codable {
    private enum Key: String, CodingKey {
        case user, session, command, request, virtualRun, at, posted, number, reply
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        if let command = try container.decodeIfPresent(Command.self, forKey: .command) {
            id = command.id
            press = .command(try container.decode(SessionID.self, forKey: .session), command.action)
        } else if let request = try container.decodeIfPresent(UserRequest.self, forKey: .request) {
            id = request.id
            press = .request(request.action)
        } else {
            let request = try container.decode(VirtualRunRequest.self, forKey: .virtualRun)
            id = request.id
            press = .virtualRun(request.run, request.action)
        }
        user = try container.decode(User.self, forKey: .user)
        at = try container.decode(Timestamp.self, forKey: .at)
        posted = try container.decode(Moment.self, forKey: .posted)
        number = try container.decode(Int.self, forKey: .number)
        reply = try container.decodeIfPresent(Reply.self, forKey: .reply)
        isStored = true
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(user, forKey: .user)
        try container.encode(at, forKey: .at)
        try container.encode(posted, forKey: .posted)
        try container.encode(number, forKey: .number)
        try container.encodeIfPresent(reply, forKey: .reply)
        switch press {
        case .command(let session, let action):
            try container.encode(session, forKey: .session)
            try container.encode(Command(id: id, client: nil, action: action), forKey: .command)
        case .request(let action):
            try container.encode(UserRequest(id: id, client: nil, action: action), forKey: .request)
        case .virtualRun(let run, let action):
            try container.encode(
                VirtualRunRequest(id: id, client: nil, run: run, action: action), forKey: .virtualRun)
        }
    }

    var recordKey: String { "\(user)/\(id)" }
}
