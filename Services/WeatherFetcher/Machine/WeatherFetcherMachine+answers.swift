import ServiceKit
import Timing
import Workouts

extension WeatherFetcherMachine {
    /// The pause after the provider had no weather for a place, in seconds.
    private static let absence = 3_600.0

    /// Receives the answer to a request.
    mutating func recordAnswer(
        _ answer: WeatherAnswer, now: Moment, using random: inout some RandomNumberGenerator
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
                let failure = WeatherFetchFailure.unreadable("not modified, but nothing is cached")
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
        _ observation: Observation, _ caching: Caching, askedAt: Moment, now: Moment
    ) -> WeatherReading {
        let expiresAt = caching.expiresAt.map(now.when) ?? askedAt
        let dueAt = max(askedAt + interval, min(expiresAt, askedAt + cachingLimit))
        return WeatherReading(observation: observation, fetchedAt: now, dueAt: dueAt, validator: caching.validator)
    }

    private mutating func fail(
        _ failure: WeatherFetchFailure, _ cell: inout Cell, askedAt: Moment, now: Moment,
        using random: inout some RandomNumberGenerator
    ) -> [WeatherAction] {
        cell.failures += 1
        cell.dueAt = now + Self.backoff.delay(after: cell.failures, using: &random)
        switch failure {
        case .unreachable, .unreadable: breaker.failed(askedAt: askedAt, now: now, using: &random)
        case .overloaded(_, let retryAfter):
            let pause = retryAfter?.seconds(from: now.wallClock) ?? 0
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
        if case .refused = failure, let until = breaker.openUntil {
            return [.report(.refusing(failure, until: until.wallClock))]
        }
        return [.report(.failing(failure))]
    }
}
