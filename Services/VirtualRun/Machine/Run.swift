import Bus
import ServiceKit
import Workouts

/// The durable facts of one virtual run and the rules that change them.
///
/// Requests, newer states of sessions and time change a run. Deadlines pass in ``advance(to:)`` alone. For 10 s after a
/// connect the machine does not call it, so that repeated requests and retained states come first: a late `accept` or
/// `confirm` counts until its deadline has passed.
///
/// A run changes no session. Its only output is its facts, of which ``view(for:revision:figures:)`` shows a participant
/// a part.
struct Run: Codable, Equatable, Sendable {
    /// Participants of a run, those who declined included.
    static let listLimit = 100

    let id: RunID
    let createdAt: Timestamp
    /// `nil` once the creator's account is deleted.
    var creator: User?
    var settings: RunSettings
    var host: User
    private(set) var status: RunStatus
    /// Why the run was canceled; `nil` after a request.
    private(set) var reason: String?
    /// The participants in the order of their invitations.
    var participants: [RunParticipant]
    var ghosts: [RunGhost]
    /// Who blocks whom, of participants and owners of ghosts.
    var blocks: [RunBlock] = []
    /// Whether the run is the one made for two: it leaves `inviting` by itself, and everything is shared.
    var isForTwo: Bool
    /// Participants whose account was deleted after they began.
    var erasedRunners = 0
    /// The common start; absent in rolling runs.
    private(set) var startsAt: Timestamp?
    /// When the run was finished or canceled.
    private(set) var overAt: Timestamp?

    var deadlines: RunDeadlines

    /// Creates a run. The machine has checked limits and ghosts.
    ///
    /// - Parameter unreachable: the invited users who do not see the invitation.
    init(
        _ id: RunID, _ proposal: RunProposal, from user: User, unreachable: Set<User> = [], now: Moment
    ) throws(Refusal) {
        let settings = try proposal.settings(user, now.wallClock)
        let isForTwo = proposal.invite.count == 1 && settings.scheduledAt == nil
        let sharing: Sharing = isForTwo ? .all : .group
        var creator = RunParticipant(invited: user, sharing: sharing, isHidden: false, now: now)
        creator.accept(proposal.sharing, isLate: false, now: now)
        participants =
            [creator]
            + proposal.invite.map {
                RunParticipant(invited: $0, sharing: sharing, isHidden: unreachable.contains($0), now: now)
            }
        ghosts = proposal.ghosts.enumerated().map { RunGhost(number: $0 + 1, $1, createdBy: user) }
        self.id = id
        self.creator = user
        self.isForTwo = isForTwo
        self.settings = settings
        createdAt = now.wallClock
        host = user
        deadlines = RunDeadlines(settings, now)
        status = settings.start == .rolling ? .running : .inviting
        if status == .inviting, proposal.invite.isEmpty, settings.scheduledAt == nil { beginConfirming(now) }
        settle(now)
    }

    func participant(_ user: User) -> RunParticipant? { participants.first { $0.user == user } }

    var isRolling: Bool { settings.start == .rolling }

    /// Whether people can still accept and confirm after the start. It holds from `starting` on, so that an answer in the
    /// seconds of the countdown is not refused.
    var isOpen: Bool {
        guard status == .starting || status == .running else { return false }
        return isRolling ? deadlines.closes != nil : settings.lateJoin
    }

    // MARK: Sessions

    /// Takes in a session's newer state. It ignores sessions of users who did not confirm: a session that names a run
    /// does not add its user to it.
    mutating func see(_ session: RunSession, of user: User, now: Moment) {
        guard let index = participants.firstIndex(where: { $0.user == user }), participants[index].takesPart,
            participants[index].has(session, in: id), participants[index].see(session)
        else { return }
        settle(now)
    }

    // MARK: Time

    /// The next deadline.
    var due: Moment? {
        guard !status.isOver else { return nil }
        var moments = status == .running ? participants.compactMap(\.absentBy) : []
        if let end = deadlines.end(of: status) { moments.append(end) }
        if participants.contains(where: { $0.decision == .invited }) { moments.append(deadlines.expires) }
        return moments.min()
    }

    /// Passes the deadlines up to now.
    mutating func advance(to now: Moment) {
        while let due, due <= now { pass(now) }
    }

    /// Passes the deadline that comes first in the life of a run.
    private mutating func pass(_ now: Moment) {
        let isOver = deadlines.end(of: status).map { $0 <= now } ?? false
        if status == .inviting, let begins = deadlines.begins, begins <= now {
            beginConfirming(now)
        } else if status == .confirming, isOver {
            endConfirming(now)
        } else if status == .starting, isOver {
            status = .running
            deadlines.passStart()
        } else if status == .running, isOver {
            deadlines.passClose()
            closeInvitations(now)
        } else if deadlines.expires <= now,
            status == .inviting || participants.contains(where: { $0.decision == .invited })
        {
            decline("expired", now) { $0.decision == .invited }
            if status == .inviting { cancel("expired", now) }
        } else {
            for index in participants.indices where participants[index].absentBy.map({ $0 <= now }) ?? false {
                participants[index].missStart()
            }
        }
        settle(now)
    }

