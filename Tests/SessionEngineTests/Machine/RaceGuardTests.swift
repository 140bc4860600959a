import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// A session in `saving` never blocks or touches a new one: the invariant of `specs/virtual-run.md`.
struct RaceGuardTests {
    /// The possible events of an ended session.
    private enum Event: CaseIterable {
        case metrics, route, weather, hear, endAgain, refused, tick, complete, state, workout, reconnect, delete
    }

    @Test func `events of a session in saving leave the new session unchanged`() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            var solo = SoloMachine()
            solo.begin()
            solo.perform(.end(streams: [solo.samples: 10, solo.locations: 10]), at: 60)
            #expect(solo.status() == .saving)
            #expect(solo.perform(.start(SessionStart(activity: .cycling, countdown: 0)), at: 61, 2)?.ok == true)
            let started = try #require(solo.record(2))
            var seconds = 61.0
            var revision: Int64 = 0
            for _ in 0..<12 {
                seconds += Double(Int.random(in: 0...5, using: &random))
                revision += 1
                let now = solo.time(seconds)
                let items = Int.random(in: 0...12, using: &random)
                switch Event.allCases.randomElement(using: &random)! {
                case .metrics:
                    _ = solo.machine.receiveMetricsReport(
                        solo.metrics(items, revision: revision), for: solo.key(), now: Moment(now))
                case .route:
                    _ = solo.machine.receiveRouteReport(
                        solo.route(items, revision: revision), for: solo.key(), now: Moment(now))
                case .weather:
                    _ = solo.machine.receiveWeather(
                        solo.weather(9, revision: revision), for: solo.key(), now: Moment(now))
                case .hear: _ = solo.hear(items, newest: seconds, now: seconds)
                case .endAgain: solo.perform(.end(streams: [solo.samples: items]), at: seconds)
                case .refused: solo.perform(.pause, at: seconds)
                case .tick: _ = solo.advance(to: seconds)
                case .complete: _ = solo.machine.finish(solo.key(), Moment(now))
                case .state:
                    _ = solo.machine.seeState(Int64.random(in: 0...9, using: &random), of: solo.key(), now: Moment(now))
                case .workout: _ = solo.machine.seeWorkout(revision, of: solo.key(), now: Moment(now))
                case .reconnect: _ = solo.machine.connected(now: Moment(now))
                case .delete: _ = solo.machine.delete(solo.key(), Moment(now))
                }
                #expect(solo.record(2) == started, "seed \(random.seed)")
                #expect(solo.machine.unfinished(solo.user)?.session.key == solo.key(2), "seed \(random.seed)")
            }
        }
    }

    @Test func `commands to the new session leave the one in saving unchanged`() throws {
        var solo = SoloMachine()
        solo.begin()
        solo.perform(.end(streams: [solo.samples: 10]), at: 60)
        let report = solo.metrics(10, revision: 1)
        let ended = try #require(solo.record()?.session)
        solo.begin(2, at: 61)
        for action in [.pause, .resume, .lap, .suspend, .discard] as [SessionAction] {
            #expect(solo.perform(action, at: 62, 2)?.ok == true)
            #expect(solo.record()?.session == ended)
        }
        #expect(
            solo.machine.receiveMetricsReport(report, for: solo.key(), now: Moment(solo.time(65))).contains(
                .publishWorkout(solo.key())))
        #expect(solo.record()?.workout?.incomplete == nil)
        #expect(solo.record()?.workout?.endedAt == solo.time(60))
    }
}
