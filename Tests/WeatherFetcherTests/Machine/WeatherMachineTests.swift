import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Timing
import Workouts

@testable import WeatherFetcher

@Suite(.timeLimit(.minutes(60))) struct WeatherMachineTests {
    private let start = Timestamp(seconds: 1_735_689_600)
    private var random = SeededRandom(seed: 1)

    /// A machine with live sessions, all in one place.
    private func machine(
        _ count: Int = 1, place: Place = SampleSession.berlin, budget: TokenBucket<Moment>? = nil
    ) -> (machine: WeatherFetcherMachine, sessions: [SampleSession]) {
        var machine = WeatherFetcherMachine(provider: "open-meteo", budget: budget)
        let sessions = (0..<count).map { SampleSession("u\($0)", place: place, live: start) }
        for session in sessions { _ = machine.receiveState(session.state, now: Moment(start)) }
        return (machine, sessions)
    }

    /// Advances the machine and returns the due requests.
    private func requests(_ machine: inout WeatherFetcherMachine, at now: Timestamp) -> [WeatherRequest] {
        requests(&machine, at: Moment(now))
    }

    private func requests(_ machine: inout WeatherFetcherMachine, at now: Moment) -> [WeatherRequest] {
        _ = machine.advance(to: now)
        return machine.requests(now: now)
    }

    private mutating func answer(
        _ machine: inout WeatherFetcherMachine, _ request: WeatherRequest, _ caching: Caching = Caching(),
        at now: Timestamp
    ) -> [WeatherAction] {
        receive(&machine, request, .observed(.sample(at: now), caching), at: Moment(now))
    }

    private mutating func receive(
        _ machine: inout WeatherFetcherMachine, _ request: WeatherRequest, _ outcome: WeatherAnswer.Outcome,
        at now: Moment
    ) -> [WeatherAction] {
        machine.recordAnswer(WeatherAnswer(cell: request.cell, outcome: outcome), now: now, using: &random)
    }

    @Test mutating func `a thousand runners in a park are one request, now and five minutes later`() throws {
        var (machine, sessions) = machine(1_000)
        let requests = machine.requests(now: Moment(start))
        #expect(requests == [WeatherRequest(cell: WeatherCell(SampleSession.berlin))])
        #expect(self.requests(&machine, at: start + 2) == [], "a request in flight serves all sessions")
        let actions = answer(&machine, try #require(requests.first), at: start + 2)
        #expect(Set(actions) == Set(sessions.flatMap { [.save($0.key), .publish($0.key)] }))
        #expect(self.requests(&machine, at: start + 299) == [])
        #expect(self.requests(&machine, at: start + 300).count == 1)
    }

    @Test mutating func `a later session gets the cell's known weather`() throws {
        var (machine, _) = machine()
        _ = answer(&machine, try #require(machine.requests(now: Moment(start)).first), at: start + 1)
        let late = SampleSession("late", place: Place(la: 52.5199, lo: 13.3799), live: start + 200)
        #expect(
            machine.receiveState(late.state, now: Moment(start + 200)) == [
                .save(late.key), .save(late.key), .publish(late.key),
            ])
        #expect(machine.entries[late.key]?.record.weather?.fetchedAt == start + 1)
        #expect(requests(&machine, at: start + 200) == [])
    }

    @Test mutating func `a change of sessions in a cell causes no request`() throws {
        var (machine, sessions) = machine()
        _ = answer(&machine, try #require(machine.requests(now: Moment(start)).first), at: start)
        _ = sessions[0].become(.saving, now: start + 10)
        _ = machine.receiveState(sessions[0].state, now: Moment(start + 10))
        _ = machine.advance(to: Moment(start + 20))
        _ = machine.receiveState(
            SampleSession("late", place: SampleSession.berlin, live: start + 30).state, now: Moment(start + 30))
        #expect(requests(&machine, at: start + 30) == [])
        #expect(requests(&machine, at: start + 300).count == 1)
    }

    @Test mutating func `finished sessions cause no requests`() throws {
        var (machine, sessions) = machine(2)
        _ = answer(&machine, try #require(machine.requests(now: Moment(start)).first), at: start)
        for (index, status) in [SessionStatus.completed, .canceled].enumerated() {
            _ = sessions[index].become(status, now: start + 10)
            #expect(machine.receiveState(sessions[index].state, now: Moment(start + 10)) == [])
        }
        #expect(requests(&machine, at: start + 301) == [])
        #expect(machine.cells.isEmpty)
        // A new state of a canceled session resumes its requests.
        _ = sessions[1].become(.active, now: start + 400)
        _ = machine.receiveState(sessions[1].state, now: Moment(start + 400))
        #expect(requests(&machine, at: start + 400).count == 1)
    }

    @Test func `a session past its expiry causes no requests`() {
        var (machine, sessions) = machine()
        _ = machine.receiveState(sessions[0].state, now: Moment(start))
        #expect(requests(&machine, at: start + Session.expiry) == [])
        _ = sessions[0].become(.active, now: start + Session.expiry)
        _ = machine.receiveState(sessions[0].state, now: Moment(start + Session.expiry))
        #expect(requests(&machine, at: start + Session.expiry + 1).count == 1)
    }

    @Test(arguments: [
        (0.0, true), (-59, true), (59, true), (-62, false), (62, false), (-86_400, false), (-4e8, false),
    ])
    func `only a session that began within a minute of the engine's clock has weather`(at: Double, isLive: Bool) {
        var machine = WeatherFetcherMachine(provider: "open-meteo")
        var session = SampleSession(place: SampleSession.berlin, at: start + at, now: start)
        let isKnown = { (actions: [WeatherAction]) in !actions.isEmpty }
        #expect(isKnown(machine.receiveState(session.state, now: Moment(start))) == isLive)
        _ = session.become(.paused, now: start + 3_000)
        _ = machine.receiveState(session.state, now: Moment(start + 3_000))
        #expect(requests(&machine, at: start + 3_000).count == (isLive ? 1 : 0))
    }

    @Test func `a live session first observed late has weather, and a recording has none`() {
        for (at, count) in [(start, 1), (start - 3_600, 0)] {
            var machine = WeatherFetcherMachine(provider: "open-meteo")
            var session = SampleSession(place: SampleSession.berlin, at: at, now: start)
            _ = session.become(.paused, now: start + 3_000)
            _ = machine.receiveState(session.state, now: Moment(start + 3_000))
            #expect(requests(&machine, at: start + 3_000).count == count)
        }
    }

    @Test func `a user brings 20 new cells at once and one more every three minutes`() {
        var machine = WeatherFetcherMachine(provider: "open-meteo")
        func place(_ number: Int) -> Place { Place(la: 10 + Double(number), lo: 20) }
        func begin(_ user: String, _ place: Place, at now: Timestamp) -> (key: SessionKey, isLimited: Bool) {
            let session = SampleSession(user, place: place, live: now)
            let isLimited = machine.receiveState(session.state, now: Moment(now)).contains(.limit(session.key.user))
            #expect((machine.entries[session.key]?.record.cell == nil) == isLimited)
            return (session.key, isLimited)
        }
        for number in 0..<20 { #expect(!begin("anna", place(number), at: start).isLimited) }
        let limited = begin("anna", place(20), at: start)
        #expect(limited.isLimited)
        #expect(!begin("anna", place(3), at: start).isLimited, "the cell is known")
        #expect(!begin("berta", place(21), at: start).isLimited, "the limit is each user's")
        #expect(machine.cells.count == 21)
        let early = machine.receivePosition(place(22), of: limited.key, now: Moment(start + 179))
        #expect(early == [.limit(limited.key.user)])
        #expect(
            machine.receivePosition(place(22), of: limited.key, now: Moment(start + 180)).contains(.save(limited.key)))
        #expect(machine.newCells.available(limited.key.user, Moment(start + 3_780)) == 20)
    }

    @Test func `the first position places a session, unless its start did`() {
        var machine = WeatherFetcherMachine(provider: "open-meteo")
        let session = SampleSession(live: start)
        _ = machine.receiveState(session.state, now: Moment(start))
        #expect(requests(&machine, at: start) == [])
        #expect(machine.receivePosition(Place(la: 91, lo: 0), of: session.key, now: Moment(start)) == [])
        #expect(
            machine.receivePosition(SampleSession.berlin, of: session.key, now: Moment(start)) == [.save(session.key)])
        #expect(!machine.wantsPosition(session.key))
        #expect(machine.receivePosition(Place(la: 0, lo: 0), of: session.key, now: Moment(start)) == [])
        #expect(machine.requests(now: Moment(start)).map(\.cell) == [WeatherCell(SampleSession.berlin)])
    }

    @Test func `a position waits for the session's state, at most a minute`() {
        for (wait, isPlaced) in [(59.0, true), (61, false)] {
            var machine = WeatherFetcherMachine(provider: "open-meteo")
            let session = SampleSession(live: start)
            #expect(machine.receivePosition(SampleSession.berlin, of: session.key, now: Moment(start)) == [])
            _ = machine.advance(to: Moment(start + wait))
            _ = machine.receiveState(session.state, now: Moment(start + wait))
            #expect((machine.entries[session.key]?.record.cell != nil) == isPlaced)
            #expect(machine.positions.isEmpty)
        }
        var machine = WeatherFetcherMachine(provider: "open-meteo")
        // Items restore an expired session, so that its position precedes its state.
        var expired = SampleSession("ben", live: start)
        _ = machine.receiveState(expired.state, now: Moment(start))
        _ = expired.become(.canceled, now: start + 1)
        _ = machine.receiveState(expired.state, now: Moment(start + 1))
        #expect(machine.receivePosition(SampleSession.berlin, of: expired.key, now: Moment(start + 2)) == [])
        _ = expired.become(.active, now: start + 3)
        #expect(machine.receiveState(expired.state, now: Moment(start + 3)).contains(.save(expired.key)))
        machine = WeatherFetcherMachine(provider: "open-meteo")
        let recording = SampleSession(at: start - 3_600, now: start)
        _ = machine.receivePosition(SampleSession.berlin, of: recording.key, now: Moment(start))
        _ = machine.receiveState(recording.state, now: Moment(start))
        #expect(machine.entries.isEmpty && machine.positions.isEmpty)
    }

    @Test func `a position beyond the user's limit places the session once the limit permits it`() {
        var machine = WeatherFetcherMachine(provider: "open-meteo")
        for number in 0..<20 {
            let place = Place(la: Double(number), lo: 0)
            _ = machine.receiveState(SampleSession("anna", place: place, live: start).state, now: Moment(start))
        }
        let session = SampleSession("anna", live: start)
        _ = machine.receiveState(session.state, now: Moment(start))
        let limited = machine.receivePosition(SampleSession.berlin, of: session.key, now: Moment(start))
        #expect(limited == [.limit(session.key.user)])
        #expect(!machine.advance(to: Moment(start + 179)).contains(.save(session.key)))
        #expect(machine.advance(to: Moment(start + 180)).contains(.save(session.key)))
        #expect(machine.positions.isEmpty)
    }

    @Test func `an indoor session has only the place of its start`() {
        var machine = WeatherFetcherMachine(provider: "open-meteo")
        let session = SampleSession(environment: .indoor, live: start)
        _ = machine.receivePosition(SampleSession.berlin, of: session.key, now: Moment(start))
        _ = machine.receiveState(session.state, now: Moment(start))
        _ = machine.receivePosition(SampleSession.berlin, of: session.key, now: Moment(start))
        #expect(machine.entries[session.key]?.record.cell == nil && machine.positions.isEmpty)
        let placed = SampleSession(place: SampleSession.berlin, environment: .indoor, live: start)
        _ = machine.receiveState(placed.state, now: Moment(start))
        #expect(machine.entries[placed.key]?.record.cell != nil)
    }

    @Test mutating func `a provider's expiry delays the next request, up to an hour`() throws {
        for (expiry, due) in [(60.0, 300.0), (900, 900), (86_400, 3_600), (-5, 300)] {
            var (machine, _) = machine()
            let request = try #require(machine.requests(now: Moment(start)).first)
            _ = answer(&machine, request, Caching(expiresAt: start + expiry), at: start)
            #expect(requests(&machine, at: start + due - 1) == [], "\(expiry)")
            #expect(requests(&machine, at: start + due).count == 1, "\(expiry)")
        }
    }

    @Test mutating func `an unchanged answer keeps the value and the validator, and renews its time`() throws {
        var (machine, sessions) = machine()
        let request = try #require(machine.requests(now: Moment(start)).first)
        #expect(request.validator == nil)
        _ = answer(&machine, request, Caching(validator: "Wed"), at: start)
        for time in [start + 300, start + 600] {
            let again = try #require(requests(&machine, at: time).first)
            #expect(again.validator == "Wed")
            #expect(
                receive(&machine, again, .unchanged(Caching()), at: Moment(time))
                    == [.save(sessions[0].key), .publish(sessions[0].key)])
            let weather = try #require(machine.entries[sessions[0].key]?.record.weather)
            #expect(weather.observedAt == start)
            #expect(weather.fetchedAt == time)
        }
    }

    @Test mutating func `without an answer a value is stale after 15 minutes, until the next one`() throws {
        var (machine, sessions) = machine()
        let key = sessions[0].key
        _ = answer(&machine, try #require(machine.requests(now: Moment(start)).first), at: start)
        let request = try #require(requests(&machine, at: start + 300).first)
        #expect(machine.advance(to: Moment(start + 899)) == [])
        #expect(machine.entries[key]?.record.weather?.isStale == false)
        #expect(machine.advance(to: Moment(start + 900)) == [.save(key), .publish(key)])
        #expect(machine.entries[key]?.record.weather?.isStale == true)
        #expect(machine.advance(to: Moment(start + 5_000)) == [])
        _ = answer(&machine, request, at: start + 5_001)
        #expect(machine.entries[key]?.record.weather?.isStale == false)
    }

    @Test mutating func `a value that the provider caches for half an hour is not stale until then`() throws {
        var (machine, sessions) = machine()
        let request = try #require(machine.requests(now: Moment(start)).first)
        _ = answer(&machine, request, Caching(expiresAt: start + 1_800), at: start)
        #expect(machine.advance(to: Moment(start + 2_099)) == [])
        #expect(machine.advance(to: Moment(start + 2_100)) == [.save(sessions[0].key), .publish(sessions[0].key)])
    }

    @Test mutating func `at most four requests are in flight, cells without weather first`() throws {
        var machine = WeatherFetcherMachine(provider: "open-meteo")
        for number in 0..<10 {
            let place = Place(la: Double(number), lo: 0)
            _ = machine.receiveState(SampleSession("u\(number)", place: place, live: start).state, now: Moment(start))
        }
        let first = machine.requests(now: Moment(start))
        #expect(first.count == 4)
        #expect(requests(&machine, at: start + 1) == [])
        _ = answer(&machine, first[0], at: start + 1)
        #expect(machine.requests(now: Moment(start + 1)).count == 1)
        // The cell that was answered is due again, but others wait for their first weather.
        for request in first[1...] { _ = answer(&machine, request, at: start + 400) }
        let next = machine.requests(now: Moment(start + 400)).map(\.cell)
        #expect(next.count == 3)
        #expect(!next.contains(first[0].cell))
    }

    @Test(arguments: [-86_400.0, -3_600, 3_600, 86_400])
    mutating func `a wall clock that steps moves no request`(step: Double) throws {
        var (machine, _) = machine()
        _ = answer(&machine, try #require(machine.requests(now: Moment(start)).first), at: start)
        let stepped = Moment(start + 100).stepped(by: step)
        #expect(requests(&machine, at: stepped + 199) == [])
        let request = try #require(requests(&machine, at: stepped + 200).first)
        // The clock steps backwards while the request is in flight.
        let back = (stepped + 210).stepped(by: -step)
        _ = receive(&machine, request, .observed(.sample(at: start), Caching()), at: back)
        #expect(requests(&machine, at: back + 289) == [])
        #expect(requests(&machine, at: back + 290).count == 1)
    }

    @Test mutating func `a session that returns after the wall clock stepped backwards keeps its cell's newer weather`()
        throws
    {
        var (machine, sessions) = machine(2)
        _ = answer(&machine, try #require(machine.requests(now: Moment(start)).first), at: start)
        _ = sessions[1].become(.canceled, now: start)
        _ = machine.receiveState(sessions[1].state, now: Moment(start))
        let back = Moment(start + 300).stepped(by: -5_000)
        let request = try #require(requests(&machine, at: back).first)
        _ = receive(&machine, request, .observed(.sample(at: back.wallClock), Caching()), at: back)
        _ = sessions[1].become(.active, now: start + 1)
        _ = machine.receiveState(sessions[1].state, now: back)
        #expect(requests(&machine, at: back + 1) == [])
        #expect(machine.entries[sessions[1].key]?.record.reading?.fetchedAt == back)
    }

    @Test(arguments: [0.0, 86_400, 4e8])
    func `stored times ahead of the wall clock put a request off by at most an hour`(ahead: Double) throws {
        let stored = Moment(start + ahead)
        let session = SampleSession(place: SampleSession.berlin, live: start)
        var record = WeatherRecord(cell: WeatherCell(SampleSession.berlin), revision: 5, changedAt: stored)
        record.reading = WeatherReading(observation: .sample(at: start), fetchedAt: stored, dueAt: stored + 3_600)
        var machine = WeatherFetcherMachine(provider: "open-meteo")
        let now = Moment(start)
        let bytes = JSONCoding.encode(record)
        machine.load(try JSONCoding.decode(WeatherRecord.self, from: bytes, now: now), of: session.key, now: now)
        _ = machine.receiveState(session.state, now: now)
        #expect(requests(&machine, at: now + 3_599) == [])
        #expect(requests(&machine, at: now + 3_600).count == 1)
        #expect(machine.entries[session.key]?.record.changedAt == now)
    }
}
