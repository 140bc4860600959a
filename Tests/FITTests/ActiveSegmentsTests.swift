import FIT
import TestSupport
import Testing

/// A session from 100 to 200 s with various timer events.
struct ActiveSegmentsTests {
    private enum Event: Int {
        case start = 0
        case stop = 1
        case stopAll = 4
    }

    /// The bounds of the segments, in the seconds of the events.
    private static func segments(_ events: [(Int, Event)]) throws -> [[Double]] {
        let epoch = 1_700_000_000
        var fixture = FITFixture()
        for (time, event) in events {
            fixture.add(
                21, [.time(253, epoch + time), .init(0, .enumeration, 0), .init(1, .enumeration, event.rawValue)])
        }
        fixture.add(18, local: 1, [.time(2, epoch + 100), .init(7, .uint32, 100_000)])
        return try FITActivity(FITFile(fixture.bytes)).activeSegments.map {
            [$0.lowerBound - Double(epoch), $0.upperBound - Double(epoch)]
        }
    }

    @Test func `a pause divides the session`() throws {
        #expect(
            try Self.segments([(100, .start), (120, .stopAll), (150, .start), (200, .stopAll)])
                == [[100, 120], [150, 200]])
    }

    @Test func `without events the whole session is active`() throws {
        #expect(try Self.segments([]) == [[100, 200]])
    }

    @Test func `events outside the session are limited to it`() throws {
        #expect(try Self.segments([(0, .start), (300, .stopAll)]) == [[100, 200]])
        #expect(
            try Self.segments([(0, .start), (90, .stop), (95, .start), (110, .stop), (190, .start), (300, .stop)])
                == [[100, 110], [190, 200]])
    }

    @Test func `repeated starts and stops have no effect`() throws {
        #expect(
            try Self.segments(
                [
                    (100, .start), (110, .start), (120, .stop), (130, .stopAll), (150, .start), (190, .stop),
                    (200, .stop),
                ])
                == [[100, 120], [150, 190]])
    }

    @Test func `the session's ends replace a missing first start or last stop`() throws {
        #expect(try Self.segments([(120, .stop), (150, .start)]) == [[100, 120], [150, 200]])
    }

    @Test func `a first start after the session's start begins the active time`() throws {
        #expect(try Self.segments([(110, .start)]) == [[110, 200]])
    }

    @Test func `pauses and segments of zero length are ignored`() throws {
        #expect(try Self.segments([(100, .start), (150, .stop), (150, .start), (200, .stop)]) == [[100, 200]])
        #expect(
            try Self.segments([(100, .start), (120, .stop), (130, .start), (130, .stop), (200, .stop)]) == [[100, 120]])
    }

    @Test func `a stop at the end leaves no segment after it`() throws {
        #expect(
            try Self.segments([(100, .start), (200, .stop), (200, .stopAll), (200, .start)]) == [[100, 200]])
    }

    @Test func `unsorted events are sorted by time`() throws {
        #expect(
            try Self.segments([(200, .stop), (150, .start), (120, .stop), (100, .start)]) == [[100, 120], [150, 200]])
    }

    @Test func `events that leave no active time are ignored`() throws {
        #expect(try Self.segments([(10, .start), (20, .stop)]) == [[100, 200]])
        #expect(try Self.segments([(200, .start)]) == [[100, 200]])
    }

    @Test(arguments: 0..<200)
    func `segments of any events are sorted, disjoint and within the session`(round: Int) throws {
        var random = SeededRandom(seed: UInt64(round))
        let events = (0..<Int.random(in: 0...12, using: &random)).map { _ in
            (Int.random(in: 80...220, using: &random), [Event.start, .stop, .stopAll].randomElement(using: &random)!)
        }
        let bounds = try Self.segments(events).flatMap(\.self)
        #expect(
            zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "seed \(round), events \(events), bounds \(bounds)")
        #expect(bounds.allSatisfy { (100...200).contains($0) }, "seed \(round), events \(events), bounds \(bounds)")
    }
}

/// What a session's timer time and its records change.
struct TimerTimeTests {
    private static let epoch = 1_700_000_000

    /// A session from 100 s on, with stops and starts, and a record at each of `records`.
    private static func segments(
        elapsed: Double = 100, timerTime: Double?, _ events: [(Int, Int)], records: [Int] = [], next: Int? = nil
    ) throws -> [[Double]] {
        var fixture = FITFixture()
        for (time, event) in events {
            fixture.add(21, [.time(253, epoch + time), .init(0, .enumeration, 0), .init(1, .enumeration, event)])
        }
        for record in records { fixture.add(20, local: 2, [.time(253, epoch + record)]) }
        fixture.add(
            18, local: 1,
            [.time(2, epoch + 100), .init(7, .uint32, Int(elapsed * 1_000))]
                + (timerTime.map { [.init(8, .uint32, Int($0 * 1_000))] } ?? []))
        if let next { fixture.add(18, local: 1, [.time(2, epoch + next), .init(7, .uint32, 1_000)]) }
        return try FITActivity(FITFile(fixture.bytes)).activeSegments.map {
            [$0.lowerBound - Double(epoch), $0.upperBound - Double(epoch)]
        }
    }

    @Test func `stops during which the timer ran on are rests, not pauses`() throws {
        let rests = [(100, 0), (120, 4), (150, 0), (200, 4)]
        #expect(try Self.segments(timerTime: 100.3, rests) == [[100, 200]])
        #expect(try Self.segments(timerTime: 70, rests) == [[100, 120], [150, 200]])
        #expect(try Self.segments(timerTime: nil, rests) == [[100, 120], [150, 200]])
    }

    @Test func `a record in the last second of the session extends it`() throws {
        #expect(
            try Self.segments(elapsed: 99.8, timerTime: 99.8, [(100, 0), (200, 4)], records: [150, 200])
                == [[100, 200]])
    }

    @Test func `records after the last stop extend the session as far as its timer time`() throws {
        let events = [(100, 0), (170, 4)]
        #expect(try Self.segments(timerTime: 90, events, records: [170, 180, 190, 199]) == [[100, 190]])
        #expect(try Self.segments(timerTime: 70, events, records: [170, 180, 190]) == [[100, 170]])
        #expect(try Self.segments(timerTime: 90, events, records: [170, 180, 190], next: 175) == [[100, 170]])
    }
}
