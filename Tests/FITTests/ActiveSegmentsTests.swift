import FIT
import TestSupport
import Testing

/// A session from 100 to 200 s, and what timer events make of it.
struct ActiveSegmentsTests {
    private enum Event: Int {
        case start = 0
        case stop = 1
        case stopAll = 4
    }

    /// Segments as their bounds, in the seconds the events are given in.
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

    @Test func `events beyond the session are cut to it`() throws {
        #expect(try Self.segments([(0, .start), (300, .stopAll)]) == [[100, 200]])
        #expect(
            try Self.segments([(0, .start), (90, .stop), (95, .start), (110, .stop), (190, .start), (300, .stop)])
                == [[100, 110], [190, 200]])
    }

    @Test func `repeated starts and stops change nothing`() throws {
        #expect(
            try Self.segments(
                [
                    (100, .start), (110, .start), (120, .stop), (130, .stopAll), (150, .start), (190, .stop),
                    (200, .stop),
                ])
                == [[100, 120], [150, 190]])
    }

    @Test func `a missing first start or last stop is made up by the session's ends`() throws {
        #expect(try Self.segments([(120, .stop), (150, .start)]) == [[100, 120], [150, 200]])
    }

    @Test func `a start after the session's own start is when the time begins`() throws {
        #expect(try Self.segments([(110, .start)]) == [[110, 200]])
    }

    @Test func `a pause of no length does not divide and a segment of no length is none`() throws {
        #expect(try Self.segments([(100, .start), (150, .stop), (150, .start), (200, .stop)]) == [[100, 200]])
        #expect(
            try Self.segments([(100, .start), (120, .stop), (130, .start), (130, .stop), (200, .stop)]) == [[100, 120]])
    }

    @Test func `a stop at the very end leaves nothing behind it`() throws {
        #expect(
            try Self.segments([(100, .start), (200, .stop), (200, .stopAll), (200, .start)]) == [[100, 200]])
    }

    @Test func `events that are out of order in the file are put in order`() throws {
        #expect(
            try Self.segments([(200, .stop), (150, .start), (120, .stop), (100, .start)]) == [[100, 120], [150, 200]])
    }

    @Test func `events that leave no active time tell nothing`() throws {
        #expect(try Self.segments([(10, .start), (20, .stop)]) == [[100, 200]])
        #expect(try Self.segments([(200, .start)]) == [[100, 200]])
    }

    @Test(arguments: 0..<200)
    func `segments of any events are in order, apart and inside the session`(round: Int) throws {
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
