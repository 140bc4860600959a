import Bus
import Foundation
import MQTT
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import WeatherFetcher

/// Any messages in any order and number, with kills of the process.
@Suite(.timeLimit(.minutes(60))) struct AnyOrderTests {
    private static let places = [
        SampleSession.berlin, Place(la: 52.5199, lo: 13.3799), Place(la: -33.86, lo: 151.21),
        Place(la: 0.001, lo: -0.001),
        Place(la: 89.999, lo: 179.999),
    ]

    /// Checks the invariants of a run.
    private struct Watch {
        var newest: [SessionKey: Weather] = [:]
        var requestedAt: [WeatherCell: Moment] = [:]
        /// The time of the last request that returned weather.
        var succeededAt: [WeatherCell: Moment] = [:]

        mutating func check(_ sent: [MQTTMessage]) {
            for case (let key, let weather?) in sent.compactMap(\.weather) {
                let last = newest[key]
                #expect(weather.revision >= last?.revision ?? 0, "a revision decreased")
                #expect(weather.revision != last?.revision || weather == last, "a revision with two contents")
                newest[key] = weather
            }
        }

        /// Nothing that time or a free request could change waits for a pass through all sessions.
        func check(_ machine: WeatherFetcherMachine, underway: Int, _ now: Moment) {
            let live = machine.entries.values.filter(\.isLive)
            let unplaced = live.filter { $0.record.cell == nil }
            #expect(machine.liveCount == live.count && machine.unplacedCount == unplaced.count)
            let overdue = machine.entries.values.compactMap(\.due).filter { $0 <= now }
            #expect(overdue.isEmpty, "a session past its time")
            let due = machine.cells.values.filter { $0.isDue(now) }
            let (empty, waiting) = (due.filter(\.sessions.isEmpty), due.filter { !$0.sessions.isEmpty })
            #expect(empty.isEmpty, "a cell without sessions")
            guard underway < WeatherFetcherMachine.concurrency, !machine.breaker.isOpen(now) else { return }
            #expect(waiting.isEmpty, "a due cell without a request")
        }

        mutating func check(_ requests: [WeatherRequest], underway: [WeatherRequest], _ now: Moment) {
            #expect(
                Set((requests + underway).map(\.cell)).count == requests.count + underway.count,
                "two concurrent requests for a cell")
            #expect(requests.count + underway.count <= WeatherFetcherMachine.concurrency)
            for request in requests {
                if let succeeded = succeededAt[request.cell] {
                    #expect(
                        now.seconds(since: succeeded) >= WeatherFetcherMachine.interval,
                        "a request before the interval ended")
                }
                requestedAt[request.cell] = now
            }
        }
    }

    @Test func `revisions never decrease, and a cell is requested once per interval`() async throws {
        var random = SeededRandom()
        for _ in 0..<10 { try await run(&random) }
    }

    private func run(_ random: inout SeededRandom) async throws {
        let clock = ManualClock()
        var folder = try TemporaryFolder()
        var fetcher = try await Fetcher(folder, clock: clock, random: random)
        var sessions = (0..<8).map { SampleSession("u\($0)", place: Self.place($0), live: clock.now) }
        var watch = Watch()
        var past: [MQTTMessage] = sessions.map(\.message)
        var underway: [WeatherRequest] = []
        for _ in 0..<250 {
            var sent: [MQTTMessage] = []
            switch Int.random(in: 0..<15, using: &random) {
            case 0..<3: sent = try await fetcher.pass(Int.random(in: 0...400, using: &random))
            case 3..<6:
                guard let request = underway.randomElement(using: &random) else { continue }
                underway.removeAll { $0 == request }
                let outcome = Self.outcome(request, clock.now, &random)
                if case .failed = outcome {} else { watch.succeededAt[request.cell] = watch.requestedAt[request.cell] }
                sent = try await fetcher.answer(request, outcome)
            case 6:
                let index = sessions.indices.randomElement(using: &random)!
                guard sessions[index].state.status != .deleted else { continue }
                let statuses: [SessionStatus] = [.active, .paused, .suspended, .canceled, .saving, .completed]
                past.append(sessions[index].become(statuses.randomElement(using: &random)!, now: clock.now))
                sent = try await fetcher.deliver(sessions[index].message)
            case 7..<10: sent = try await fetcher.deliver(past.randomElement(using: &random)!)
            case 10:
                let session = sessions.randomElement(using: &random)!
                sent = try await fetcher.deliver(session.heard(Self.places.randomElement(using: &random)!))
            case 11: sent = try await fetcher.connect()
            case 12: fetcher.store.refuse(Bool.random(using: &random))
            case 13:
                clock.step(by: .seconds(Int.random(in: -1_000...1_000, using: &random)))
            default:
                // A kill loses requests in flight and everything that is not on disk.
                let copy = try TemporaryFolder()
                for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                    try FileManager.default.copyItem(atPath: folder.file(file), toPath: copy.file(file))
                }
                folder = copy
                underway = []
                fetcher = try await Fetcher(folder, clock: clock, random: random)
                sent = fetcher.bus.take()
                for session in sessions.shuffled(using: &random) { sent += try await fetcher.deliver(session.message) }
                // The new process does not have the unsaved request times of the old one.
                watch.succeededAt = [:]
            }
            watch.check(sent)
            past += sent.filter { !$0.payload.isEmpty && $0.weather != nil }
            let requests = fetcher.requests()
            watch.check(requests, underway: underway, clock.moment)
            underway += requests
            // The next sweep sees what this step changed.
            let later = try await fetcher.pass(1)
            watch.check(later)
            past += later.filter { !$0.payload.isEmpty && $0.weather != nil }
            let more = fetcher.requests()
            watch.check(more, underway: underway, clock.moment)
            underway += more
            watch.check(fetcher.loop.machine, underway: underway.count, clock.moment)
        }
    }

    private static func place(_ number: Int) -> Place? { number < places.count ? places[number] : nil }

    private static func outcome(
        _ request: WeatherRequest, _ now: Timestamp, _ random: inout SeededRandom
    ) -> WeatherAnswer.Outcome {
        switch Int.random(in: 0..<8, using: &random) {
        case 0 where request.validator != nil: .unchanged(Caching(expiresAt: now + 600))
        case 1: .failed(.unreachable("refused"))
        case 2: .failed(.overloaded(status: 429, .seconds(30)))
        case 3: .failed(.unavailable(status: 404))
        default:
            .observed(
                .sample(at: now), Caching(expiresAt: Bool.random(using: &random) ? now + 900 : nil, validator: "Wed"))
        }
    }
}
