import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import MetricsAggregator
@testable import Streams

@Suite(.timeLimit(.minutes(60))) struct LivePaceTests {
    private let clock = ManualClock(now: Timestamp(seconds: 1_700_000_000))

    /// Ten events a second for some seconds, each of which takes a share of its tenth.
    private func run(_ pace: inout LivePace, seconds: Int, share: Double) {
        for _ in 0..<seconds * 10 {
            let begin = clock.moment
            clock.advance(by: .seconds(0.1))
            pace.handled(from: begin, to: begin + 0.1 * share)
        }
    }

    @Test func `live values give way in a busy loop, a second at a time, and come back`() {
        var pace = LivePace()
        run(&pace, seconds: 10, share: 0.65)
        #expect(pace.interval == 1)
        run(&pace, seconds: 3, share: 0.9)
        #expect(pace.interval == 2)
        run(&pace, seconds: 60, share: 1)
        #expect(pace.interval == 3)
        // What the slower pace saves does not bring the faster one back at once.
        run(&pace, seconds: 60, share: 0.6)
        #expect(pace.interval == 3)
        run(&pace, seconds: 3, share: 0.2)
        #expect(pace.interval == 2)
        run(&pace, seconds: 60, share: 0)
        #expect(pace.interval == 1)
    }

    @Test func `those that waited longest are first`() {
        var news = LiveNews<SampleWork>()
        let sessions = (0..<3).map { _ in
            OwnedSession<SampleWork>(new: Script().state, receivedAt: clock.moment, bounds: StreamBounds())
        }
        for session in sessions {
            news.add(session)
            #expect(news.takeDue().map(\.session.state.key) == [session.state.key])
            news.published(session, dueAt: nil, clock.moment)
            clock.advance(by: .seconds(0.5))
        }
        // Their news come in another order.
        for session in sessions.reversed() { news.add(session) }
        news.advance(to: clock.moment, interval: 3)
        #expect(news.takeDue().isEmpty)
        clock.advance(by: .seconds(2))
        news.advance(to: clock.moment, interval: 3)
        #expect(news.takeDue().map(\.session.state.key) == sessions[..<2].map(\.state.key))
        news.advance(to: clock.moment, interval: 2)
        #expect(news.takeDue().map(\.session.state.key) == sessions[2...].map(\.state.key))
    }
}
