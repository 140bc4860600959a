import ServiceKit
import TestSupport
import Testing
import Timing
import Workouts

@testable import WeatherFetcher

/// Failures of a provider.
@Suite(.timeLimit(.minutes(60))) struct FailureTests {
    private let start = Timestamp(seconds: 1_735_689_600)
    private var random = SeededRandom(seed: 1)
    private var machine = WeatherFetcherMachine(provider: "open-meteo")
    private let session: SampleSession

    init() {
        session = SampleSession(place: SampleSession.berlin, live: start)
        var state = session.state
        state.expiresAt = nil
        _ = machine.receiveState(state, now: Moment(start))
    }

    /// Advances the machine to its next request, which fails.
    ///
    /// Returns the seconds until the request and the resulting actions.
    private mutating func fail(
        _ failure: WeatherFetchFailure, after now: Timestamp
    ) throws -> (waited: Double, actions: [WeatherAction]) {
        var time = now
        while time < now + 100_000 {
            _ = machine.advance(to: Moment(time))
            if let request = machine.requests(now: Moment(time)).first {
                let answer = WeatherAnswer(cell: request.cell, outcome: .failed(failure))
                return (time.seconds(since: now), machine.recordAnswer(answer, now: Moment(time), using: &random))
            }
            time = time + 1
        }
        throw NoRequest()
    }

    private struct NoRequest: Error {}

    @Test(arguments: [
        WeatherFetchFailure.unreachable("refused"), .unreadable("nonsense"), .overloaded(status: 500, nil),
    ])
    mutating func `a failing provider is requested with backoff and reported once`(failure: WeatherFetchFailure) throws
    {
        var now = start
        for (number, ceiling) in [0.0, 5, 10, 20, 40, 80, 160, 300, 300].enumerated() {
            let (waited, actions) = try fail(failure, after: now)
            #expect(waited <= ceiling + 1)
            #expect(waited >= ceiling / 2)
            #expect(actions == (number == 0 ? [.report(.failing(failure))] : []))
            now = now + waited
        }
        _ = machine.advance(to: Moment(now + 400))
        let request = try #require(machine.requests(now: Moment(now + 400)).first)
        let answer = WeatherAnswer(cell: request.cell, outcome: .observed(.sample(at: now), Caching()))
        #expect(
            machine.recordAnswer(answer, now: Moment(now + 400), using: &random)
                == [.report(.answering), .save(session.key), .publish(session.key)])
        #expect(try fail(failure, after: now + 400).waited == 300)
        #expect(try fail(failure, after: now + 700).waited <= 6)
    }

    @Test mutating func `backoff has jitter`() throws {
        var waits: Set<Double> = []
        for _ in 0..<20 { waits.insert(WeatherFetcherMachine.backoff.delay(after: 5, using: &random)) }
        #expect(waits.count == 20)
        #expect(waits.allSatisfy { (40.0...80).contains($0) })
        #expect((150.0...300).contains(WeatherFetcherMachine.backoff.delay(after: .max, using: &random)))
    }

    @Test(arguments: [RetryAfter.seconds(1_000), .date(Timestamp(seconds: 1_735_690_600))])
    mutating func `a Retry-After of the provider is honored`(retryAfter: RetryAfter) throws {
        _ = try fail(.overloaded(status: 429, retryAfter), after: start)
        #expect(try fail(.overloaded(status: 429, .seconds(3)), after: start).waited == 1_000)
        // A backoff longer than the Retry-After applies.
        #expect(try fail(.overloaded(status: 429, .seconds(1e9)), after: start + 1_000).waited >= 5)
        #expect(try fail(.overloaded(status: 429, nil), after: start + 1_020).waited >= 86_000)
    }

    @Test mutating func `a refusing provider gets no requests for an hour and is reported once`() throws {
        let refusal = WeatherFetchFailure.refused(status: 403)
        #expect(try fail(refusal, after: start).actions == [.report(.refusing(refusal, until: start + 3_600))])
        let other = SampleSession("other", place: Place(la: 1, lo: 1), live: start + 10)
        _ = machine.receiveState(other.state, now: Moment(start + 10))
        let (waited, actions) = try fail(refusal, after: start + 10)
        #expect(waited == 3_590)
        #expect(actions == [])
    }

    @Test mutating func `a cell without weather does not block requests for other cells`() throws {
        _ = try fail(.unavailable(status: 404), after: start)
        let other = SampleSession("other", place: Place(la: 1, lo: 1), live: start + 1)
        _ = machine.receiveState(other.state, now: Moment(start + 1))
        #expect(machine.requests(now: Moment(start + 1)).map(\.cell) == [WeatherCell(Place(la: 1, lo: 1))])
        #expect(try fail(.unavailable(status: 404), after: start + 2).waited == 3_598)
    }

    @Test mutating func `concurrent failures count as one`() throws {
        for number in 1..<4 {
            let place = Place(la: Double(number), lo: 0)
            _ = machine.receiveState(SampleSession("u\(number)", place: place, live: start).state, now: Moment(start))
        }
        let requests = machine.requests(now: Moment(start))
        #expect(requests.count == 4)
        for request in requests {
            let answer = WeatherAnswer(cell: request.cell, outcome: .failed(.unreachable("refused")))
            _ = machine.recordAnswer(answer, now: Moment(start + 1), using: &random)
        }
        #expect(machine.breaker.failures == 1)
    }

    @Test func `requests stay within the provider's terms`() {
        for budget in [OpenMeteo.budget, METNorway.budget, WeatherKit.budget] {
            var budget = budget
            // As many requests as possible for a day.
            var times: [Double] = []
            for second in 0..<86_400 {
                while budget.take(Moment(start + Double(second))) { times.append(Double(second)) }
            }
            let perMinute = times.count { $0 < 60 }
            switch budget.burst {
            case OpenMeteo.budget.burst:
                #expect(perMinute <= 600)
                #expect((9_000...10_000).contains(times.count))
            case METNorway.budget.burst: #expect(times.count { $0 == 1 } <= 20)
            default: #expect(Double(times.count) + 30 * 86_400 * budget.perSecond <= 500_000)
            }
        }
    }
}
