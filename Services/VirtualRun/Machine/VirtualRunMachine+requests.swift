import Bus
import ServiceKit
import Workouts

/// Requests: replies to repeats, rates, and what a run's rules need of other runs and of people.
extension VirtualRunMachine {
    /// Performs a request of a user.
    mutating func answerRequest(
        _ request: VirtualRunRequest, of user: User, now: Moment, using random: inout some RandomNumberGenerator
    ) -> [VirtualRunAction] {
        if var known = replies.reply(to: request.id, of: user) {
            known.now = now.wallClock
            return [.reply(request.shard(of: user), user, request.client, known)]
        }
        // The reply comes with the ghosts' curves.
        if let run = request.run, let creation = creations[run], creation.request.id == request.id { return [] }
        guard replies.admit(user, now) else {
            return [.limited(user), refuse(request, user, .tooManyRunRequests, now)]
        }
        do throws(Refusal) {
            return try perform(request, user, now, &random)
        } catch {
            return [refuse(request, user, error, now)]
        }
    }

    /// Whether a repeated request has its reply already, or waits for it.
    func isAnswered(_ request: VirtualRunRequest, of user: User) -> Bool {
        replies.reply(to: request.id, of: user) != nil
            || request.run.flatMap { creations[$0] }?.request.id == request.id
    }

    private mutating func perform(
        _ request: VirtualRunRequest, _ user: User, _ now: Moment, _ random: inout some RandomNumberGenerator
    ) throws(Refusal) -> [VirtualRunAction] {
        guard let id = request.run else { return try performOnPeople(request, user, now) }
        let action = request.action
        guard others.shards.isEmpty || others.contributions[user] != nil || !action.needsOthers else {
            throw .tooManyRunRequests
        }
        if case .create(let proposal) = action, entries[id] == nil {
            return try create(id, proposal, request, user, now)
        }
        guard let run = entries[id]?.run else { throw .runNotFound(id) }
        let context = context(of: action, run, user, now)
        var actions = try change(id, by: user, now) { run throws(Refusal) in
            try run.receive(action, from: user, context: context, now: now, using: &random)
        }
        switch action {
        case .invite(let users):
            let new = run.newInvitations(users).count
            if new > 0, !actions.isEmpty {
                actions.append(countInvitations(new, of: user, id, now))
            }
            actions += try applyBlocks(to: id, now)
        case .accept:
            if !actions.isEmpty { actions += befriend(user, run.host, in: id, now) }
        case .share, .leave: actions += withdrawGhosts(of: user, in: id, now)
        case .keepWaiting:
            entries[id]?.live.keepWaiting(user, now: now)
            look(id, user, isUrgent: true)
            actions += advanceLive(id, now)
        case .show:
            look(id, user, isUrgent: true)
            actions += revise(id, now)
            if !actions.contains(.publishView(id, user)) { actions.append(.publishView(id, user)) }
        case .routes:
            var reply = Reply(
                id: request.id, revision: entries[id]?.record.views[user]?.topic.revision, now: now.wallClock)
            reply.routes = routes(of: id, for: user)
            reply.splits = splits(of: id, for: user)
            return actions + [.reply(id.shard, user, request.client, reply)]
        default: break
        }
        return actions + revise(id, now) + accept(request, user, now)
    }

    /// What the rules of a run need of other runs and of people.
    private func context(
        of action: VirtualRunRequest.Action, _ run: Run, _ user: User, _ now: Moment
    ) -> RunContext {
        var context = RunContext()
        switch action {
        case .confirm:
            context.isRunningElsewhere = parts(of: user, besides: run.id).contains(where: \.isOccupied)
        case .invite(let users):
            let new = run.newInvitations(users)
            context.refusal = refusal(of: new, from: user, now)
            context.unreachable = Set(new.filter { !isReachable($0, for: user) })
        case .keepWaiting: context.hasPrompt = entries[run.id]?.live.prompt(of: user) != nil
        default: break
        }
        return context
    }

    // MARK: Creation

    private mutating func create(
        _ id: RunID, _ proposal: RunProposal, _ request: VirtualRunRequest, _ user: User, _ now: Moment
    ) throws(Refusal) -> [VirtualRunAction] {
        guard creations[id] == nil else { throw .invalidState("run \(id) waits for its ghosts; use another id") }
        let run = try make(id, proposal, user, now)
        var creation = RunCreation(request: request, user: user, since: now)
        for ghost in run.ghosts { creation.ghosts[ghost.number] = ghost.key }
        guard creation.ghosts.isEmpty else { return wait(for: creation, id, now) }
        return start(run, request, user, [:], now)
    }

    /// The run of a proposal, if limits and the owners of its ghosts allow it now.
    func make(_ id: RunID, _ proposal: RunProposal, _ user: User, _ now: Moment) throws(Refusal) -> Run {
        guard parts(of: user).count(where: \.isHost) < RunLimit.hosted else { throw .runLimit }
        if let refusal = refusal(of: proposal.invite, from: user, now) { throw refusal }
        let unreachable = Set(proposal.invite.filter { !isReachable($0, for: user) })
        let run = try Run(id, proposal, from: user, unreachable: unreachable, now: now)
        if let key = run.ghosts.compactMap(\.key).first(where: { $0.user != user && !sharesGhost($0, with: user) }) {
            throw .ghostNotFound(key)
        }
        return run
    }

