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

/// The words of the buttons.
extension Press {
    var words: String {
        switch self {
        case .command(_, let action): action.words
        case .request(.savePlan): "Save plan"
        case .request(.deletePlan): "Delete plan"
        case .request: "Change profile or history"
        case .virtualRun(_, let action): action.words
        }
    }
}

extension SessionAction {
    fileprivate var words: String {
        switch self {
        case .start: "Start"
        case .deviceReady: "Measure with a watch"
        case .pause: "Pause"
        case .resume: "Resume"
        case .lap: "Lap"
        case .suspend: "Save for later"
        case .end: "End"
        case .discard: "Discard workout"
        case .recover: "Recover"
        case .update: "Change workout"
        case .plan(let action): action.words
        }
    }
}

extension PlanAction {
    fileprivate var words: String {
        switch self {
        case .completeSet: "Complete set"
        case .uncompleteSet: "Undo"
        case .skipExercise: "Skip"
        case .flagPain: "Pain"
        case .swapExercise: "Swap"
        case .adjustDifficulty(_, .easier): "Easier"
        case .adjustDifficulty(_, .harder): "Harder"
        case .goTo: "Change the exercise"
        case .setPresentationMode(.list): "Show all exercises"
        case .setPresentationMode(.workout): "Show one exercise"
        }
    }
}

extension VirtualRunRequest.Action {
    fileprivate var words: String {
        switch self {
        case .create: "Invite to a virtual run"
        case .invite: "Invite"
        case .remove(let user): "Remove \(user)"
        case .begin: "Begin"
        case .cancel: "Cancel run"
        case .accept: "Accept"
        case .decline: "Decline"
        case .confirm: "Go"
        case .leave: "Leave"
        case .share: "Sharing"
        case .keepWaiting: "Keep Waiting"
        case .show, .routes, .runs: "Show virtual runs"
        case .addContact(let user): "Add contact \(user)"
        case .removeContact(let user): "Remove \(user)"
        case .block(let user): "Block \(user)"
        case .unblock(let user): "Unblock \(user)"
        case .setInvites: "Who may invite me"
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

    /// The size of its record, mostly without the reply.
    var bytes = 0
    /// Whether the press is on disk. It is not sent before.
    var isStored = false
    /// When it was last sent on the present connection.
    var sent: Moment?
    /// The end of the wait that a refusal asked for.
    var pausedUntil: Moment?

    func isDue(_ now: Moment) -> Bool {
        guard isStored, reply == nil else { return false }
        if let pausedUntil, now < pausedUntil { return false }
        return sent.map { now.seconds(since: $0) >= PendingCommands.interval } ?? true
    }

    func isPendingStart(of session: SessionID) -> Bool {
        guard reply == nil, case .command(session, .start) = press else { return false }
        return true
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
            return Self.message(VirtualRunRequest(id: id, client: client, run: run, action: action), of: user)
        }
    }

    static func message(_ request: VirtualRunRequest, of user: User) -> MQTTMessage {
        Topic.user(user, .virtualRunRequest).message(JSONCoding.encode(request))
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
