import Bus
import ServiceKit
import Workouts

/// A run in memory.
struct LoadedRun {
    var record: RunRecord
    var live: LiveRun
    /// When the run's next deadline is, and when its figures are due without further messages.
    var runDue: Moment?
    var liveDue: Moment?
    /// The parts of `partners` that are the same for all readers.
    var texts = PartnerTexts()
    /// ``LiveRun/storedChanges`` as of the last ``VirtualRunAction/saveLive(_:)``.
    var savedChanges = 0
    var finals: [Runner: FinalRecord] = [:]
    var results: VirtualRunView.Results?
    /// The participants whose views may have changed; `true` if theirs goes out at once.
    var pendingViews: [User: Bool] = [:]
    /// The users' lines in the list of runs as of the last ``VirtualRunAction/list(_:_:)``.
    var listings: [User: RunListing] = [:]
    /// What the run counts for as of the last ``VirtualRunAction/savePart(_:_:)``.
    var parts: [User: RunPart] = [:]
    /// When the live curves were stored.
    var curvesAt: Moment?

    var run: Run { record.run }
}

extension Run {
    /// When a participant's figures begin: with the run, also for late joiners; in rolling runs with the own start.
    func origin(of participant: RunParticipant) -> Timestamp? {
        isRolling ? participant.startsAt : startsAt ?? participant.startsAt
    }
}

/// What figures, results, views and lists need of it.
extension LoadedRun {
    /// The participants as the figures need them.
    func roster(_ profiles: [User: RunnerProfile]) -> RunRoster {
        let participants = run.participants.filter { !$0.isHidden }.map { participant in
            var row = RunRoster.Participant(participant.user, participant.status, sharing: participant.sharing)
            row.startsAt = run.origin(of: participant)
            row.session = participant.session?.session
            row.units = profiles[participant.user]?.units ?? .metric
            row.blocked = Set(run.blocks.filter { $0.by == participant.user }.map(\.of))
                .union(run.blocks.filter { $0.of == participant.user }.map(\.by))
            return row
        }
        var roster = RunRoster(run: run.id, settings: run.settings, status: run.status, participants: participants)
        for ghost in run.ghosts {
            guard let curve = curve(of: ghost) else { continue }
            roster.ghosts[ghost.number] = RunRoster.Ghost(user: ghost.owner, curve: curve)
        }
        return roster
    }

    /// A user's line in the list of runs.
    func listing(of user: User) -> RunListing? {
        guard let participant = run.participant(user), run.shows(to: user),
            var overview = run.overview(for: user)
        else { return nil }
        overview.place = results?.rows.first { $0.user == user && $0.ghost == nil }?.place
        let ghosts = run.sessionKeys.filter { $0.user == user }.map(\.session)
        return RunListing(
            overview: overview, sessions: Set((participant.entry?.sessions.map(\.session) ?? []) + ghosts).sorted())
    }

    func curve(of ghost: RunGhost) -> RunCurve? {
        ghost.pace.map { RunCurve(pace: $0) } ?? finals[.ghost(ghost.number)]?.curve
    }

    /// The results; `nil` before the first participant finishes.
    func makeResults() -> VirtualRunView.Results? {
        guard run.status == .finished || run.status == .running && run.participants.contains(where: \.hasFinished)
        else {
            return nil
        }
        var runners = run.participants.filter { $0.entry != nil }.map { participant in
            let workout = record.workout(of: participant)
            let final = finals[.participant(participant.user)]
            var entry = RunResults.Entry(
                user: participant.user, .participant(participant.status, isWithdrawn: participant.isWithdrawn),
                // A view leaves out what a runner does not share with its reader.
                startsAt: run.origin(of: participant), sharing: .all, workout: workout,
                curve: final?.session == workout?.session && final?.summaries == workout?.summaries
                    ? final?.curve : nil)
            entry.clockSkew = participant.session?.clockSkew
            return entry
        }
        // An account that is deleted leaves a row without a name.
        runners += (0..<run.erasedRunners).map { _ in
            RunResults.Entry(user: nil, .participant(.left, isWithdrawn: true))
        }
        runners += run.ghosts.map {
            RunResults.Entry(user: $0.owner, .ghost($0.number), curve: curve(of: $0))
        }
        let results = RunResults(run.settings, runners)
        return VirtualRunView.Results(isProvisional: results.isProvisional, rows: results.rows)
    }

    /// What a user's view shows besides the run.
    func figures(for user: User, _ profiles: [User: RunnerProfile]) -> RunFigures {
        var figures = RunFigures()
        figures.prompt = live.prompt(of: user).map(VirtualRunView.Prompt.init)
        figures.results = results
        for participant in run.participants {
            figures.maximumHeartRates[participant.user] = profiles[participant.user]?.maximumHeartRate
            guard participant.status == .finished, let workout = record.workout(of: participant) else { continue }
            figures.finishes[participant.user] = VirtualRunView.Participant.Finish(
                distance: workout.distance, activeDuration: workout.activeDuration,
                pace: workout.distance.flatMap { runPace(seconds: workout.activeDuration, meters: $0) })
        }
        return figures
    }
}

/// What the service reads of a user's profile.
struct RunnerProfile: Equatable, Decodable, Sendable {
    var units: Units?
    var maximumHeartRate: Double?
    var erasedAt: Timestamp?
}
