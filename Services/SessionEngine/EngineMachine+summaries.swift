import Bus
import Workouts

extension EngineMachine {
    /// Takes the totals of the samples; older ones than those known change nothing.
    mutating func receive(_ report: MetricsReport, for key: SessionKey, now: Timestamp) -> [EngineAction] {
        take(report, \.report, key, now)
    }

    /// Takes the totals of the locations; older ones than those known change nothing.
    mutating func receive(_ report: RouteReport, for key: SessionKey, now: Timestamp) -> [EngineAction] {
        take(report, \.route, key, now)
    }

    private mutating func take<Totals>(
        _ report: SummaryReport<Totals>, _ part: WritableKeyPath<SessionRecord, SummaryReport<Totals>?>,
        _ key: SessionKey, _ now: Timestamp
    ) -> [EngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted else { return [] }
        if let known = entry.record[keyPath: part] {
            guard (report.revision, report.state) > (known.revision, known.state) else { return [] }
        }
        entry.record[keyPath: part] = report
        if entry.record.isRevised { entry.reviseBy = now + Self.lateQuiet }
        store(entry, key)
        return [.save(key)] + settle(key, now)
    }

    /// Takes the weather; an older value than the one known changes nothing.
    mutating func receive(_ weather: Weather, for key: SessionKey, now: Timestamp) -> [EngineAction] {
        guard var entry = entries[key], entry.record.session.statusName != .deleted,
            weather.revision > entry.record.weather?.revision ?? -1
        else { return [] }
        entry.record.weather = weather
        if entry.record.isRevised { entry.reviseBy = now + Self.lateQuiet }
        store(entry, key)
        return [.save(key)]
    }

    /// A route-builder came or went.
    mutating func see(routeBuilder: ProcessName, isOnline: Bool) {
        if isOnline { routeBuilders.insert(routeBuilder) } else { routeBuilders.remove(routeBuilder) }
    }

    /// Whether somebody makes the totals of the locations; who does is told only after a connect.
    private func isRouteAwaited(_ now: Timestamp) -> Bool {
        !routeBuilders.isEmpty || connectedAt.map { now.seconds(since: $0) < Self.savingPatience } ?? false
    }

    /// Finishes or revises the record when everything announced is there, or all of it that is awaited.
    mutating func settle(_ key: SessionKey, _ now: Timestamp) -> [EngineAction] {
        guard let record = entries[key]?.record else { return [] }
        switch record.session.status {
        case .saving where record.isComplete || record.hasSamples && !isRouteAwaited(now): return finish(key, now)
        case .completed where record.isComplete && record.isShort: return finish(key, now)
        case .unfinished, .saving, .completed, .canceled, .deleted: return []
        }
    }

    /// Composes the record from what is there.
    mutating func finish(_ key: SessionKey, _ now: Timestamp) -> [EngineAction] {
        guard var entry = entries[key] else { return [] }
        var actions: [EngineAction] = [.save(key)]
        entry.finishBy = nil
        entry.reviseBy = nil
        if entry.record.session.statusName == .saving {
            entry.record.session.complete()
            bump(&entry.record, now)
            actions += [.publishState(key), .publishCurrent(key.user)]
        }
        let record = entry.record
        entry.record.workout = WorkoutRecord(
            record.session, metrics: record.report, route: record.route, weather: record.weather,
            isComplete: record.isComplete, revision: max((record.workout?.revision ?? 0) + 1, now.milliseconds))
        entry.record.publishedAt = now
        store(entry, key)
        return actions + [.publishWorkout(key)]
    }
}
