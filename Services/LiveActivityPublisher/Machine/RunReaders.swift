import Bus
import Workouts

/// The sessions whose devices show the partners in a virtual run.
struct RunReaders {
    private struct Reader: Hashable {
        let user: User
        let run: RunID
    }

    private var sessions: [Reader: SessionKey] = [:]
    /// A deleted session's state names no run.
    private var readers: [SessionKey: Reader] = [:]
    /// Whether ``topics`` are others than when this was last cleared.
    var haveChanged = false

    /// The topics to subscribe to: most runners have no device that shows them.
    var topics: [Topic] { sessions.keys.map { .user($0.user, .partners($0.run)) } }

    /// The session in which a user's devices show a virtual run: the one that changed last.
    func session(of user: User, in run: RunID) -> SessionKey? { sessions[Reader(user: user, run: run)] }

    /// The session's devices show this run from now on, or none.
    mutating func link(_ key: SessionKey, to run: RunID?) {
        let reader = run.map { Reader(user: key.user, run: $0) }
        if let former = readers[key], former != reader, sessions[former] == key {
            sessions[former] = nil
            haveChanged = true
        }
        readers[key] = reader
        guard let reader else { return }
        if sessions.updateValue(key, forKey: reader) == nil { haveChanged = true }
    }
}
