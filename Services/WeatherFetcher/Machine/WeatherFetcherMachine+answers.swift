import ServiceKit
import Timing
import Workouts

extension WeatherFetcherMachine {
    /// A place that the provider has no weather for is left alone for this long, in seconds.
    private static let absence = 3_600.0

    /// Takes what came of a request.
    mutating func receive(
        _ answer: WeatherAnswer, now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> [WeatherAction] {
        needsLook = true
        guard var cell = cells[answer.cell], let askedAt = cell.askedAt else { return [] }
        cell.askedAt = nil
        defer { cells[answer.cell] = cell }
        switch answer.outcome {
        case .observed(let observation, let caching):
            cell.reading = Self.reading(observation, caching, askedAt: askedAt, now: now)
        case .unchanged(let caching):
            guard let known = cell.reading else {
                let failure = FetchFailure.unreadable("nothing is there that could be unchanged")
                return fail(failure, &cell, askedAt: askedAt, now: now, using: &random)
            }
            var caching = caching
            caching.validator = caching.validator ?? known.validator
            cell.reading = Self.reading(known.observation, caching, askedAt: askedAt, now: now)
        case .failed(let failure):
            return fail(failure, &cell, askedAt: askedAt, now: now, using: &random)
        }
        guard let reading = cell.reading else { return [] }
        cell.failures = 0
        cell.dueAt = reading.dueAt
        breaker.succeeded()
        let reports: [WeatherAction] = reportedFailure == nil ? [] : [.report(.answering)]
        reportedFailure = nil
        hasAnswered = true
        return reports + cell.sessions.sorted().flatMap { give(reading, to: $0, now) }
    }

    private static func reading(
        _ observation: Observation, _ caching: Caching, askedAt: Timestamp, now: Timestamp
    ) -> Reading {
        // The clock may have been set back meanwhile.
        let start = min(askedAt, now)
        let dueAt = max(start + interval, min(caching.expiresAt ?? start, start + cachingLimit))
        return Reading(observation: observation, fetchedAt: now, dueAt: dueAt, validator: caching.validator)
    }

    private mutating func fail(
        _ failure: FetchFailure, _ cell: inout Cell, askedAt: Timestamp, now: Timestamp,
        using random: inout some RandomNumberGenerator
    ) -> [WeatherAction] {
        cell.failures += 1
        cell.dueAt = now + Self.backoff.delay(after: cell.failures, using: &random)
        switch failure {
        case .unreachable, .unreadable: breaker.failed(askedAt: askedAt, now: now, using: &random)
        case .overloaded(_, let retryAfter):
            let pause = retryAfter?.seconds(from: now) ?? 0
            breaker.failed(askedAt: askedAt, now: now, pause: pause, using: &random)
        case .refused:
            breaker.failed(askedAt: askedAt, now: now, pause: CircuitBreaker.refusalPause, using: &random)
        case .unavailable:
            cell.dueAt = now + Self.absence
            // The place fails, not the provider.
            if hasAnswered { return [] }
        }
        guard failure.kind != reportedFailure else { return [] }
        reportedFailure = failure.kind
        if case .refused = failure, let until = breaker.openUntil { return [.report(.refusing(failure, until: until))] }
        return [.report(.failing(failure))]
    }
}
