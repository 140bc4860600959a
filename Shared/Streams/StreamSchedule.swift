import DequeModule
import ServiceKit

/// What a session waits for.
enum StreamTask: Int, CaseIterable {
    /// The next commit has items of it, or moves some from the journal into chunks.
    case commit
    /// Stored items await an acknowledgement until ``OwnedSession/ackAt``.
    case ack
    /// The next commit has its record.
    case record
    /// `heard` is to be published.
    case heard
    /// Live metrics are to be computed from all items when ``OwnedSession/fold`` is due.
    case fold
    /// A summary is to be computed when ``OwnedSession/summary`` is due, or a job computes it.
    case summary
    /// A client requested its chunks.
    case chunks
    /// There is more distance since the last announcement.
    case splits
    /// A lap is to be announced.
    case laps
    /// The next commit has a part of its route.
    case route
    /// It takes in a route.
    case intake
    /// It is deleted, and the store has data of it.
    case purge
}

/// When a computation over all items of a session is due. Those that are jobs take at most a tenth of the time.
struct Recomputation {
    var dueAt: Moment
    /// The time of the last one.
    private(set) var doneAt: Moment?
    /// What the last one cost, if it was a job.
    var cost = Duration.zero

    init(dueAt: Moment) {
        self.dueAt = dueAt
    }

    /// The seconds that must follow the last one.
    var spacing: Double { cost / .seconds(1) * StreamTimes.costs }

    mutating func done(_ now: Moment) { doneAt = now }

    /// Makes it due: at once, or when the rate limit allows it.
    ///
    /// - Parameter interval: the minimum interval in seconds.
    mutating func request(_ now: Moment, interval: Double = 0) {
        dueAt = max(now, doneAt.map { $0 + max(interval, spacing) } ?? now)
    }
}

/// A set of tasks.
struct StreamTasks {
    private var bits: UInt16 = 0

    var isEmpty: Bool { bits == 0 }

    func contains(_ task: StreamTask) -> Bool { bits & 1 << UInt16(task.rawValue) != 0 }

    /// Returns whether it was missing.
    @discardableResult
    mutating func insert(_ task: StreamTask) -> Bool {
        defer { bits |= 1 << UInt16(task.rawValue) }
        return !contains(task)
    }

    mutating func remove(_ task: StreamTask) { bits &= ~(1 << UInt16(task.rawValue)) }
}

/// Finds the sessions with a task, in the order in which they were listed.
///
/// ``OwnedSession/tasks`` decides which tasks a session has; one that leaves memory loses them all. So a queue may list
/// sessions without its task, until it is read.
struct StreamSchedule<Work: StreamWork> {
    typealias Session = OwnedSession<Work>

    private var queues = [Deque<Session>](repeating: [], count: StreamTask.allCases.count)

    /// Returns whether the session did not have the task.
    @discardableResult
    mutating func add(_ task: StreamTask, to session: Session) -> Bool {
        guard session.tasks.insert(task) else { return false }
        if session.listed.insert(task) { queues[task.rawValue].append(session) }
        return true
    }

    /// The sessions with a task, or those of them that are due.
    mutating func sessions(with task: StreamTask, where isDue: (Session) -> Bool = { _ in true }) -> [Session] {
        var sessions: [Session] = []
        queues[task.rawValue].removeAll { session in
            guard session.tasks.contains(task) else {
                session.listed.remove(task)
                return true
            }
            // After a restart thousands wait, and few are due.
            if isDue(session) { sessions.append(session) }
            return false
        }
        return sessions
    }

    /// Lists no session any more that has left memory.
    mutating func prune() {
        for task in StreamTask.allCases { _ = sessions(with: task) }
    }

    /// Removes a task from the sessions that have it, and returns them.
    mutating func take(_ task: StreamTask, where isDue: (Session) -> Bool = { _ in true }) -> [Session] {
        var taken: [Session] = []
        queues[task.rawValue].removeAll { session in
            let isLeft = session.tasks.contains(task) && !isDue(session)
            guard !isLeft else { return false }
            session.listed.remove(task)
            if session.tasks.contains(task) {
                session.tasks.remove(task)
                taken.append(session)
            }
            return true
        }
        return taken
    }

    /// Removes the task ``StreamTask/ack`` from the sessions where it is due, and returns them. They have it in the order of
    /// time.
    mutating func takeAcks(_ now: Moment) -> [Session] {
        let task = StreamTask.ack
        var taken: [Session] = []
        while let session = queues[task.rawValue].first, !session.tasks.contains(task) || session.ackAt <= now {
            queues[task.rawValue].removeFirst()
            session.listed.remove(task)
            guard session.tasks.contains(task) else { continue }
            session.tasks.remove(task)
            taken.append(session)
        }
        return taken
    }
}
