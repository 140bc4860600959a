import Bus
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import SessionEngine

/// Locations and weather: the wait for them, and their part of the finished record.
struct RouteTests {
    private var solo = SoloMachine()

    /// Ends a session of a minute that announces 10 samples and some locations.
    private mutating func end(locations: Int? = 5) {
        solo.begin()
        var streams = [solo.samples: 10]
        streams[solo.locations] = locations
        solo.perform(.end(streams: streams), at: 60)
    }

    private mutating func receive(_ report: MetricsReport, at seconds: Double) -> [SessionEngineAction] {
        solo.machine.receiveMetricsReport(report, for: solo.key(), now: Moment(solo.time(seconds)))
    }

    private mutating func receive(_ report: RouteReport, at seconds: Double) -> [SessionEngineAction] {
        solo.machine.receiveRouteReport(report, for: solo.key(), now: Moment(solo.time(seconds)))
    }

    private mutating func online(_ isOnline: Bool = true, _ instance: String = "one") {
        let process = ProcessName(instance)!
        let payload = #"{"status":"\#(isOnline ? "online" : "offline")"}"#
        let presence = Topic.presence(service: "route-builder", process).message(Array(payload.utf8))
        #expect(throws: Never.self) {
            try solo.machine.routeBuilders.receive(presence, of: process, Moment(solo.time(60)))
        }
    }

    @Test mutating func `announced locations are awaited while a route-builder is online`() throws {
        online()
        end()
        #expect(receive(solo.metrics(10, revision: 1), at: 61) == [.save(solo.key())])
        #expect(receive(solo.route(4, revision: 1), at: 62) == [.save(solo.key())])
        #expect(receive(solo.route(5, revision: 2), at: 63) == [.save(solo.key())])
        // The samples' totals take in the first route, then the second.
        #expect(receive(solo.metrics(10, revision: 2, route: 1), at: 64) == [.save(solo.key())])
        #expect(receive(solo.metrics(10, revision: 2, route: 2), at: 65).contains(.publishWorkout(solo.key())))
        let workout = try #require(solo.record()?.workout)
        #expect(workout.incomplete == nil)
        #expect(workout.next == [solo.samples: 10, solo.locations: 5])
        #expect(workout.summaries == ["metrics": 2, "route": 2])
    }

    @Test mutating func `summaries may arrive in any order`() {
        online()
        end()
        #expect(receive(solo.route(5, revision: 1), at: 61) == [.save(solo.key())])
        #expect(receive(solo.metrics(10, revision: 1, route: 1), at: 62).contains(.publishWorkout(solo.key())))
    }

    @Test mutating func `samples' totals of a route that the engine lacks are not complete`() {
        online()
        end()
        #expect(receive(solo.route(5, revision: 1), at: 61) == [.save(solo.key())])
        #expect(receive(solo.metrics(10, revision: 1, route: 2), at: 62) == [.save(solo.key())])
        #expect(receive(solo.route(5, revision: 2), at: 63).contains(.publishWorkout(solo.key())))
    }

    @Test mutating func `older samples' totals change nothing`() {
        online()
        end()
        _ = receive(solo.metrics(10, revision: 2, route: 2), at: 61)
        #expect(receive(solo.metrics(10, revision: 2, route: 1), at: 62) == [])
        #expect(receive(solo.metrics(10, revision: 1, route: 3), at: 62) == [])
        #expect(solo.record()?.report?.route == 2)
    }

    @Test mutating func `a route summary from before the end is not complete`() throws {
        online()
        solo.begin()
        let active = try #require(solo.record()?.revision)
        solo.perform(.end(streams: [solo.samples: 10, solo.locations: 5]), at: 60)
        _ = receive(solo.metrics(10, revision: 1, route: 1), at: 61)
        #expect(receive(solo.route(5, revision: 1, state: active), at: 62) == [.save(solo.key())])
        #expect(receive(solo.route(5, revision: 1), at: 63).contains(.publishWorkout(solo.key())))
    }

    @Test
    mutating func `without a route-builder the record is published incomplete at once, and revised with the route`()
        throws
    {
        online()
        online(false)
        end()
        #expect(receive(solo.metrics(10, revision: 1), at: 61).contains(.publishWorkout(solo.key())))
        let first = try #require(solo.record()?.workout)
        #expect(first.incomplete == true && first.distance == nil)
        #expect(receive(solo.route(5, revision: 1), at: 300) == [.save(solo.key())])
        let joined = solo.metrics(10, revision: 2, route: 1, distance: 1_000)
        #expect(receive(joined, at: 301).contains(.publishWorkout(solo.key())))
        let second = try #require(solo.record()?.workout)
        #expect(second.incomplete == nil && second.summaries["route"] != nil)
        #expect(second.revision > first.revision)
    }

    @Test mutating func `one of two route-builders is enough`() {
        online()
        online(true, "two")
        online(false)
        end()
        #expect(receive(solo.metrics(10, revision: 1), at: 61) == [.save(solo.key())])
    }

    @Test mutating func `after a connect, route-builders have ten seconds to announce themselves`() {
        online()
        _ = solo.machine.connected(now: Moment(solo.time(55)))
        end()
        #expect(receive(solo.metrics(10, revision: 1), at: 64) == [.save(solo.key())])
        #expect(receive(solo.metrics(11, revision: 2), at: 65).contains(.publishWorkout(solo.key())))
    }

    @Test mutating func `a missing route is awaited for ten seconds`() {
        online()
        end()
        _ = receive(solo.metrics(10, revision: 1), at: 61)
        #expect(solo.advance(to: 69.9) == [])
        #expect(solo.advance(to: 70).contains(.publishWorkout(solo.key())))
        #expect(solo.record()?.workout?.incomplete == true)
    }

    @Test(arguments: [nil, 0]) mutating func `no route is awaited when no locations were announced`(locations: Int?) {
        online()
        end(locations: locations)
        #expect(receive(solo.metrics(10, revision: 1), at: 61).contains(.publishWorkout(solo.key())))
        #expect(solo.record()?.workout?.incomplete == nil)
    }

    @Test mutating func `a summary without locations revises nothing`() throws {
        online()
        end(locations: nil)
        _ = receive(solo.metrics(10, revision: 1), at: 61)
        #expect(receive(solo.route(0, revision: 1, distance: nil), at: 62) == [.save(solo.key())])
        #expect(solo.advance(to: 1_000) == [])
        #expect(receive(solo.route(1, revision: 2), at: 1_000) == [.save(solo.key())])
        #expect(solo.advance(to: 1_030).contains(.publishWorkout(solo.key())))
        #expect(try #require(solo.record()?.workout).summaries == ["metrics": 1, "route": 2])
        // Its totals lack the route.
        #expect(solo.record()?.workout?.incomplete == true)
        // A summary can lose its locations.
        #expect(receive(solo.route(0, revision: 3, distance: nil), at: 1_100).contains(.publishWorkout(solo.key())))
        #expect(solo.record()?.workout?.incomplete == nil)
    }

    @Test mutating func `locations beyond the announced counts revise the record 30 s after the last`() {
        online()
        end()
        _ = receive(solo.metrics(10, revision: 1, route: 1), at: 61)
        _ = receive(solo.route(5, revision: 1), at: 62)
        #expect(receive(solo.route(6, revision: 2), at: 70) == [.save(solo.key())])
        let joined = solo.metrics(10, revision: 2, route: 2, distance: 1_200)
        #expect(receive(joined, at: 80) == [.save(solo.key())])
        #expect(solo.advance(to: 109) == [])
        #expect(solo.advance(to: 110).contains(.publishWorkout(solo.key())))
        #expect(solo.record()?.workout?.summaries["route"] == 2)
        #expect(solo.advance(to: 1_000) == [])
    }

    @Test mutating func `an older summary of the route changes nothing`() {
        end()
        _ = receive(solo.route(5, revision: 7), at: 61)
        #expect(receive(solo.route(4, revision: 6), at: 62) == [])
        #expect(receive(solo.route(5, revision: 7), at: 62) == [])
        #expect(solo.record()?.route?.next == [solo.locations: 5])
    }

    @Test mutating func `new locations count as activity like new samples`() {
        var start = SessionStart(activity: .running, countdown: 0)
        start.mode = .watch
        solo.perform(.start(start))
        _ = solo.advance(to: 10)
        #expect(solo.record()?.state.banner == .liveMetricsUnavailable)
        _ = solo.hear(3, .locations, newest: 11, now: 11)
        #expect(solo.record()?.state.banner == .liveMetricsUnavailable)
        _ = solo.hear(3, .locations, newest: 11, now: 5 * SoloMachine.hour)
        _ = solo.advance(to: 11 + 6 * SoloMachine.hour)
        #expect(solo.status() == .canceled)
        #expect(solo.hear(4, .locations, newest: 12, now: 7 * SoloMachine.hour).contains(.publishState(solo.key())))
        #expect(solo.status() == .active)
        #expect(solo.record()?.newest == solo.time(12))
    }

    @Test mutating func `the record keeps the last weather despite older messages`() {
        solo.begin()
        for (temperature, revision) in [(10.0, 1), (12, 3), (11, 2), (12, 3)] as [(Double, Int64)] {
            _ = solo.machine.receiveWeather(
                solo.weather(temperature, revision: revision), for: solo.key(), now: Moment(solo.time(10)))
        }
        solo.perform(.end(streams: [:]), at: 60)
        _ = receive(solo.metrics(0, revision: 1), at: 61)
        #expect(solo.record()?.workout?.weather == solo.weather(12, revision: 3))
    }

    @Test mutating func `late weather revises the record`() {
        end(locations: nil)
        _ = receive(solo.metrics(10, revision: 1), at: 61)
        let late = solo.machine.receiveWeather(
            solo.weather(9, revision: 1), for: solo.key(), now: Moment(solo.time(70)))
        #expect(late == [.save(solo.key())])
        #expect(solo.advance(to: 99) == [])
        #expect(solo.advance(to: 100).contains(.publishWorkout(solo.key())))
        #expect(solo.record()?.workout?.weather?.temperature == 9)
    }

    @Test mutating func `a deleted session keeps and accepts neither route nor weather`() {
        end()
        _ = receive(solo.route(5, revision: 1), at: 61)
        _ = solo.machine.receiveWeather(solo.weather(9, revision: 1), for: solo.key(), now: Moment(solo.time(61)))
        _ = solo.machine.delete(solo.key(), Moment(solo.time(62)))
        #expect(receive(solo.route(5, revision: 2), at: 63) == [])
        #expect(
            solo.machine.receiveWeather(solo.weather(9, revision: 2), for: solo.key(), now: Moment(solo.time(63))) == []
        )
        #expect(solo.record()?.route == nil && solo.record()?.weather == nil)
    }
}
