import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing

@testable import VirtualRun
@testable import Workouts

@Suite struct LivePropertyTests {
    @Test
    func `each message holds exactly the others, its gaps are antisymmetric, and no position is out of the rules`()
        throws
    {
        var random = SeededRandom()
        for _ in 0..<30 {
            let names = (0..<Int.random(in: 2...10, using: &random)).map { "r\($0)" }
            let goal: RunGoal? = [nil, .distance(1_500), .duration(300)].randomElement(using: &random)!
            var fixture = LiveFixture(
                names, goal: goal, clock: Bool.random(using: &random) ? .active : .gun,
                ghosts: Bool.random(using: &random) ? [1: .init(user: nil, curve: RunCurve(pace: 320))] : [:])
            var world = LiveWorld(names, &random)
            fixture.inspect = { [homes = world.homes] in check($0, $1, homes) }
            for _ in 0..<400 {
                try world.step(&fixture, &random)
                fixture.outputs = []
            }
        }
    }

    /// The messages of one time.
    private func check(_ fixture: LiveFixture, _ outputs: [LiveOutput], _ homes: [User: Coordinate]) {
        let begun = Set(fixture.roster.participants.filter(\.status.hasBegun).map(\.user))
        var rows: [Runner: [Runner: Partners.Row]] = [:]
        for output in outputs {
            switch output {
            case .partners(let user, let message):
                let expected = begun.subtracting([user]).map(Runner.participant)
                let runners = message.rows.map(\.runner)
                #expect(Set(runners).count == runners.count)
                #expect(Set(runners.filter { if case .ghost = $0 { false } else { true } }) == Set(expected))
                let gaps = message.rows.compactMap(\.gapMeters)
                #expect(gaps == gaps.sorted(by: >))
                let current = message.rows.filter(\.isCurrent).compactMap(\.gapMeters)
                #expect(message.place.map { $0 == 1 + current.count { $0 > 0 } && !current.isEmpty } ?? true)
                #expect(message.payload.count < 64 * 1_024)
                for row in message.rows {
                    #expect(row.pace.map { $0 <= 1_800 && (row.distance ?? 0) >= 50 } ?? true)
                    rows[.participant(user), default: [:]][row.runner] = row
                }
            case .positions(let user, let message):
                for row in message.x {
                    let sender = fixture.roster.participants.first { $0.user == row.u }!
                    let reader = fixture.roster.participants.first { $0.user == user }!
                    #expect(row.u != user)
                    #expect(sender.status == .running && fixture.roster.status == .running)
                    #expect(reader.status != .left)
                    #expect(sender.sharing.position)
                    #expect(!reader.blocked.contains(row.u) && !sender.blocked.contains(user))
                    let place = Coordinate(latitude: row.la, longitude: row.lo)
                    #expect(place.distance(to: homes[row.u]!) >= sender.sharing.hideNear)
                }
            case .cue(let user, let cue) where cue.kind == .gap:
                let partners = [cue.ahead, cue.behind].compactMap { $0?.user }.map(Runner.participant)
                for partner in partners {
                    #expect(fixture.live.link(of: partner).map { $0 != .stale && $0 != .disconnected } == true)
                }
                #expect(fixture.roster.participants.contains { $0.user == user })
            case .clear(let user), .cue(let user, _), .prompt(let user, _):
                #expect(fixture.roster.participants.contains { $0.user == user })
            }
        }
        for (reader, partners) in rows {
            for (partner, row) in partners {
                guard let back = rows[partner]?[reader] else { continue }
                #expect(row.gapMeters == back.gapMeters.map { -$0 })
                #expect(row.gapSeconds == back.gapSeconds.map { -$0 })
            }
        }
    }

    @Test func `cues come once, however often the process restarts`() throws {
        var random = SeededRandom()
        for _ in 0..<20 {
            let names = (0..<Int.random(in: 2...6, using: &random)).map { "r\($0)" }
            var fixture = LiveFixture(names, goal: .distance(1_000))
            var world = LiveWorld(names, &random)
            for _ in 0..<500 { try world.step(&fixture, &random, restarts: 30) }
            for name in names {
                let once = fixture.cues(name).filter { [.finished, .left].contains($0.cue.kind) }
                let subjects = once.map { "\($0.cue.kind) \($0.cue.user!)" }
                #expect(Set(subjects).count == subjects.count)
                let splits = fixture.cues(name, .gap).compactMap(\.cue.number)
                #expect(splits == Array(Set(splits)).sorted())
                let revisions = fixture.partners(name).map(\.message.revision)
                #expect(zip(revisions, revisions.dropFirst()).allSatisfy { $0 < $1 })
                let times = fixture.cues(name, .lead).map(\.at)
                #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 10 - 1e-6 })
            }
        }
    }

