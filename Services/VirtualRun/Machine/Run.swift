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
    /// Seconds from the creation of a run until its invitations are over.
    static let invitation = 86_400.0
    static let confirmation = 60.0
    /// Seconds for the delivery of a start, before its countdown.
    static let delivery = 1.0
    /// Seconds after the start until a participant without a session is absent.
    static let absence = 600.0
    /// Seconds before the scheduled time at which a host can begin.
    static let earlyBegin = 3_600.0
    /// Participants of a run, those who declined included.
    static let listLimit = 100

    let id: RunID
    let createdAt: Timestamp
    /// `nil` once the creator's account is deleted.
    private(set) var creator: User?
    private(set) var settings: RunSettings
    private(set) var host: User
    private(set) var status: RunStatus
    /// Why the run was canceled; `nil` after a request.
    private(set) var reason: String?
    /// In order of invitation.
    var participants: [RunParticipant]
    private(set) var ghosts: [RunGhost]
    /// Who blocks whom, of participants and owners of ghosts.
    private(set) var blocks: [RunBlock] = []
    /// Whether the run is the one made for two: it leaves `inviting` by itself, and everything is shared.
    private(set) var isForTwo: Bool
    /// Participants whose account was deleted after they began.
    private(set) var erasedRunners = 0
    /// The common start; absent in rolling runs.
    private(set) var startsAt: Timestamp?
    /// When the run was finished or canceled.
    private(set) var overAt: Timestamp?

    /// The end of open invitations.
    private(set) var expires: Moment
    /// The beginning of confirming, of a scheduled run.
    private var begins: Moment?
    private(set) var confirmBy: Moment?
    private var isConfirmingExtended = false
    /// ``startsAt``, while the run is starting.
    private var starts: Moment?
    /// The end of a rolling run; `nil` once it is over.
    private var closes: Moment?

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
        expires = now + Self.invitation
        status = .inviting
        if let scheduled = settings.scheduledAt {
            expires = max(expires, now.when(scheduled))
            begins = now.when(scheduled) - Self.confirmation
        }
        if let end = settings.endsAt {
            expires = max(expires, now.when(end))
            closes = now.when(end)
            status = .running
        } else if proposal.invite.isEmpty, settings.scheduledAt == nil {
            beginConfirming(now)
        }
        settle(now)
    }

    func participant(_ user: User) -> RunParticipant? { participants.first { $0.user == user } }

    var isRolling: Bool { settings.start == .rolling }

    /// Whether people can still accept and confirm after the start. It holds from `starting` on, so that an answer in the
    /// seconds of the countdown is not refused.
    var isOpen: Bool {
        guard status == .starting || status == .running else { return false }
        return isRolling ? closes != nil : settings.lateJoin
    }

    // MARK: Sessions

    /// Takes in a session's newer state. Sessions of users who did not confirm are ignored: naming a run is no way into it.
    mutating func see(_ session: RunSession, of user: User, now: Moment) {
        guard let index = participants.firstIndex(where: { $0.user == user }), participants[index].takesPart,
            participants[index].has(session, in: id), participants[index].see(session)
        else { return }
        settle(now)
    }

    // MARK: Time

    /// The next deadline.
    var due: Moment? {
        var moments = participants.compactMap(\.absentBy).filter { _ in status == .running }
        switch status {
        case .inviting: moments += [begins, expires].compactMap(\.self)
        case .confirming: moments += [confirmBy].compactMap(\.self)
        case .starting: moments += [starts].compactMap(\.self)
        case .running: moments += [closes].compactMap(\.self)
        case .finished, .canceled: return nil
        }
        if participants.contains(where: { $0.decision == .invited }) { moments.append(expires) }
        return moments.min()
    }

    /// Passes the deadlines up to now.
    mutating func advance(to now: Moment) {
        while let due, due <= now { pass(now) }
    }

    /// Passes the deadline that comes first in the life of a run.
    private mutating func pass(_ now: Moment) {
        if status == .inviting, let begins, begins <= now {
            beginConfirming(now)
        } else if status == .confirming, let confirmBy, confirmBy <= now {
            endConfirming(now)
        } else if status == .starting, let starts, starts <= now {
            status = .running
            self.starts = nil
        } else if let closes, closes <= now {
            self.closes = nil
            closeInvitations(now)
        } else if expires <= now, participants.contains(where: { $0.decision == .invited }) || status == .inviting {
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
        let isPlanned = settings.scheduledAt != nil || settings.endsAt != nil
        expires = expires.atMost(now + (isPlanned ? RunSettings.horizon : Self.invitation))
        begins = begins?.atMost(now + RunSettings.horizon)
        closes = closes?.atMost(now + RunSettings.horizon)
        confirmBy = confirmBy?.atMost(now + Self.confirmation)
        let start =
            now + max(Self.delivery + settings.countdown, settings.scheduledAt == nil ? 0 : Self.earlyBegin)
        starts = starts?.atMost(start)
        for index in participants.indices { participants[index].limit(absentBy: start + Self.absence) }
    }

    // MARK: Transitions

    mutating func beginConfirming(_ now: Moment) {
        status = .confirming
        begins = nil
        confirmBy = now + Self.confirmation
    }

    /// Without late joining, who accepts while confirming gets the time of a confirmation, once.
    mutating func extendConfirming(_ now: Moment) {
        guard status == .confirming, !settings.lateJoin, !isConfirmingExtended else { return }
        isConfirmingExtended = true
        confirmBy = now + Self.confirmation
    }

    /// An invitation lasts 24 h at least.
    mutating func extendInvitations(_ now: Moment) {
        expires = max(expires, now + Self.invitation)
    }

    private mutating func start(_ now: Moment) {
        status = .starting
        confirmBy = nil
        var start = now + (Self.delivery + settings.countdown)
        var time = start.wallClock
        if let scheduled = settings.scheduledAt, now.when(scheduled) > start {
            (start, time) = (now.when(scheduled), scheduled)
        }
        (starts, startsAt) = (start, time)
        for index in participants.indices {
            participants[index].begin(at: start, time, absentAfter: Self.absence)
        }
        if !settings.lateJoin { closeInvitations(now) }
    }

    /// Fixes the own start of who confirms after the others started, and in rolling runs.
    mutating func startLate(_ index: Int, _ now: Moment) {
        var start = now + (Self.delivery + settings.countdown)
        if let starts, starts > start { start = starts }
        participants[index].begin(
            at: start, max(start.wallClock, startsAt ?? start.wallClock), absentAfter: Self.absence)
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
        (begins, confirmBy, starts, closes) = (nil, nil, nil, nil)
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
            let others = participants.filter { $0.user != host && $0.isRunner }
            guard passHost(), !others.isEmpty || !ghosts.isEmpty else { return cancel("declined", now) }
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
            if hasHost, isRolling, closes != nil, isAwaited { return }
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
    private mutating func passHost() -> Bool {
        if let current = participant(host), current.decision == .accepted || current.decision == .confirmed {
            return true
        }
        let confirmed = participants.filter { $0.status == .confirmed || $0.status == .running }
        let accepted = participants.filter { $0.decision == .accepted }
        guard
            let next = confirmed.min(by: { ($0.entry?.confirmedAt ?? createdAt) < ($1.entry?.confirmedAt ?? createdAt) }
            )
                ?? accepted.min(by: { ($0.acceptedAt ?? createdAt) < ($1.acceptedAt ?? createdAt) })
        else { return false }
        host = next.user
        return true
    }

    // MARK: People

    /// A run made for two becomes a group: each shares position, route and ghost again in person.
    mutating func openToGroup() {
        guard isForTwo else { return }
        isForTwo = false
        for index in participants.indices {
            participants[index].sharing.apply(Sharing.Change(position: false, route: false, ghost: false))
        }
    }

    /// Replaces the users whom a user blocks. The machine repeats it after an invitation: only those in the run are kept.
    mutating func setBlocked(_ blocked: some Sequence<User>, by user: User) {
        let people = Set(participants.map(\.user) + ghosts.compactMap(\.owner))
        guard people.contains(user) else { return }
        blocks.removeAll { $0.by == user }
        blocks += blocked.filter { people.contains($0) }.map { RunBlock(by: user, of: $0) }
        blocks.sort { ($0.by, $0.of) < ($1.by, $1.of) }
    }

    /// Removes the ghosts of a deleted or withdrawn session, or all of a user.
    mutating func removeGhosts(of owner: User, session: SessionID? = nil, now: Moment) {
        let before = ghosts.count
        ghosts.removeAll { $0.owner == owner && (session == nil || $0.session == session) }
        if ghosts.count != before { settle(now) }
    }

    /// Removes a user whose account is deleted.
    mutating func erase(_ user: User, now: Moment) {
        ghosts.removeAll { $0.owner == user }
        blocks.removeAll { $0.by == user || $0.of == user }
        if creator == user {
            creator = nil
            settings.name = nil
        }
        if let gone = participant(user) {
            if gone.entry?.sessions.isEmpty == false { erasedRunners += 1 }
            participants.removeAll { $0.user == user }
            if host == user, startsAt == nil, !isRolling, !status.isOver { cancel("deleted", now) }
        }
        if host == user, !passHost(), let next = participants.first(where: \.takesPart) ?? participants.first {
            host = next.user
        }
        for index in participants.indices { participants[index].replaceFrozenHost(user, by: host) }
        settle(now)
    }

    /// Whether nobody is left to whom the run belongs: the machine removes it.
    var isDeserted: Bool { !participants.contains { $0.isRunner } }
}
