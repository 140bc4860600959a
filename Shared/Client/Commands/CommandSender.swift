package import Bus
import DequeModule
package import ServiceKit
package import Workouts

/// Sends commands one at a time and repeats each until the engine replies.
package struct CommandSender {
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
    /// The times of the first waiting command.
    private var request = RepeatedRequest()
    /// The last try of a start that was refused because another session is unfinished.
    private var postponedTry: Int?
    /// Whether the first waiting command is a start whose first try went without its time.
    private var isTimeLeft = false

    package init(
        client: Client, waiting: some Sequence<Command> = [], leavesStartToEngine: Bool = false,
        clockOffset: Double = 0
    ) {
        self.client = client
        self.leavesStartToEngine = leavesStartToEngine
        self.clockOffset = clockOffset
        self.waiting = Deque(waiting)
        beginNext()
    }

    package var isConnected: Bool { request.isConnected }
    package var isEmpty: Bool { waiting.isEmpty }
    /// Whether a start waits for another session of the user to end: the engine refused this try or the one before.
    package var awaitsOtherSession: Bool { postponedTry.map { request.tries - $0 <= 1 } ?? false }
    /// Whether the first waiting command was repeated.
    package var isRepeating: Bool { request.tries > 1 }

    package mutating func append(_ command: Command) {
        waiting.append(command)
        if waiting.count == 1 { beginNext() }
    }

    /// Sends all commands again, from the first.
    package mutating func startAgain(_ commands: [Command]) {
        waiting = Deque(commands)
        beginNext()
    }

    package mutating func connected() { request.connect() }

    package mutating func disconnected() { request.disconnect() }

    /// The command to send now, if one is due.
    package mutating func takeDue(_ now: Moment) -> Command? {
        guard var command = waiting.first, request.takeTurn(now) else { return nil }
        if request.tries == 1, leavesStartToEngine, case .start = command.action, let at = command.at {
            isTimeLeft = now.wallClock.seconds(since: at) <= Self.startAge
        }
        if isTimeLeft, request.tries == 1 {
            command.at = nil
        } else if leavesStartToEngine, case .start = command.action {
            // A start that once counted by the engine's clock begins again by that clock.
            command.at = command.at.map { $0 + clockOffset }
        }
        // The command may come from an earlier process; the reply must come to this one.
        command.client = client
        return command
    }

    package mutating func receiveReply(_ reply: Reply, _ now: Moment) -> Received {
        guard let command = waiting.first, command.id == reply.id else {
            // A second reply to a repeated command.
            return .nothing
        }
        switch request.receiveReply(reply.error, now) {
        case .postponed(let refusal):
            if refusal.code == Refusal.sessionInProgressCode { postponedTry = request.tries }
            return .postponed(refusal)
        case .refused(let refusal):
            drop()
            return .refused(command, refusal)
        case .accepted:
            // The accepted time shows which try the engine took.
            if isTimeLeft, let at = command.at, let counted = reply.at { clockOffset = counted.seconds(since: at) }
            drop()
            return .accepted(command)
        }
    }

    private mutating func drop() {
        waiting.removeFirst()
        beginNext()
    }

    private mutating func beginNext() {
        request = RepeatedRequest(passingCodes: waiting.first?.action.passingCodes ?? [], isConnected: isConnected)
        postponedTry = nil
        isTimeLeft = false
    }
}

extension SessionAction {
    /// The codes of refusals that pass with time.
    fileprivate var passingCodes: Set<String> {
        if case .start = self { [Refusal.sessionInProgressCode] } else { [Refusal.sessionNotFound.code] }
    }
}

extension Refusal {
    /// The code of a start that is refused because another session of the user is unfinished.
    package static let sessionInProgressCode = "session_in_progress"

    /// Whether the engine does not have the session.
    var isNotFound: Bool { code == Self.sessionNotFound.code }
}