    @Test func `a runner takes less than 32 KiB after an hour, and curves stay bounded`() throws {
        let names = (0..<5).map { "r\($0)" }
        var fixture = LiveFixture(names)
        for _ in 0..<1_800 {
            fixture.pass(2)
            for (index, name) in names.enumerated() {
                fixture.metrics(name, fixture.seconds * (2.5 + Double(index) / 10))
            }
            fixture.outputs = []
        }
        let curve = try #require(fixture.live.curves[User("r0")!])
        #expect(curve.points.size <= 16 * 1_024)
        #expect(MemoryLayout<LiveRunner>.size + MemoryLayout<LiveRun.Reader>.size < 2_048)
        #expect(JSONCoding.encode(fixture.live.stored).count < 5 * 1_024)
    }
}

/// What runners do: they run, pause, get lost, share, block, end and leave.
private struct LiveWorld {
    struct Person {
        var distance = 0.0
        var active = 0.0
        var speed: Double
        var isPaused = false
        var isSilent = false
        var place: Coordinate
        var heading = 0.0
    }

    let names: [String]
    var people: [String: Person] = [:]
    var homes: [User: Coordinate] = [:]

    init(_ names: [String], _ random: inout SeededRandom) {
        self.names = names
        for name in names {
            let home = random.place()
            homes[User(name)!] = home
            people[name] = Person(speed: Double.random(in: 1.5...5, using: &random), place: home)
        }
    }

    mutating func step(_ fixture: inout LiveFixture, _ random: inout SeededRandom, restarts: Int = 100) throws {
        let seconds = [0.2, 1, 2, 2, 2, 5].randomElement(using: &random)!
        fixture.pass(seconds)
        let name = names.randomElement(using: &random)!
        switch Int.random(in: 0..<60, using: &random) {
        case 0: people[name]?.isPaused.toggle()
        case 1: people[name]?.isSilent.toggle()
        case 2: fixture.change(name) { $0.sharing.position.toggle() }
        case 3: fixture.change(name) { $0.sharing.hideNear = [0, 50, 200, 400].randomElement(using: &random)! }
        case 4:
            let other = User(names.randomElement(using: &random)!)!
            fixture.change(name) { if $0.user != other { $0.blocked.formSymmetricDifference([other]) } }
        case 5 where Int.random(in: 0..<5, using: &random) == 0: fixture.change(name) { $0.status = .finished }
        case 6 where Int.random(in: 0..<5, using: &random) == 0: fixture.change(name) { $0.status = .left }
        case 7:
            fixture.isFed.toggle()
            fixture.flush()
        case 8: fixture.live.keepWaiting(User(name)!, now: fixture.now)
        default: break
        }
        if Int.random(in: 0..<restarts, using: &random) == 0 { try fixture.restart(after: 3) }
        for name in names {
            guard var person = people[name] else { continue }
            if !person.isPaused {
                person.distance += person.speed * seconds
                person.active += seconds
                person.heading += Double.random(in: -0.3...0.3, using: &random)
                let shrinkage = Coordinate.shrinkage(latitude: person.place.latitude)
                let step = person.speed * seconds / Coordinate.degree
                person.place.latitude += step * person.heading.sine
                person.place.longitude += step * (person.heading + .pi / 2).sine / shrinkage
            }
            people[name] = person
            guard !person.isSilent, fixture.isFed else { continue }
            fixture.metrics(name, person.distance, at: person.active) {
                $0.position = person.place
                $0.isPaused = person.isPaused
            }
        }
    }
}

extension Double {
    fileprivate var sine: Double { Foundation.sin(self) }
}

extension SeededRandom {
    fileprivate mutating func place() -> Coordinate {
        Coordinate(
            latitude: Double.random(in: -70...70, using: &self), longitude: Double.random(in: -179...179, using: &self))
    }
}

extension LiveRun {
    fileprivate func link(of runner: Runner) -> RunLink? {
        runners.first { .participant($0.participant.user) == runner }.map { $0.isFinished ? .finished : $0.link }
    }
}
