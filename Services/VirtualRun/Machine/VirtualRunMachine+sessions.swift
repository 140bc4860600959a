import Bus
import MQTT
import ServiceKit
import Workouts

/// Sessions of runners and ghosts: states, live snapshots, finished records and their rows.
extension VirtualRunMachine {
    /// Handles a session's state.
    mutating func receiveState(_ state: SessionState, now: Moment) -> [VirtualRunAction] {
        let key = state.key
        // Results are those of the recording. A completed session changes them no more.
        if state.edited == true, state.status == .completed, knowsEnd(of: key) { return [] }
        var ids = index.runs(with: key)
        if let run = state.run { ids.insert(run) }
        var actions = state.status == .deleted ? refuseCreations(with: key, now) : []
        for id in ids.sorted() where entries[id] != nil {
            actions +=
                (try? change(id, by: key.user, now) { run throws(Refusal) in
                    run.see(RunSession(state), of: key.user, now: now)
                    if state.status == .deleted { run.removeGhosts(of: key.user, session: key.session, now: now) }
                }) ?? []
            if state.status == .deleted { actions += withdraw(key, from: id) }
            actions += advanceLive(id, now) + revise(id, now)
        }
        return actions
    }

    /// Whether all runs of a session know its end.
    private func knowsEnd(of key: SessionKey) -> Bool {
        let ids = index.runs(with: key)
        return !ids.isEmpty
            && ids.allSatisfy { id in
                entries[id]?.run.participant(key.user)?.entry?.sessions.contains {
                    $0.session == key.session && $0.endedAt != nil
                } ?? true
            }
    }

    /// Removes what a run keeps of a deleted session.
    private mutating func withdraw(_ key: SessionKey, from id: RunID) -> [VirtualRunAction] {
        guard let entry = entries[id] else { return [] }
        let runner = Runner.participant(key.user)
        let isGone = entry.finals[runner]?.session == key.session
        if isGone { entries[id]?.finals[runner] = nil }
        entries[id]?.record.workouts[key.user]?.removeAll { $0.session == key.session }
        rows.remove(key)
        return [.save(id)] + (isGone ? [.saveFinal(id, runner)] : []) + forgetGhosts(in: id)
    }

    /// Handles a live snapshot of a runner; ``advance(to:)`` follows.
    mutating func receiveMetrics(_ metrics: RunnerMetrics, of key: SessionKey, isRetained: Bool, now: Moment) {
        guard let id = metrics.run else { return }
        let isKnown: Void? = with(id) { $0.live.receive(metrics, of: key, isRetained: isRetained, now: now) }
        if isKnown != nil { touched.insert(id) }
    }

    /// Publishes what a run's figures ask for.
    mutating func advanceLive(_ id: RunID, _ now: Moment) -> [VirtualRunAction] {
        let isFed = feed.feeds(id)
        guard let outputs = with(id, { $0.live.advance(isFed: isFed, now: now) }) else { return [] }
        var cues: [VirtualRunAction] = []
        for output in outputs {
            switch output {
            case .partners(let user, let partners):
                counts.partners += 1
                let payload = with(id) { partners.payload(&$0.texts) } ?? []
                send(Topic.user(user, .partners(id)).message(payload), of: id.shard)
            case .positions(let user, let positions):
                send(Topic.user(user, .partnerPositions(id)).message(JSONCoding.encode(positions)), of: id.shard)
            case .clear(let user): send(Topic.user(user, .partners(id)).message([]), of: id.shard)
            case .cue(let user, let cue): cues.append(.announce(id, user, cue))
            case .prompt(let user, let since):
                if since != nil { counts.prompts += 1 }
                look(id, user, isUrgent: true)
            }
        }
        scheduleLive(id)
        return saveLive(id) + cues
    }

    /// Writes what a run's figures need after a restart, if it changed.
    mutating func saveLive(_ id: RunID) -> [VirtualRunAction] {
        let hasChanged = with(id) { entry in
            defer { entry.savedChanges = entry.live.storedChanges }
            return entry.savedChanges != entry.live.storedChanges
        }
        return hasChanged == true ? [.saveLive(id)] : []
    }

    // MARK: Finished records

    /// Whether rows of a session matter to a run.
    func wants(_ key: SessionKey) -> Bool {
        index.knows(key) || creations.values.contains { $0.ghosts.values.contains(key) }
    }

