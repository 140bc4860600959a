import Bus
import DequeModule
import Workouts

/// Sends commands one at a time, each repeated until the engine replies.
struct CommandSender {
    /// Seconds between repetitions.
    static let interval = 5.0

    enum Received: Equatable {
        case nothing
        case accepted(Command)
        /// It is tried again: a start while another session of the user is unfinished, and any other command of a session
        /// that the engine does not have, for it may be about to learn of it.
        case postponed(Refusal)
        case refused(Command, Refusal)
    }

    /// How long ago a start may have happened that is left to the engine's clock.
    private static let startAge = 1.0

    /// Where replies come to.
    let client: Client
    /// Whether a start that has just happened goes without its time, so that the engine's clock counts and the reply
    /// tells by how much the device's is off. One that waited, or is sent again, carries its time all the same: the
    /// runner has been running since.
    private let leavesStartToEngine: Bool
    /// Seconds that the engine's clock is ahead of the device's, once a start was left to it.
    private(set) var clockOffset: Double
    private var waiting: Deque<Command>
    /// When the first waiting command was sent on this connection.
    private var sentAt: Timestamp?
    /// How often the first waiting command was sent.
    private var tries = 0
    /// The last try of a start that was refused because another session is unfinished.
    private var postponedTry: Int?
    /// Whether it is a start whose first try was left to the engine's clock.
    private var isTimeLeft = false
    private(set) var isConnected = false

    init(
        client: Client, waiting: some Sequence<Command> = [], leavesStartToEngine: Bool = false,
        clockOffset: Double = 0
    ) {
        self.client = client
        self.leavesStartToEngine = leavesStartToEngine
        self.clockOffset = clockOffset
        self.waiting = Deque(waiting)
    }

    var isEmpty: Bool { waiting.isEmpty }
    /// Whether a start waits for another session of the user to end, as the engine said of this try or the one before.
    var awaitsOtherSession: Bool { postponedTry.map { tries - $0 <= 1 } ?? false }
    /// Whether the first waiting command had to be sent again.
    var isRepeating: Bool { tries > 1 }

    mutating func append(_ command: Command) {
        waiting.append(command)
    }

    /// Begins with the first command again.
    mutating func startAgain(_ commands: [Command]) {
        waiting = Deque(commands)
        forgetTries()
    }

    mutating func connected() {
        isConnected = true
        sentAt = nil
    }

    mutating func disconnected() {
        isConnected = false
    }

    /// The command to send now, if one is due.
    mutating func take(_ now: Timestamp) -> Command? {
        guard isConnected, var command = waiting.first else { return nil }
        if let sentAt, now.seconds(since: sentAt) < Self.interval { return nil }
        sentAt = now
        tries += 1
        if tries == 1, leavesStartToEngine, case .start = command.action, let at = command.at {
            isTimeLeft = now.seconds(since: at) <= Self.startAge
        }
        if isTimeLeft, tries == 1 {
            command.at = nil
        } else if leavesStartToEngine, case .start = command.action {
            // Once it has counted by the engine's clock, by that it begins again.
            command.at = command.at.map { $0 + clockOffset }
        }
        // Its id may come from a process that is no more; the reply must come here.
        command.client = client
        return command
    }

    mutating func receive(_ reply: Reply, _ now: Timestamp) -> Received {
        guard let command = waiting.first, command.id == reply.id else {
            // The reply to a repetition whose first reply came already.
            return .nothing
        }
        if let refusal = reply.error {
            let isPassing =
                switch command.action {
                case .start: refusal.code == Refusal.sessionInProgressCode
                default: refusal.isNotFound
                }
            if isPassing {
                sentAt = now
                if case .start = command.action { postponedTry = tries }
                return .postponed(refusal)
            }
            drop()
            return .refused(command, refusal)
        }
        // Which of the tries the engine took shows in the moment that counts.
        if isTimeLeft, let at = command.at, let counted = reply.at { clockOffset = counted.seconds(since: at) }
        drop()
        return .accepted(command)
    }

    private mutating func drop() {
        waiting.removeFirst()
        forgetTries()
    }

    private mutating func forgetTries() {
        sentAt = nil
        tries = 0
        postponedTry = nil
        isTimeLeft = false
    }
}

extension Refusal {
    /// The code of a refused start while another session of the user is unfinished.
    static let sessionInProgressCode = "session_in_progress"

    /// Whether the engine does not have the session.
    var isNotFound: Bool { code == Self.sessionNotFound.code }
}
