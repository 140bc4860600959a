import Bus
import Foundation
import ServiceKit
import Workouts

/// What the rules of one run need of other runs and of people.
struct RunContext: Sendable {
    /// Whether another run that is not over has the user as confirmed or running: see ``Run/occupies(_:)``.
    var isRunningElsewhere = false
    /// Why invitations are refused: it is thrown if one of them is new. See ``Run/newInvitations(_:)``.
    var refusal: Refusal?
    /// Invited users who do not see the invitation: blocking or at the limit of open invitations.
    var unreachable: Set<User> = []
    /// Whether the user has a prompt, answered or not.
    var hasPrompt = false
}

extension Run {
    /// Whether the user cannot confirm another run.
    func occupies(_ user: User) -> Bool {
        guard !status.isOver, let status = participant(user)?.status else { return false }
        return status == .confirmed || status == .running
    }

    /// The users whom an invitation would add: all but those in the run and those who declined in person.
    func newInvitations(_ users: [User]) -> [User] {
        users.filter { user in
            guard let known = participant(user) else { return true }
            return known.decision == .declined && known.reason != nil
        }
    }

    /// Performs a request. One that asks for what is already so changes nothing, and so does a refused one.
    mutating func receive(
        _ action: VirtualRunRequest.Action, from user: User, context: RunContext = RunContext(), now: Moment,
        using random: inout some RandomNumberGenerator
    ) throws(Refusal) {
        if case .create(let proposal) = action {
            guard creator == user, try proposal.settings(user, createdAt) == settings else {
                throw .invalidState("run \(id) exists; use another id")
            }
            return
        }
        guard let index = participants.firstIndex(where: { $0.user == user && !$0.isHidden }) else {
            throw .runNotFound(id)
        }
        var next = self
        try next.perform(action, index, context, now, &random)
        next.settle(now)
        self = next
    }

    private mutating func perform(
        _ action: VirtualRunRequest.Action, _ index: Int, _ context: RunContext, _ now: Moment,
        _ random: inout some RandomNumberGenerator
    ) throws(Refusal) {
        let own = participants[index]
        switch action {
        case .invite(let users):
            try requireHost(own)
            try invite(users, context, now)
        case .remove(let user):
            try requireHost(own)
            try remove(user, now)
        case .begin:
            try requireHost(own)
            try begin(now)
        case .cancel:
            try requireHost(own)
            try cancel(now)
        case .accept(let sharing): try accept(index, sharing, now)
        case .decline:
            switch own.decision {
            case .invited, .accepted: participants[index].decline(now: now)
            case .declined: break
            case .confirmed, .left: throw .impossible(action, own.status, "leave ends your part")
            }
        case .confirm: try confirm(index, context, now, &random)
        case .leave:
            switch own.decision {
            case .confirmed where startsAt == nil && !isRolling: participants[index].decline(now: now)
            case .confirmed: participants[index].leave(now: now)
            case .declined, .left: break
            case .invited, .accepted: throw .impossible(action, own.status, "decline ends your part")
            }
        case .share(let change):
            guard own.decision != .invited, own.decision != .declined else {
                throw .impossible(action, own.status, "accept first")
            }
            participants[index].sharing.apply(change)
        case .keepWaiting:
            guard own.status == .running, context.hasPrompt else {
                throw .invalidState("there is no prompt: a partner is connected, or all have finished")
            }
        case .show: break
        case .routes:
            guard status == .finished, own.takesPart, own.status != .left else {
                throw .invalidState("routes are for participants of a finished run; this one is \(status.rawValue)")
            }
        case .create, .runs, .addContact, .removeContact, .block, .unblock, .setInvites:
            preconditionFailure("\(action.name) is not about an existing run")
        }
    }

    private func requireHost(_ own: RunParticipant) throws(Refusal) {
        guard own.user == host else { throw .notHost(host) }
    }

    private mutating func invite(_ users: [User], _ context: RunContext, _ now: Moment) throws(Refusal) {
        guard status == .inviting || status == .confirming || isOpen else {
            throw .invalidState("the run is \(status.rawValue); it takes no invitations")
        }
        let new = newInvitations(users)
        guard !new.isEmpty else { return }
        if let refusal = context.refusal { throw refusal }
        let runners = runnerCount + new.count
        let listed = participants.count + new.count { participant($0) == nil }
        guard runners <= RunSettings.runners.upperBound, listed <= Self.listLimit else { throw .runFull }
        openToGroup()
        for user in new {
            let isHidden = context.unreachable.contains(user)
            if let index = participants.firstIndex(where: { $0.user == user }) {
                participants[index].invite(sharing: .group, isHidden: isHidden, now: now)
            } else {
                participants.append(RunParticipant(invited: user, sharing: .group, isHidden: isHidden, now: now))
            }
        }
        deadlines.extendInvitations(now)
    }

    private mutating func remove(_ user: User, _ now: Moment) throws(Refusal) {
        guard user != host else { throw .invalidState("the host cannot be removed; decline or cancel instead") }
        guard let index = participants.firstIndex(where: { $0.user == user }) else {
            throw .invalidState("\(user) is not invited")
        }
        switch participants[index].decision {
        case .invited, .accepted: participants[index].decline("removed", now: now)
        case .declined: break
        case .confirmed, .left:
            throw .invalidState("\(user) has confirmed; only invited and accepted people can be removed")
        }
    }