    /// Stores a new run.
    mutating func start(
        _ run: Run, _ request: VirtualRunRequest, _ user: User, _ ghosts: [Runner: FinalRecord], _ now: Moment
    ) -> [VirtualRunAction] {
        load(RunRecord(run), finals: ghosts, now: now)
        let id = run.id
        // It has no line in anybody's list yet.
        entries[id]?.listings = [:]
        entries[id]?.parts = [:]
        for participant in run.participants { look(id, participant.user, isUrgent: true) }
        let counted = countInvitations(run.participants.count - 1, of: user, id, now)
        let links = run.ghosts.compactMap(\.key).map { VirtualRunAction.linkGhost($0, id) }
        return [.save(id), counted] + links + ghosts.keys.sorted().map { .saveFinal(id, $0) }
            + relist(id) + revise(id, now) + accept(request, user, now)
    }

    // MARK: Limits

    /// The contributions of other runs to a user's limits.
    private func parts(of user: User, besides id: RunID? = nil) -> [RunPart] {
        index.runs(of: user).filter { $0 != id }.compactMap { entries[$0]?.run.part(of: user) }
            + (others.contributions[user]?.parts ?? [])
    }

    private mutating func countInvitations(_ count: Int, of user: User, _ id: RunID, _ now: Moment) -> VirtualRunAction
    {
        invitations.add(count, of: user, in: id.shard, now)
        return .saveInvitations(id.shard, user)
    }

    /// Forgets invitations that count no more.
    mutating func forgetInvitations(in shard: Shard, _ now: Moment) -> [VirtualRunAction] {
        invitations.forget(in: shard, now).map { .saveInvitations(shard, $0) }
    }

    /// Why invitations are refused.
    private func refusal(of users: [User], from host: User, _ now: Moment) -> Refusal? {
        if let refusal = refusal(ofInvitationsTo: users) { return refusal }
        let sent = invitations.count(of: host, now) + (others.contributions[host]?.invitations ?? 0)
        guard users.count <= RunLimit.invitations - sent else { return .inviteLimit }
        let hosted = parts(of: host).filter(\.isHost)
        let isAtLimit = users.contains { user in
            hosted.count { $0.invited.contains(user) } >= RunLimit.openToOne
        }
        return isAtLimit ? .inviteLimitToOne : nil
    }

    /// Whether a user is shown a host's invitation.
    func isReachable(_ user: User, for host: User) -> Bool {
        guard people[user]?.accepts(invitationOf: host) ?? !others.own(user) else { return false }
        return parts(of: user).count(where: \.isShown) < RunLimit.shown
    }

    // MARK: Replies

    private func refuse(
        _ request: VirtualRunRequest, _ user: User, _ refusal: Refusal, _ now: Moment
    ) -> VirtualRunAction {
        let reply = Reply(id: request.id, revision: nil, now: now.wallClock, error: refusal)
        return .reply(request.shard(of: user), user, request.client, reply)
    }

    func refuse(_ creation: RunCreation, _ refusal: Refusal, _ now: Moment) -> [VirtualRunAction] {
        [refuse(creation.request, creation.user, refusal, now)]
    }

    /// Keeps and sends the reply to an accepted request.
    mutating func accept(_ request: VirtualRunRequest, _ user: User, _ now: Moment) -> [VirtualRunAction] {
        let revision =
            request.run.map { entries[$0]?.record.views[user]?.topic.revision } ?? people[user]?.topic.revision
        let reply = Reply(id: request.id, revision: revision, now: now.wallClock)
        let shard = request.shard(of: user)
        return replies.add(reply, of: shard, to: user).map { .eraseReplies($0.shard, user, [$0.reply.id]) }
            + [.saveReply(shard, user, request.id), .reply(shard, user, request.client, reply)]
    }
}

extension VirtualRunRequest.Action {
    /// Whether it depends on the user's runs of other replicas.
    var needsOthers: Bool {
        switch self {
        case .create, .invite, .confirm: true
        default: false
        }
    }
}

extension VirtualRunRequest {
    /// The shard of its owner: the run's, or the user's.
    func shard(of user: User) -> Shard { run?.shard ?? user.shard }
}

extension Refusal {
    static let tooManyRunRequests = Refusal(
        code: "too_many_requests", message: "too many requests (limit: 1 per second, bursts of 30); try again later",
        retryAfter: 5)
    static let runLimit = Refusal(
        code: "run_limit", message: "you host \(RunLimit.hosted) unfinished runs; cancel or finish one first")
    static let inviteLimit = Refusal(
        code: "invite_limit", message: "you may send \(RunLimit.invitations) invitations a day; invite fewer people")
    static let inviteLimitToOne = Refusal(
        code: "invite_limit",
        message: "someone on this list has \(RunLimit.openToOne) unanswered invitations from you; wait for a reply")
    static func unknownAccount(_ user: User) -> Refusal {
        Refusal(code: "unknown_account", message: "'\(user)' is no account that can take part in runs; check the name")
    }
    static func ghostNotFound(_ key: SessionKey) -> Refusal {
        Refusal(
            code: "ghost_not_found",
            message: "session \(key.session) of \(key.user) is not a finished workout that you may run against")
    }
    static let peopleLimit = Refusal(
        code: "people_limit",
        message: "at most \(RunPeople.limit) contacts and \(RunPeople.limit) blocked users; remove one first")
}