    /// Handles a session's finished record.
    mutating func receiveWorkout(_ workout: RunWorkout, of key: SessionKey, run named: RunID?, now: Moment)
        -> [VirtualRunAction]
    {
        var actions: [VirtualRunAction] = []
        for id in creations.keys.sorted() where creations[id]?.ghosts.values.contains(key) ?? false {
            creations[id]?.workouts[key] = workout
            rows.restart(key, workout.summaries, now: now)
        }
        var ids = index.runs(with: key)
        if let named { ids.insert(named) }
        for id in ids.sorted() {
            guard entries[id]?.run.participant(key.user)?.entry != nil,
                entries[id]?.record.keep(workout, of: key.user) ?? false
            else { continue }
            refresh(id, now)
            collect(id, now)
            look(id)
            actions += [.save(id)] + relist(id) + revise(id, now)
        }
        return actions
    }

    /// Starts to collect the rows that a run's results lack.
    mutating func collect(_ id: RunID, _ now: Moment) {
        guard let entry = entries[id], entry.results != nil else { return }
        for participant in entry.run.participants {
            guard let workout = entry.record.workout(of: participant) else { continue }
            let final = entry.finals[.participant(participant.user)]
            guard final?.session != workout.session || final?.summaries != workout.summaries else { continue }
            rows.collect(SessionKey(participant.user, workout.session), workout.summaries, now: now)
        }
    }

    /// Takes complete rows, and asks for missing ones.
    mutating func collect(_ now: Moment) -> [VirtualRunAction] {
        var actions: [VirtualRunAction] = []
        for key in rows.complete {
            do throws(PayloadError) {
                guard let (series, track) = try rows.take(key) else { continue }
                actions += take(series, track, of: key, now)
            } catch {
                // The next revision of the workout collects them again.
                counts.corrupt += 1
            }
        }
        guard feed.isConnected else { return actions }
        for key in rows.advance(to: now) {
            if let id = index.runs(with: key).first
                ?? creations.first(where: { $0.value.ghosts.values.contains(key) })?.key
            {
                actions.append(.request(id, key))
            }
        }
        return actions
    }

    private mutating func take(_ series: Series, _ track: Track, of key: SessionKey, _ now: Moment)
        -> [VirtualRunAction]
    {
        var actions: [VirtualRunAction] = []
        for id in index.runs(with: key).sorted() {
            guard let entry = entries[id], let participant = entry.run.participant(key.user),
                let workout = entry.record.workout(of: participant), workout.session == key.session
            else { continue }
            let runner = Runner.participant(key.user)
            entries[id]?.finals[runner] = FinalRecord(
                workout, series, track, in: entry.run.settings, startsAt: entry.run.origin(of: participant))
            refresh(id, now)
            look(id)
            actions += [.saveFinal(id, runner)] + relist(id) + revise(id, now)
        }
        for id in creations.keys.sorted() {
            guard let creation = creations[id], creation.ghosts.values.contains(key),
                let workout = creation.workouts[key]
            else { continue }
            guard case .create(let proposal) = creation.request.action else { continue }
            creations[id]?.curves[key] = FinalRecord(workout, series, track, in: proposal.settings, startsAt: nil)
            actions += finishCreation(id, now)
        }
        return actions
    }

    // MARK: Routes and ghosts

    /// The routes of a run that a participant may see now.
    func routes(of id: RunID, for user: User) -> [RunRoute] {
        guard let entry = entries[id] else { return [] }
        return entry.run.participants.compactMap { participant in
            let sharing = entry.run.sharing(of: participant.user, with: user)
            guard sharing.route, let route = entry.finals[.participant(participant.user)]?.route else { return nil }
            let shared = route.shared(
                hideNear: participant.sharing.hideNear, key: hidingKey, withHeartRate: sharing.heartRate)
            return RunRoute(user: participant.user, polyline: shared.polyline, h: shared.heartRates)
        }
    }

    /// The splits of those with a place: distance and pace are always shared.
    func splits(of id: RunID, for user: User) -> [RunSplits] {
        guard let entry = entries[id] else { return [] }
        let ghosts = entry.run.ghosts(for: user)
        let placed = (entry.results?.rows ?? []).filter { $0.place != nil }
        let longest = placed.compactMap(\.distance).max() ?? 0
        return placed.compactMap { row in
            guard let number = row.ghost else {
                guard let runner = row.user, let curve = entry.finals[.participant(runner)]?.curve else { return nil }
                return RunSplits(user: runner, curve, upTo: row.distance ?? 0)
            }
            guard let ghost = ghosts.first(where: { $0.number == number }), let curve = entry.curve(of: ghost) else {
                return nil
            }
            return RunSplits(user: ghost.owner, ghost: number, curve, upTo: longest)
        }
    }

