import Bus
import Foundation
import Testing
import Workouts

@testable import LiveActivityPublisher

struct MachineContentTests {
    private static let start = Timestamp(seconds: 1_800_000_000)

    private static func state() -> SessionState {
        let start = SessionStart(activity: .cycling, name: "Home", countdown: 0, units: .imperial)
        return Session(key: ActivityMachineRun.key(), start: start, at: Self.start, now: Self.start).state(revision: 7)
    }

    @Test func `the content shows the measured values, and pace and speed as displayed`() {
        var state = Self.state()
        state.laps = [Self.start + 5, Self.start + 9]
        state.banner = .liveMetricsUnavailable
        var snapshot = MetricsSnapshot(user: state.user, revision: 1)
        snapshot.newest = Self.start + 30
        snapshot.distance = 1
        snapshot.activeEnergy = 2
        snapshot.heartRate = 3
        snapshot.averageHeartRate = 4
        snapshot.maximumHeartRate = 5
        snapshot.pace = 6
        snapshot.speed = 7
        snapshot.cadence = 8
        snapshot.power = 9
        snapshot.ascent = 10
        var expected = ContentState(
            elapsedTime: 30, asOf: (Self.start + 30).seconds, isPaused: false, isFinished: false, distance: 1,
            activeEnergy: 2, heartRate: 3, averageHeartRate: 4, maximumHeartRate: 5, pace: 6, speed: 7, cadence: 8,
            power: 9, ascent: 10, lap: 3, banner: .liveMetricsUnavailable, units: .imperial)
        #expect(ContentState(ActivitySession(state), snapshot) == expected)
        snapshot.displayPace = 16
        snapshot.displaySpeed = 17
        expected.pace = 16
        expected.speed = 17
        #expect(ContentState(ActivitySession(state), snapshot) == expected)
    }

    @Test func `without items the clock runs from the start and stops during the countdown`() {
        var state = Self.state()
        let running = ContentState(ActivitySession(state), nil)
        #expect(running.elapsedTime == 0 && running.asOf == Self.start.seconds && !running.isPaused)
        state.status = .preparing
        state.segments = []
        let preparing = ContentState(ActivitySession(state), nil)
        #expect(preparing.elapsedTime == 0 && preparing.isPaused && !preparing.isFinished)
    }

    @Test func `a device in a virtual run shows the nearest partner, and none once the run is over`() throws {
        let (other, id) = (User("cleo")!, RunID(UUID()))
        var far = Partners.Row(.participant(User("ben")!), link: .connected)
        (far.gapMeters, far.gapSeconds) = (90.4, 30)
        var near = Partners.Row(.ghost(2), link: .connected)
        (near.gapMeters, near.gapSeconds) = (-12.6, -4.4)
        var partners = Partners(run: id, revision: 1, now: Self.start, rows: [far, near])
        partners.place = 2
        let content = ContentState(ActivitySession(Self.state()), nil, NearestPartner(partners))
        let partner = try #require(content.partner)
        #expect(partner.name == "ghost 2" && partner.gapMeters == -13 && partner.gapSeconds == -4)
        #expect(partner.place == 2 && partner.runners == 3)
        // The nearest whose data are old is told without a gap, and after others.
        partners.rows[1].link = .stale
        #expect(NearestPartner(partners)?.name == "ben")
        partners.rows[0].link = .disconnected
        #expect(NearestPartner(partners)?.gapMeters == nil)
        partners.rows[0].link = .connected
        partners.rows[1].link = .connected
        var over = Self.state()
        over.status = .completed
        #expect(ContentState(ActivitySession(over), nil, NearestPartner(partners)).partner == nil)

        var run = ActivityMachineRun()
        let key = run.begin()
        var state = Self.state()
        (state.session, state.user, state.run, state.revision) = (key.session, key.user, id, .max / 2)
        run.receive(state)
        #expect(run.machine.shown.session(of: key.user, in: id) == nil, "without a device")
        run.register(.activity, of: key)
        #expect(run.machine.shown.session(of: key.user, in: id) == key)
        #expect(run.machine.shown.session(of: other, in: id) == nil)
    }

    @Test func `the attributes come from the session`() {
        let attributes = ActivityAttributes(symbol: "figure.indoor.cycle", workoutActivityType: 13, workoutName: "Home")
        var state = Self.state()
        state.symbol = "figure.indoor.cycle"
        #expect(ActivityAttributes(state) == attributes)
    }

    @Test func `a pause, an end and a banner are state changes, and measurements are not`() {
        let shown = ContentState(ActivitySession(Self.state()), nil)
        var later = shown
        later.asOf += 20
        later.elapsedTime += 20
        #expect(later.showsSame(as: shown) && !later.isNews(after: shown))
        later.heartRate = 150
        #expect(!later.showsSame(as: shown) && !later.isNews(after: shown))
        later.elapsedTime -= 5
        #expect(later.isNews(after: shown))
        var other = shown
        other.isFinished = true
        #expect(other.isNews(after: shown))
        other = shown
        #expect(shown.banner == .liveMetricsUnavailable)
        other.banner = nil
        #expect(other.isNews(after: shown))
    }
}
