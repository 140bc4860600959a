import TestSupport
import Testing

@testable import Workouts

/// Silences of more than six hours without an item or a command are no part of a session.
@Suite struct SessionSilenceTests {
    private static let hour = 3_600.0

    private func begin() -> Session {
        let key = SessionKey(User("anna")!, SessionID("6f9619ff-8b86-d011-b42d-00c04fc964ff")!)
        return Session(key: key, start: SessionStart(activity: .running, countdown: 0), at: year2026, now: year2026)
    }

    /// The silences between items at these hours.
    private func items(_ hours: Double...) -> Silences { silences(hours.map { year2026 + $0 * Self.hour }) }

    private func silences(_ items: some Sequence<Timestamp>) -> Silences {
        var times = ItemTimes()
        for item in items { times.add(item) }
        return times.silences
    }

    private func hours(_ session: Session) -> [[Double?]] {
        session.segments.map { segment in
            [segment.start, segment.end].map { $0.map { $0.seconds(since: year2026) / Self.hour } }
        }
    }

    @Test func `a phone that died yesterday and says pause today gains no hours`() throws {
        var session = begin()
        session.receive(items(0.1, 1))
        try session.apply(.pause, at: year2026 + 23 * Self.hour)
        #expect(hours(session) == [[0, 1]])
        try session.apply(.resume, at: year2026 + 24 * Self.hour)
        #expect(hours(session) == [[0, 1], [24, nil]])
        #expect(session.startedAt == year2026)
    }

    @Test func `a silence ends at the next item or command`() throws {
        var session = begin()
        session.receive(items(0.1, 1, 20, 21))
        #expect(hours(session) == [[0, 1], [20, nil]])
        try session.apply(.lap, at: year2026 + 15 * Self.hour)
        #expect(hours(session) == [[0, 1], [15, nil]])
        try session.apply(.deviceReady(Device("watch-1")!), at: year2026 + 8 * Self.hour)
        try session.apply(.lap, at: year2026 + 4 * Self.hour)
        #expect(hours(session) == [[0, 8], [15, nil]])
        try session.apply(.end(streams: [:]), at: year2026 + 21.5 * Self.hour)
        #expect(session.segments.last?.end == year2026 + 21.5 * Self.hour)
    }

    @Test func `six hours are no silence, and neither is a session without items`() throws {
        var session = begin()
        session.receive(items(0, 6))
        try session.apply(.pause, at: year2026 + 12 * Self.hour)
        #expect(hours(session) == [[0, 12]])
        var bare = begin()
        try bare.apply(.pause, at: year2026 + 9 * Self.hour)
        #expect(hours(bare) == [[0, 9]])
        // The items are in another segment.
        bare.receive(items(9.5, 10))
        #expect(hours(bare) == [[0, 9]])
    }

    @Test func `a single item keeps its moment`() throws {
        var session = begin()
        session.receive(items(10))
        try session.apply(.pause, at: year2026 + 20 * Self.hour)
        #expect(hours(session) == [[10, 10]])
        #expect(session.startedAt == year2026)
    }

    @Test func `two services' silences are those of all items`() throws {
        var session = begin()
        session.receive(items(0.5, 8))
        session.receive(items(4, 12))
        try session.apply(.pause, at: year2026 + 13 * Self.hour)
        #expect(hours(session) == [[0, 13]])
    }

    @Test func `a recovered session ends with its last item, also if that is known later`() throws {
        var session = begin()
        try session.apply(.discard, at: year2026 + 2 * Self.hour)
        try session.apply(.recover, at: year2026 + 30 * Self.hour)
        #expect(hours(session) == [[0, 2]])
        session.receive(items(0.5, 1))
        #expect(hours(session) == [[0, 1]] && session.endedAt == year2026 + Self.hour)
        session.receive(items(1.5))
        #expect(hours(session) == [[0, 1.5]])
        #expect(session.endedAt == year2026 + 1.5 * Self.hour)
        session.complete()
        session.receive(items(1.75))
        #expect(session.endedAt == year2026 + 1.75 * Self.hour)
    }

