import Bus
import ServiceKit
import Workouts

/// A session as a run knows it: the newest received `state`.
struct RunSession: Codable, Equatable, Sendable {
    let session: SessionID
    let revision: Int64
    let status: SessionStatus
    let startedAt: Timestamp?
    let endedAt: Timestamp?
    let environment: Environment
    /// Absent once the session is deleted or purged.
    let run: RunID?
    /// The seconds by which the clock of a device is ahead, of the one that is off most.
    var clockSkew: Double?

    /// Whether the session is neither canceled nor deleted.
    var isKept: Bool { status != .canceled && status != .deleted }

    /// A session that began earlier counts before one that began later or has not begun.
    fileprivate static func < (left: RunSession, right: RunSession) -> Bool {
        let distant = Timestamp(microseconds: .max)
        return (left.startedAt ?? distant, left.session) < (right.startedAt ?? distant, right.session)
    }
}

extension RunSession {
    init(_ state: SessionState) {
        session = state.session
        revision = state.revision
        // Session-engine purges a canceled session after two days. Its runner left and withdrew nothing.
        status = state.status == .deleted && state.endReason != nil ? .canceled : state.status
        startedAt = state.startedAt
        endedAt = state.endedAt
        environment = state.environment
        run = state.run
        clockSkew = state.clockSkew?.values.max { ($0.magnitude, $0) < ($1.magnitude, $1) }
    }
}

/// A participant of a run.
struct RunParticipant: Codable, Equatable, Sendable {
    /// What requests and deadlines decided. Sessions only refine `confirmed`.
    enum Decision: String, Codable, Sendable {
        /// Exits: accepted, declined.
        case invited
        /// Exits: confirmed, declined.
        case accepted
        /// Exit: invited, unless the participant declined in person.
        case declined
        /// Exits: left; declined before the run starts.
        case confirmed
        /// Final.
        case left
    }

    /// The facts that a confirmation fixes, and what follows from them.
    struct Entry: Codable, Equatable, Sendable {
        /// Sessions that are kept in memory.
        static let sessionLimit = 16

        /// The session that every device of the participant starts, and the id of that command.
        let session: SessionID
        let startId: CommandID
        let confirmedAt: Timestamp
        /// When the participant begins.
        fileprivate(set) var startsAt: Timestamp?
        /// When the participant is absent without a session.
        fileprivate(set) var absentBy: Moment?
        fileprivate(set) var isAbsent = false
        /// The participant's sessions of this run, the first started first.
        fileprivate(set) var sessions: [RunSession] = []

        init(session: SessionID, startId: CommandID, confirmedAt: Timestamp) {
            self.session = session
            self.startId = startId
            self.confirmedAt = confirmedAt
        }

        /// The session that counts: the first started one that is neither canceled nor deleted.
        var counted: RunSession? { sessions.first(where: \.isKept) }
    }

    /// What a participant who declined or left still sees of the run: no later change.
    struct Frozen: Codable, Equatable, Sendable {
        var status: RunStatus
        var reason: String?
        var host: User
        var startsAt: Timestamp?
    }

    let user: User
    private(set) var decision: Decision
    /// The published status, which follows from the decision, the sessions and the run's status.
    private(set) var status: ParticipantStatus
    /// Why the status was reached; `nil` after a request of the participant.
    private(set) var reason: String?
    private(set) var invitedAt: Timestamp
    /// When the status was reached: for running and finished by event time, else by the service's clock.
    private(set) var at: Timestamp
    var sharing: Sharing
    /// Whether the participant does not see the invitation: unknown, blocking or at the limit of open invitations.
    private(set) var isHidden: Bool
    private(set) var acceptedAt: Timestamp?
    /// Whether the participant accepted after confirming began.
    private(set) var isLate = false
    private(set) var entry: Entry?
    private(set) var frozen: Frozen?

    init(invited user: User, sharing: Sharing, isHidden: Bool, now: Moment) {
        self.user = user
        self.sharing = sharing
        self.isHidden = isHidden
        decision = .invited
        status = .invited
        invitedAt = now.wallClock
        at = now.wallClock
    }

    /// The session that counts.
    var session: RunSession? { entry?.counted }
    /// When the participant begins.
    var startsAt: Timestamp? { entry?.startsAt }

    /// Whether the participant confirmed and did not leave for good.
    var takesPart: Bool { decision == .confirmed }
    /// Whether others see what the participant shares: from accepting until declining or leaving.
    var isSharing: Bool { (decision == .accepted || decision == .confirmed) && status != .left }
    /// Whether others may run against the participant's session.
    var sharesGhost: Bool { isSharing && sharing.ghost }
    /// Whether the participant takes one of the run's places.
    var isRunner: Bool { decision != .declined }