    /// Whether a session's owner shares it as a ghost with another participant of its finished run.
    func sharesGhost(_ key: SessionKey, with user: User) -> Bool {
        (index.runs(with: key).compactMap { entries[$0]?.run } + (others.lent[key] ?? [])).contains { run in
            run.status == .finished && run.participant(key.user)?.session?.session == key.session
                && run.participant(user)?.takesPart ?? false && run.sharing(of: key.user, with: user).ghost
        }
    }

    /// Removes the ghosts that others run against, once their owner shares the session no longer.
    mutating func withdrawGhosts(of owner: User, in id: RunID, _ now: Moment) -> [VirtualRunAction] {
        guard let participant = entries[id]?.run.participant(owner), !participant.sharesGhost,
            let session = participant.session?.session
        else { return [] }
        return withdrawGhosts(SessionKey(owner, session), now)
    }

    /// Removes a session as a ghost from runs that others made.
    mutating func withdrawGhosts(_ key: SessionKey, _ now: Moment) -> [VirtualRunAction] {
        let (owner, session) = (key.user, key.session)
        others.lent[key] = nil
        return index.runs(with: key).sorted().flatMap { other -> [VirtualRunAction] in
            guard entries[other]?.run.creator != owner else { return [] }
            let actions =
                (try? change(other, now) { run throws(Refusal) in
                    run.removeGhosts(of: owner, session: session, now: now)
                }) ?? []
            return actions.isEmpty ? [] : actions + forgetGhosts(in: other) + revise(other, now)
        }
    }

    /// Removes the curves of ghosts that a run no longer has.
    mutating func forgetGhosts(in id: RunID) -> [VirtualRunAction] {
        guard let entry = entries[id] else { return [] }
        let gone = entry.finals.keys.filter { runner in
            guard case .ghost(let number) = runner else { return false }
            return !entry.run.ghosts.contains { $0.number == number }
        }
        for runner in gone { entries[id]?.finals[runner] = nil }
        return gone.sorted().map { .saveFinal(id, $0) }
    }

    /// Waits until the curves of all ghosts have arrived.
    mutating func wait(for creation: RunCreation, _ id: RunID, _ now: Moment) -> [VirtualRunAction] {
        var creation = creation
        creation.askedAt = now
        creations[id] = creation
        return creation.ghosts.values.sorted().map { .request(id, $0) }
    }

    private mutating func finishCreation(_ id: RunID, _ now: Moment) -> [VirtualRunAction] {
        guard let creation = creations[id], creation.curves.count == Set(creation.ghosts.values).count,
            case .create(let proposal) = creation.request.action
        else { return [] }
        creations[id] = nil
        var finals: [Runner: FinalRecord] = [:]
        for (number, key) in creation.ghosts { finals[.ghost(number)] = creation.curves[key] }
        do throws(Refusal) {
            // Meanwhile the user may have reached a limit, or an owner withdrawn a ghost.
            return start(try make(id, proposal, creation.user, now), creation.request, creation.user, finals, now)
        } catch {
            return refuse(creation, error, now)
        }
    }

    /// Refuses the runs that wait for the curve of a deleted session.
    private mutating func refuseCreations(with key: SessionKey, _ now: Moment) -> [VirtualRunAction] {
        creations.filter { $0.value.ghosts.values.contains(key) }.sorted { $0.key < $1.key }.flatMap { id, creation in
            creations[id] = nil
            return refuse(creation, .ghostNotFound(key), now)
        }
    }

    /// Asks again for the records of ghosts, and refuses runs that waited too long.
    mutating func advanceCreations(_ now: Moment) -> [VirtualRunAction] {
        var actions: [VirtualRunAction] = []
        for (id, creation) in creations.sorted(by: { $0.key < $1.key }) {
            let missing = creation.ghosts.values.filter { creation.curves[$0] == nil }.sorted()
            if now.seconds(since: creation.since) >= RunCreation.timeout, let key = missing.first {
                creations[id] = nil
                for key in missing where !index.knows(key) { rows.remove(key) }
                actions += refuse(creation, .ghostNotFound(key), now)
            } else if creation.askedAt.map({ now.seconds(since: $0) >= RunCreation.interval }) ?? true {
                creations[id]?.askedAt = now
                actions += missing.filter { creation.workouts[$0] == nil }.map { .request(id, $0) }
            }
        }
        return actions
    }
}
