import Bus
import Workouts

/// A change that an outside coach is asked about, and what has to wait for the answer.
struct CoachQuestion {
    /// Seconds of the service's clock until nothing is awaited any more.
    static let patience = 3.0
    /// Commands that wait; of more, the clients repeat them.
    static let waitingLimit = 16

    let command: Command
    var request: CoachRequest
    /// `suspend`, and whatever came after it, each with the time at which it happened.
    var waiting: [Command] = []

    func holds(_ id: CommandID) -> Bool { command.id == id || waiting.contains { $0.id == id } }
}