    /// Whether a session of the participant ended, even if it was deleted since.
    var hasFinished: Bool {
        entry?.sessions.contains { [.saving, .completed, .deleted].contains($0.status) } ?? false
    }

    /// Whether a session of the participant was deleted and none counts.
    var isWithdrawn: Bool {
        guard let entry, entry.counted == nil else { return false }
        return entry.sessions.contains { $0.status == .deleted }
    }

    mutating func invite(sharing: Sharing, isHidden: Bool, now: Moment) {
        self.sharing = sharing
        self.isHidden = isHidden
        invitedAt = now.wallClock
        acceptedAt = nil
        isLate = false
        entry = nil
        decide(.invited, now)
    }

    mutating func accept(_ change: Sharing.Change, isLate: Bool, now: Moment) {
        sharing.apply(change)
        acceptedAt = now.wallClock
        self.isLate = isLate
        decide(.accepted, now)
    }

    mutating func confirm(_ entry: Entry, now: Moment) {
        self.entry = entry
        decide(.confirmed, now)
    }

    mutating func decline(_ reason: String? = nil, now: Moment) {
        entry = nil
        decide(.declined, reason: reason, now)
    }

    mutating func leave(now: Moment) {
        decide(.left, now)
    }

    private mutating func decide(_ decision: Decision, reason: String? = nil, _ now: Moment) {
        self.decision = decision
        self.reason = reason
        at = now.wallClock
    }

    /// Fixes the beginning of a confirmed participant.
    mutating func begin(at start: Moment, _ time: Timestamp) {
        entry?.startsAt = time
        entry?.absentBy = start + RunDeadlines.absence
    }

    /// The time at which the participant is absent without a session; `nil` if that can no longer happen.
    var absentBy: Moment? {
        guard decision == .confirmed, let entry, !entry.isAbsent, entry.sessions.isEmpty else { return nil }
        return entry.absentBy
    }

    mutating func missStart() {
        entry?.isAbsent = true
    }

    /// Keeps the newest state of a session. Returns whether it is new.
    mutating func see(_ session: RunSession) -> Bool {
        guard var sessions = entry?.sessions else { return false }
        if let index = sessions.firstIndex(where: { $0.session == session.session }) {
            guard session.revision > sessions[index].revision else { return false }
            sessions.remove(at: index)
        }
        sessions.insert(session, at: sessions.firstIndex { session < $0 } ?? sessions.endIndex)
        entry?.sessions = Array(sessions.prefix(Entry.sessionLimit))
        return true
    }

    /// Whether a state is of one of the participant's sessions of a run. A deleted or purged session names no run.
    func has(_ session: RunSession, in run: RunID) -> Bool {
        guard let entry, session.run == nil, !session.isKept else { return session.run == run }
        return session.session == entry.session || entry.sessions.contains { $0.session == session.session }
    }

    /// Derives the status. `now` is the time of a change for which no event time is known.
    mutating func refresh(in run: RunStatus, now: Moment) {
        let previous = status
        switch decision {
        case .invited: status = .invited
        case .accepted: status = .accepted
        case .declined: status = .declined
        case .left: status = .left
        case .confirmed: refreshConfirmed(run)
        }
        guard decision == .confirmed else { return }
        // Event times do not depend on the order in which states arrive.
        switch status {
        case .running: at = session?.startedAt ?? startsAt ?? at
        case .finished: at = session?.endedAt ?? at
        default: at = status == previous ? at : now.wallClock
        }
    }

    private mutating func refreshConfirmed(_ run: RunStatus) {
        reason = nil
        guard run == .running || run == .finished, let entry else {
            status = .confirmed
            return
        }
        switch entry.counted?.status {
        case .preparing, .active, .paused, .suspended: status = .running
        case .saving, .completed: status = .finished
        case .canceled, .deleted, nil:
            if entry.sessions.isEmpty {
                status = entry.isAbsent ? .absent : .confirmed
            } else {
                status = .left
                reason = (isWithdrawn ? SessionStatus.deleted : .canceled).rawValue
            }
        }
    }

    /// Fixes the view when the participant declines or leaves; a new invitation opens it.
    mutating func freeze(_ view: @autoclosure () -> Frozen) {
        switch decision {
        case .declined, .left: frozen = frozen ?? view()
        case .invited, .accepted, .confirmed: frozen = nil
        }
    }

    mutating func replaceFrozenHost(_ old: User, by new: User) {
        if frozen?.host == old { frozen?.host = new }
    }

    /// Limits moments that were stored before the wall clock stepped backwards.
    mutating func limit(absentBy limit: Moment) {
        let moment = entry?.absentBy?.atMost(limit)
        entry?.absentBy = moment
    }
}
