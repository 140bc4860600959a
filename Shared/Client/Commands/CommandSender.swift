package import Bus
import DequeModule
package import ServiceKit
package import Workouts

/// Sends commands one at a time and repeats each until the engine replies.
package struct CommandSender {
    /// Seconds between repetitions.
    package static let interval = 5.0
    /// The longest wait that a refusal can ask for, in seconds.
    static let longestWait = 86_400.0

    package enum Received: Equatable {
        case nothing
        case accepted(Command)
        /// The sender repeats the command: a start while another session of the user is unfinished, a command of a
        /// session that the engine does not have yet, or any refusal that says when to try again.
        case postponed(Refusal)
        case refused(Command, Refusal)
    }

    /// Seconds since a start during which the engine's clock decides its time.
    private static let startAge = 1.0

    /// The topic level of the replies.
    package let client: Client
    /// Whether a start that has just happened carries no time: the engine's clock counts, and the reply shows the offset
    /// of the device's clock. A start that waited or is repeated carries its time, because the runner started then.
    private let leavesStartToEngine: Bool
    /// Seconds that the engine's clock is ahead of the device's, once a start went without its time.
    package private(set) var clockOffset: Double
    private var waiting: Deque<Command>
    /// When the first waiting command was last sent on this connection.
    private var sentAt: Moment?
    /// How often the first waiting command was sent.
    private var tries = 0
    /// The end of the wait that the last refusal asked for.
    private var pausedUntil: Moment?
    /// The last try of a start that was refused because another session is unfinished.
    private var postponedTry: Int?
    /// Whether the first waiting command is a start whose first try went without its time.
    private var isTimeLeft = false
    package private(set) var isConnected = false

    package init(
        client: Client, waiting: some Sequence<Command> = [], leavesStartToEngine: Bool = false,
        clockOffset: Double = 0
    ) {
        self.client = client
        self.leavesStartToEngine = leavesStartToEngine
        self.clockOffset = clockOffset
        self.waiting = Deque(waiting)
    }

    package var isEmpty: Bool { waiting.isEmpty }
    /// Whether a start waits for another session of the user to end: the engine refused this try or the one before.
    package var awaitsOtherSession: Bool { postponedTry.map { tries - $0 <= 1 } ?? false }
    /// Whether the first waiting command was repeated.
    package var isRepeating: Bool { tries > 1 }

    package mutating func append(_ command: Command) {
        waiting.append(command)
    }

    /// Sends all commands again, from the first.
    package mutating func startAgain(_ commands: [Command]) {
        waiting = Deque(commands)
        resetTries()
    }

    package mutating func connected() {
        isConnected = true
        sentAt = nil
    }

    package mutating func disconnected() {
        isConnected = false
    }

    /// The command to send now, if one is due.
    package mutating func take(_ now: Moment) -> Command? {
        guard isConnected, var command = waiting.first else { return nil }
        if let sentAt, now.seconds(since: sentAt) < Self.interval { return nil }
        if let pausedUntil, now < pausedUntil { return nil }
        sentAt = now
        tries += 1
        if tries == 1, leavesStartToEngine, case .start = command.action, let at = command.at {
            isTimeLeft = now.wallClock.seconds(since: at) <= Self.startAge
        }
        if isTimeLeft, tries == 1 {
            command.at = nil
        } else if leavesStartToEngine, case .start = command.action {
            // A start that once counted by the engine's clock begins again by that clock.
            command.at = command.at.map { $0 + clockOffset }
        }
        // The command may come from an earlier process; the reply must come to this one.
        command.client = client
        return command
    }

    package mutating func receive(_ reply: Reply, _ now: Moment) -> Received {
        guard let command = waiting.first, command.id == reply.id else {
            // A second reply to a repeated command.
            return .nothing
        }
        if let refusal = reply.error {
            if let retryAfter = refusal.retryAfter {
                pausedUntil = now + min(max(retryAfter, Self.interval), Self.longestWait)
                return .postponed(refusal)
            }
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
        // The accepted time shows which try the engine took.
        if isTimeLeft, let at = command.at, let counted = reply.at { clockOffset = counted.seconds(since: at) }
        drop()
        return .accepted(command)
    }

    private mutating func drop() {
        waiting.removeFirst()
        resetTries()
    }

    private mutating func resetTries() {
        sentAt = nil
        tries = 0
        pausedUntil = nil
        postponedTry = nil
        isTimeLeft = false
    }
}

extension Refusal {
    /// The code of a start that is refused because another session of the user is unfinished.
    package static let sessionInProgressCode = "session_in_progress"

    /// Whether the engine does not have the session.
    var isNotFound: Bool { code == Self.sessionNotFound.code }
}