    private mutating func begin(_ now: Moment) throws(Refusal) {
        switch status {
        case .inviting: break
        case .confirming, .starting, .running: return
        case .finished, .canceled: throw .invalidState("the run is \(status.rawValue)")
        }
        guard !ghosts.isEmpty || participants.contains(where: { $0.user != host && $0.decision == .accepted }) else {
            throw .invalidState("a run needs a second runner to begin; wait until one accepts")
        }
        if let scheduled = settings.scheduledAt {
            let wait = now.when(scheduled).seconds(since: now) - RunDeadlines.earlyBegin
            guard wait <= 0 else {
                throw Refusal(
                    code: Refusal.invalidState("").code, message: "the run can begin an hour before scheduledAt",
                    retryAfter: wait.rounded(.up))
            }
        }
        beginConfirming(now)
    }

    private mutating func cancel(_ now: Moment) throws(Refusal) {
        switch status {
        case .inviting, .confirming: cancel(nil, now)
        case .canceled: break
        case .starting, .running, .finished:
            throw .invalidState("the run has begun; leave ends your part")
        }
    }

    private mutating func accept(_ index: Int, _ sharing: Sharing.Change, _ now: Moment) throws(Refusal) {
        let own = participants[index]
        switch own.decision {
        case .accepted, .confirmed: return
        case .declined where own.reason == "expired": throw .inviteExpired
        case _ where status.isOver: throw .invalidState("the run is \(status.rawValue)")
        case .declined, .left: throw .impossible(.accept(sharing), own.status)
        case .invited: break
        }
        guard status == .inviting || status == .confirming || isOpen else {
            throw .invalidState("the run is \(status.rawValue)")
        }
        participants[index].accept(sharing, isLate: status != .inviting, now: now)
        if status == .confirming, !settings.lateJoin { deadlines.extendConfirming(now) }
    }

    private mutating func confirm(
        _ index: Int, _ context: RunContext, _ now: Moment, _ random: inout some RandomNumberGenerator
    ) throws(Refusal) {
        let own = participants[index]
        switch own.decision {
        case .confirmed: return
        case .invited, .declined, .left: throw .impossible(.confirm, own.status, "accept comes first")
        case .accepted: break
        }
        guard status == .confirming || isOpen else {
            throw .invalidState("confirm is for runs that begin; this one is \(status.rawValue)")
        }
        guard !context.isRunningElsewhere else { throw .runInProgress }
        let entry = RunParticipant.Entry(
            session: SessionID(UUID(using: &random)), startId: CommandID(UUID(using: &random)),
            confirmedAt: now.wallClock)
        participants[index].confirm(entry, now: now)
        guard isOpen else { return }
        let start = deadlines.ownStart(settings, now)
        participants[index].begin(at: start, start.wallClock)
    }
}

extension RunProposal {
    /// The settings with their defaults, if the proposal is valid at a time.
    func settings(_ user: User, _ now: Timestamp) throws(Refusal) -> RunSettings {
        guard !invite.contains(user) else { throw .invalidCommand("invite: the host is in the run already") }
        guard RunSettings.runners.contains(1 + invite.count + ghosts.count),
            ghosts.count <= RunSettings.ghostLimit
        else { throw .invalidCommand("invite: a run has 2 to 50 runners: the host, invited people and ghosts") }
        var settings = settings
        if settings.start == .rolling { settings.endsAt = settings.endsAt ?? now + RunDeadlines.invitation }
        for (time, field) in [(settings.scheduledAt, "scheduledAt"), (settings.endsAt, "endsAt")] {
            guard let time else { continue }
            let ahead = time.seconds(since: now)
            guard ahead > 0, ahead <= RunSettings.horizon else {
                throw .invalidCommand("\(field): in the future, at most 7 days ahead")
            }
        }
        return settings
    }

}

extension UUID {
    /// A random UUID of version 4.
    fileprivate init(using random: inout some RandomNumberGenerator) {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

extension Refusal {
    static func runNotFound(_ run: RunID) -> Refusal {
        Refusal(code: "run_not_found", message: "run \(run) not found; the request runs lists yours")
    }
    static func notHost(_ host: User) -> Refusal {
        Refusal(code: "not_host", message: "only the host, \(host), can do this")
    }
    static let runFull = Refusal(
        code: "run_full",
        message: "a run has at most \(RunSettings.runners.upperBound) runners and \(Run.listLimit) invited people")
    static let inviteExpired = Refusal(
        code: "invite_expired", message: "the invitation is over; the host can invite again")
    static let runInProgress = Refusal(
        code: "run_in_progress", message: "you are confirmed or running in another run; leave it first")

    fileprivate static func impossible(
        _ action: VirtualRunRequest.Action, _ status: ParticipantStatus, _ advice: String? = nil
    ) -> Refusal {
        .invalidState(
            "\(action.name) is not possible while you are \(status.rawValue)\(advice.map { "; \($0)" } ?? "")")
    }
}