    @Test func `a session of many silences has at most as many segments as one of many pauses`() throws {
        var session = begin()
        session.receive(items())
        session.receive(silences((0..<1_500).map { year2026 + Double($0) * 7 * Self.hour }))
        try session.apply(.end(streams: [:]), at: year2026 + 11_000 * Self.hour)
        #expect(session.segments.count <= Session.segmentLimit + 1)
        #expect(session.segments.validationError == nil)
    }

    private enum Event {
        case command(SessionAction, Timestamp)
        case report(Silences)
        case expiry
    }

    @Test func `commands, items and expiries in any order give the same segments`() throws {
        var random = SeededRandom()
        for _ in 0..<400 {
            let days = Double.random(in: 0.5...6, using: &random)
            func moment() -> Timestamp {
                year2026 + (Double.random(in: 0...days * 24, using: &random) * 4).rounded() * 900
            }
            // One client sends its commands in order.
            let later: [SessionAction] = [
                .pause, .resume, .lap, .suspend, .resume, .deviceReady(Device("watch-1")!), .update(SessionUpdate()),
            ]
            let commands = (0..<Int.random(in: 1...8, using: &random)).map { _ in moment() }.sorted()
                .map { Event.command(later.randomElement(using: &random)!, $0) }
            let times = [Int](repeating: 0, count: 2).map { _ in
                (0..<Int.random(in: 0...12, using: &random)).map { _ in moment() }
            }
            let end: [Event] =
                Bool.random(using: &random)
                ? [.command(.end(streams: [:]), year2026 + days * 24 * Self.hour)] : []
            var outcomes: Set<[Segment]> = []
            for _ in 0..<6 {
                // Each service reports again and again while its items come, and at last of all.
                let reports = times.flatMap { times -> [Event] in
                    let shuffled = times.shuffled(using: &random)
                    return (0...times.count).filter { _ in Bool.random(using: &random) }
                        .map { .report(silences(shuffled.prefix($0))) } + [.report(silences(times))]
                }
                let others = reports + (Bool.random(using: &random) ? [.expiry] : []) + [.report(silences(times[0]))]
                var session = begin()
                for event in merged(commands + end, others.shuffled(using: &random), &random) {
                    switch event {
                    case .command(let action, let at):
                        // The engine restores a session before it applies a command.
                        session.restore(hasOther: false, newest: nil)
                        try? session.apply(action, at: at)
                    case .report(let silences):
                        session.restore(hasOther: false, newest: nil)
                        session.receive(silences)
                    case .expiry: session.expire()
                    }
                }
                session.restore(hasOther: false, newest: nil)
                #expect(session.segments.validationError == nil)
                outcomes.insert(session.segments)
            }
            #expect(outcomes.count == 1, "seed \(random.seed)")
            let all = times.flatMap(\.self)
            for segment in outcomes.first ?? [] {
                guard let end = segment.end, all.contains(where: segment.contains) else { continue }
                let events = all + commands.compactMap { if case .command(_, let at) = $0 { at } else { nil } }
                let inside = (events.filter(segment.contains) + [segment.start, end]).sorted()
                #expect(zip(inside, inside.dropFirst()).allSatisfy { $1.seconds(since: $0) <= Silences.minimum })
            }
        }
    }

    /// Both lists in their order, in a random order to each other.
    private func merged(_ left: [Event], _ right: [Event], _ random: inout SeededRandom) -> [Event] {
        var (left, right, all) = (left[...], right[...], [Event]())
        while !left.isEmpty || !right.isEmpty {
            let takesLeft = right.isEmpty || !left.isEmpty && Bool.random(using: &random)
            if takesLeft { all.append(left.removeFirst()) } else { all.append(right.removeFirst()) }
        }
        return all
    }

    @Test func `a late pause counts at its own time, whatever laps came meanwhile`() throws {
        var session = begin()
        try session.apply(.lap, at: year2026 + 100)
        try session.apply(.pause, at: year2026 + 90)
        #expect(session.segments == [segment(0, 90)])
        try session.apply(.resume, at: year2026 + 80)
        #expect(session.segments.last == segment(90, nil))
        try session.apply(.lap, at: year2026 + 95)
        #expect(session.laps == [year2026 + 95, year2026 + 100])
    }
}