    private mutating func endConfirming(_ now: Moment) {
        let allowsLate = settings.lateJoin
        decline("unconfirmed", now) { $0.decision == .accepted && !($0.isLate && allowsLate) }
        guard passHost(), hasEnoughRunners(isStarting: true) else { return cancel("unconfirmed", now) }
        start(now)
    }

    /// Limits deadlines that were stored before the wall clock stepped backwards.
    mutating func limit(to now: Moment) {
        deadlines.limit(settings, to: now)
        let absent = RunDeadlines.latestStart(settings, now) + RunDeadlines.absence
        for index in participants.indices { participants[index].limit(absentBy: absent) }
    }

    // MARK: Transitions

    mutating func beginConfirming(_ now: Moment) {
        status = .confirming
        deadlines.beginConfirming(now)
    }

    private mutating func start(_ now: Moment) {
        status = .starting
        let (start, time) = deadlines.start(settings, now)
        startsAt = time
        for index in participants.indices { participants[index].begin(at: start, time) }
        if !settings.lateJoin { closeInvitations(now) }
    }

    mutating func cancel(_ reason: String?, _ now: Moment) {
        status = .canceled
        self.reason = reason
        end(now)
        decline("closed", now) { $0.decision == .invited }
    }

    private mutating func finish(_ now: Moment) {
        status = .finished
        end(now)
        closeInvitations(now)
    }

    private mutating func end(_ now: Moment) {
        overAt = now.wallClock
        deadlines.end()
    }

    private mutating func closeInvitations(_ now: Moment) {
        decline("closed", now) { $0.decision == .invited || $0.decision == .accepted }
    }

    private mutating func decline(_ reason: String, _ now: Moment, _ isMeant: (RunParticipant) -> Bool) {
        for index in participants.indices where isMeant(participants[index]) {
            participants[index].decline(reason, now: now)
        }
    }

    /// Applies what follows from the participants' decisions and sessions.
    mutating func settle(_ now: Moment) {
        var before: RunStatus
        repeat {
            before = status
            for index in participants.indices { participants[index].refresh(in: status, now: now) }
            follow(now)
        } while status != before
        for index in participants.indices { participants[index].refresh(in: status, now: now) }
        let frozen = RunParticipant.Frozen(status: status, reason: reason, host: host, startsAt: startsAt)
        for index in participants.indices { participants[index].freeze(frozen) }
    }

    private mutating func follow(_ now: Moment) {
        switch status {
        case .inviting:
            guard passHost(), runnerCount >= RunSettings.runners.lowerBound else { return cancel("declined", now) }
            if isForTwo, participants.count == 2, participants.allSatisfy({ $0.decision == .accepted }) {
                beginConfirming(now)
            }
        case .confirming:
            guard passHost(), hasEnoughRunners(isStarting: false) else { return cancel("declined", now) }
            guard !participants.contains(where: { $0.decision == .accepted }) else { return }
            if hasEnoughRunners(isStarting: true) { start(now) }
        case .starting:
            guard passHost(), hasEnoughRunners(isStarting: true) else { return cancel("left", now) }
        case .running:
            let isRunning = participants.contains { $0.status == .confirmed || $0.status == .running }
            let hasHost = passHost()
            if isRunning { return }
            let isAwaited = participants.contains { $0.decision == .invited || $0.decision == .accepted }
            if hasHost, isRolling, isAwaited { return }
            let hasBegun = erasedRunners > 0 || participants.contains { $0.entry != nil }
            if hasBegun { finish(now) } else { cancel("declined", now) }
        case .finished, .canceled: break
        }
    }

    /// Whether two runners remain, one of them a participant.
    ///
    /// - Parameter isStarting: whether only those count who confirmed or may join late.
    private func hasEnoughRunners(isStarting: Bool) -> Bool {
        let people = participants.count {
            switch $0.decision {
            case .confirmed: true
            case .accepted: !isStarting || settings.lateJoin
            case .invited: !isStarting
            case .declined, .left: false
            }
        }
        let hasParticipant = isStarting ? participants.contains { $0.decision == .confirmed } : people > 0
        return hasParticipant && people + ghosts.count >= RunSettings.runners.lowerBound
    }

    /// Replaces a host who declined or left: by the earliest who confirmed, else by the earliest who accepted. Returns
    /// whether the run has a host.
    mutating func passHost() -> Bool {
        if let current = participant(host), current.decision == .accepted || current.decision == .confirmed {
            return true
        }
        func earliest(_ time: (RunParticipant) -> Timestamp?) -> RunParticipant? {
            participants.filter { time($0) != nil }.min { time($0)! < time($1)! }
        }
        let confirmed = earliest { $0.status == .confirmed || $0.status == .running ? $0.entry?.confirmedAt : nil }
        guard let next = confirmed ?? earliest({ $0.decision == .accepted ? $0.acceptedAt : nil }) else { return false }
        host = next.user
        return true
    }
}
