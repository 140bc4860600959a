import Bus
import ServiceKit
import Workouts

/// A ghost of a run.
struct RunGhost: Codable, Equatable, Sendable {
    /// The number of the ghost, from 1.
    let number: Int
    /// The owner of ``session``; `nil` for a pacing partner.
    let owner: User?
    let session: SessionID?
    /// Seconds per kilometre, of a pacing partner.
    let pace: Double?

    init(number: Int, _ source: GhostSource, createdBy user: User) {
        self.number = number
        switch source {
        case .session(let other, let session):
            owner = other ?? user
            self.session = session
            pace = nil
        case .pace(let pace):
            (owner, session) = (nil, nil)
            self.pace = pace
        }
    }

    var key: SessionKey? {
        guard let owner, let session else { return nil }
        return SessionKey(owner, session)
    }
}

/// A user blocks another one.
struct RunBlock: Codable, Equatable, Sendable {
    let by: User
    let of: User
}

/// What a view shows besides the durable facts of a run.
struct RunFigures: Sendable {
    var prompt: VirtualRunView.Prompt?
    var maximumHeartRates: [User: Double] = [:]
    var finishes: [User: VirtualRunView.Participant.Finish] = [:]
    var results: VirtualRunView.Results?
}

extension Sharing {
    static let nothing = Sharing(position: false, heartRate: false, route: false, ghost: false)
}

extension Run {
    func isBlocked(_ user: User, _ other: User) -> Bool {
        blocks.contains { ($0.by, $0.of) == (user, other) || ($0.by, $0.of) == (other, user) }
    }

    /// What a participant shares with another one now: nothing once one of them has no part in the run, or blocks the
    /// other. A reader does not see how far the owner hides their home.
    func sharing(of owner: User, with reader: User) -> Sharing {
        guard let owner = participant(owner), let reader = participant(reader) else { return .nothing }
        return sharing(of: owner, with: reader)
    }

    private func sharing(of owner: RunParticipant, with reader: RunParticipant) -> Sharing {
        if owner.user == reader.user { return owner.sharing }
        guard owner.isSharing, reader.isSharing, !isBlocked(owner.user, reader.user) else { return .nothing }
        var sharing = owner.sharing
        sharing.hideNear = Sharing.all.hideNear
        return sharing
    }

    /// The ghosts that a participant sees: blocking ends those of the other.
    func ghosts(for reader: User) -> [RunGhost] {
        blocks.isEmpty ? ghosts : ghosts.filter { $0.owner.map { !isBlocked($0, reader) } ?? true }
    }

    /// Participants and ghosts.
    var runnerCount: Int { participants.count(where: \.isRunner) + ghosts.count }

    /// The sessions of participants, those that have not begun too, and of ghosts.
    var sessionKeys: Set<SessionKey> {
        let own = participants.flatMap { participant in
            (participant.entry.map { [$0.session] + $0.sessions.map(\.session) } ?? [])
                .map { SessionKey(participant.user, $0) }
        }
        return Set(own + ghosts.compactMap(\.key))
    }

    /// Whether a user sees the run.
    func shows(to user: User) -> Bool { participant(user).map { !$0.isHidden } ?? false }

    /// A user's line in the list of runs, without a place; `nil` for one who does not see the run.
    func overview(for user: User) -> RunOverview? {
        guard let own = participant(user), !own.isHidden else { return nil }
        var overview = RunOverview(
            run: id, status: own.frozen?.status ?? status, host: own.frozen?.host ?? host, createdAt: createdAt,
            runners: runnerCount, own: own.status)
        overview.name = settings.name
        overview.startsAt = own.startsAt ?? startsAt
        return overview
    }

    /// The view of a user; `nil` for one who does not see the run. A user who declined or left keeps the own row and what
    /// the run was then.
    func view(for user: User, revision: Int64, figures: RunFigures) -> VirtualRunView? {
        guard let own = participant(user), !own.isHidden else { return nil }
        var view = VirtualRunView(
            run: id, user: user, revision: revision, status: own.frozen?.status ?? status,
            host: own.frozen?.host ?? host, settings: settings, createdAt: createdAt, participants: [])
        if let frozen = own.frozen {
            view.reason = frozen.reason
            view.startsAt = frozen.startsAt
            view.participants = [row(own, for: own, figures)]
            return view
        }
        view.reason = reason
        view.startsAt = startsAt
        view.confirmBy = deadlines.confirmBy?.wallClock
        if participants.contains(where: { $0.decision == .invited }) { view.expiresAt = deadlines.expires.wallClock }
        if own.status == .running, status == .running { view.prompt = figures.prompt }
        let others = participants.filter { $0.user != host }
        view.participants = (participants.filter { $0.user == host } + others).map { row($0, for: own, figures) }
        view.ghosts = ghosts(for: user).map {
            VirtualRunView.Ghost(number: $0.number, user: $0.owner, pace: $0.pace)
        }
        view.results = figures.results.map { results($0, for: user) }
        return view
    }

    private func row(
        _ participant: RunParticipant, for reader: RunParticipant, _ figures: RunFigures
    ) -> VirtualRunView.Participant {
        let user = participant.user
        let sharing = sharing(of: participant, with: reader)
        var row = VirtualRunView.Participant(
            user: user, status: participant.status, at: participant.at, sharing: sharing)
        row.reason = participant.reason
        row.startsAt = participant.startsAt
        row.environment = participant.session?.environment
        if sharing.heartRate || user == reader.user { row.maximumHeartRate = figures.maximumHeartRates[user] }
        if participant.status == .finished { row.finished = figures.finishes[user] }
        guard user == reader.user else { return row }
        row.session = participant.entry?.session
        row.startId = participant.entry?.startId
        return row
    }

    /// The results without what a runner does not share with the reader.
    private func results(_ results: VirtualRunView.Results, for reader: User) -> VirtualRunView.Results {
        var results = results
        let ghosts = Set(ghosts(for: reader).map(\.number))
        results.rows.removeAll { $0.ghost.map { !ghosts.contains($0) } ?? false }
        for index in results.rows.indices {
            guard results.rows[index].ghost == nil, let user = results.rows[index].user, user != reader else {
                continue
            }
            let sharing = sharing(of: user, with: reader)
            if !sharing.heartRate { results.rows[index].averageHeartRate = nil }
            if !sharing.route { results.rows[index].hasRoute = nil }
        }
        return results
    }
}
