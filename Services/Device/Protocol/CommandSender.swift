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
        /// Another session of the user is unfinished: the start is tried again.
        case postponed(Refusal)
        case refused(Command, Refusal)
    }

    /// Where replies come to.
    let client: Client
    private var waiting: Deque<Command>
    /// When the first waiting command was sent on this connection.
    private var sentAt: Timestamp?
    private var isConnected = false

    init(client: Client, waiting: some Sequence<Command> = []) {
        self.client = client
        self.waiting = Deque(waiting)
    }

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ command: Command) {
        waiting.append(command)
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
            if case .start = command.action, refusal.code == Refusal.sessionInProgressCode {
                sentAt = now
                return .postponed(refusal)
            }
            drop()
            return .refused(command, refusal)
        }
        drop()
        return .accepted(command)
    }

    private mutating func drop() {
        waiting.removeFirst()
        sentAt = nil
    }
}

extension Refusal {
    /// The code of a refused start while another session of the user is unfinished.
    static let sessionInProgressCode = "session_in_progress"
}
