import Bus
import Foundation
import ServiceKit
import TestSupport
import Workouts

@testable import SessionEngine

/// The machine with one user and numbered sessions. Times are seconds since its start.
struct SoloMachine {
    static let hour = 3_600.0
    let user = User("demo")!
    let samples = StreamName("samples/watch-1")!
    let locations = StreamName("locations/watch-1")!
    var machine = SessionEngineMachine()
    /// The seconds by which the wall clock has stepped.
    var step = 0.0
    private let began = Timestamp(seconds: 1_700_000_000)

    /// Connected long enough to have received all retained messages.
    init() {
        _ = machine.connected(now: Moment(began - 100))
    }

    func time(_ seconds: Double) -> Timestamp { began + seconds }

    private func moment(_ seconds: Double) -> Moment { Moment(time(seconds)).stepped(by: step) }

    func key(_ number: UInt8 = 1) -> SessionKey {
        SessionKey(user, SessionID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number))))
    }

    func record(_ number: UInt8 = 1) -> SessionRecord? { machine.entries[key(number)]?.record }

    func status(_ number: UInt8 = 1) -> SessionStatus? { record(number)?.session.statusName }

    /// Performs a command and returns its actions. The service's clock shows `now`, by default the command's time.
    mutating func receive(
        _ action: SessionAction, at seconds: Double? = 0, now: Double? = nil, _ number: UInt8 = 1
    ) -> [SessionEngineAction] {
        let command = Command(
            id: CommandID(UUID()), client: Client("phone-1")!, at: seconds.map(time), action: action)
        return machine.applyCommand(command, for: key(number), now: moment(now ?? seconds ?? 0))
    }

    /// Performs a command and returns its reply.
    @discardableResult
    mutating func perform(
        _ action: SessionAction, at seconds: Double? = 0, now: Double? = nil, _ number: UInt8 = 1
    ) -> Reply? {
        receive(action, at: seconds, now: now, number)
            .compactMap { if case .reply(_, _, let reply) = $0 { reply } else { nil } }.first
    }

    mutating func begin(_ number: UInt8 = 1, at seconds: Double = 0, now: Double? = nil) {
        perform(.start(SessionStart(activity: .running, countdown: 0)), at: seconds, now: now, number)
    }

    mutating func advance(to seconds: Double) -> [SessionEngineAction] { machine.advance(to: moment(seconds)) }

    mutating func hear(
        _ count: Int, _ kind: StreamName.Kind = .samples, newest: Double, now: Double, _ number: UInt8 = 1
    ) -> [SessionEngineAction] {
        machine.receiveHeard(Heard(count, newest: time(newest)), kind, of: key(number), now: moment(now))
    }

    /// The totals of this number of samples and a revision of the route, by default computed from the latest state.
    func metrics(
        _ items: Int, revision: Int64, state: Int64? = nil, route: Int64? = nil, distance: Double? = nil
    ) -> MetricsReport {
        var totals = MetricsSummary()
        totals.distance = distance
        totals.ascent = distance.map { _ in 12 }
        return MetricsReport(
            revision: revision, state: state ?? record()?.revision ?? 0, next: [samples: items], chunks: 1,
            route: route, totals: totals)
    }

    /// The totals of this number of locations.
    func route(_ items: Int, revision: Int64, state: Int64? = nil, distance: Double? = 1_000) -> RouteReport {
        var totals = RouteSummary()
        totals.distance = distance
        return RouteReport(
            revision: revision, state: state ?? record()?.revision ?? 0, next: [locations: items], chunks: 1,
            totals: totals)
    }

    func weather(_ temperature: Double, revision: Int64) -> Weather {
        Weather(
            revision: revision, observedAt: time(0), fetchedAt: time(0), temperature: temperature, condition: .clear,
            provider: "open-meteo", attribution: WeatherAttribution(text: "Open-Meteo", url: "https://open-meteo.com"))
    }
}

extension Heard {
    /// The first report of this number of items, of which only the newest has a time.
    init(_ count: Int, newest: Timestamp) {
        self.init(revision: Int64(count), count: count)
        var times = ItemTimes()
        times.add(newest)
        self.newest = newest
        silences = times.silences
    }
}
