import Bus
import ServiceKit
import Workouts

/// What figures, results and views need of an entry.
extension VirtualRunMachine {
    func roster(of entry: Entry) -> RunRoster {
        let run = entry.run
        let participants = run.participants.filter { !$0.isHidden }.map { participant in
            var row = RunRoster.Participant(participant.user, participant.status, sharing: participant.sharing)
            row.startsAt = participant.startsAt
            row.session = participant.session?.session
            row.units = profiles[participant.user]?.units ?? .metric
            row.blocked = Set(run.blocks.filter { $0.by == participant.user }.map(\.of))
                .union(run.blocks.filter { $0.of == participant.user }.map(\.by))
            return row
        }
        var roster = RunRoster(run: run.id, settings: run.settings, status: run.status, participants: participants)
        for ghost in run.ghosts {
            guard let curve = curve(of: ghost, entry) else { continue }
            roster.ghosts[ghost.number] = RunRoster.Ghost(user: ghost.owner, curve: curve)
        }
        return roster
    }

    private func curve(of ghost: RunGhost, _ entry: Entry) -> RunCurve? {
        ghost.pace.map { RunCurve(pace: $0) } ?? entry.finals[.ghost(ghost.number)]?.curve
    }

    /// The results once somebody has finished.
    func results(of entry: Entry) -> VirtualRunView.Results? {
        let run = entry.run
        guard run.status == .finished || run.status == .running && run.participants.contains(where: \.hasFinished)
        else {
            return nil
        }
        var runners = run.participants.filter { $0.entry != nil }.map { participant in
            let workout = entry.record.workout(of: participant)
            let final = entry.finals[.participant(participant.user)]
            return RunResults.Entry(
                user: participant.user, .participant(participant.status, isWithdrawn: participant.isWithdrawn),
                // A view leaves out what a runner does not share with its reader.
                startsAt: participant.startsAt, sharing: .all, workout: workout,
                curve: final?.session == workout?.session && final?.summaries == workout?.summaries
                    ? final?.curve : nil)
        }
        // An account that is deleted leaves a row without a name.
        runners += (0..<run.erasedRunners).map { _ in
            RunResults.Entry(user: nil, .participant(.left, isWithdrawn: true))
        }
        runners += run.ghosts.map {
            RunResults.Entry(user: $0.owner, .ghost($0.number), curve: curve(of: $0, entry))
        }
        let results = RunResults(run.settings, runners)
        return VirtualRunView.Results(isProvisional: results.isProvisional, rows: results.rows)
    }

    func figures(of entry: Entry, for user: User) -> RunFigures {
        var figures = RunFigures()
        figures.prompt = entry.live.prompt(of: user).map(VirtualRunView.Prompt.init)
        figures.results = entry.results
        for participant in entry.run.participants {
            figures.maximumHeartRates[participant.user] = profiles[participant.user]?.maximumHeartRate
            guard participant.status == .finished, let workout = entry.record.workout(of: participant) else { continue }
            figures.finishes[participant.user] = VirtualRunView.Participant.Finish(
                distance: workout.distance, activeDuration: workout.activeDuration, pace: workout.pace)
        }
        return figures
    }
}

extension RunWorkout {
    /// Seconds per kilometre; `nil` below 50 m and above 1,800 s/km.
    fileprivate var pace: Double? {
        guard let distance, distance >= 50 else { return nil }
        let pace = activeDuration / distance * 1_000
        return pace <= 1_800 ? pace : nil
    }
}
