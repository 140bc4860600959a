import FIT
import TestSupport
import Testing

struct FITActivityTests {
    private static let start = 1_700_000_000

    @Test(arguments: [false, true])
    func `a workout is read as written`(bigEndian: Bool) throws {
        let bytes = FITFixture.workout(start: Self.start, duration: 300, pauses: [100...160], bigEndian: bigEndian)
        let activity = try FITActivity(FITFile(bytes))
        let session = activity.session
        #expect(session.start == Double(Self.start))
        #expect(session.end == Double(Self.start + 300))
        #expect(session.elapsedTime == 300)
        #expect(session.timerTime == 240)
        #expect(session.sport == .running)
        #expect(session.distance == activity.records.last?.distance)
        #expect(session.maximumHeartRate == activity.records.compactMap(\.heartRate).max())
        #expect(activity.laps.map(\.elapsedTime) == [300])
        #expect(activity.laps.map(\.averageHeartRate) == [session.averageHeartRate])
        #expect(activity.timerEvents.map(\.kind) == [.start, .stopAll, .start, .stopAll])
        #expect(activity.timerEvents.map { $0.time - session.start } == [0, 100, 160, 300])

        let first = try #require(activity.records.first)
        #expect(activity.records.count == 101 + 141)
        #expect(first.time == session.start)
        #expect(first.heartRate == 120)
        #expect(first.cadence == 80)
        #expect(first.distance == 0)
        #expect(first.speed == 2.5)
        #expect(first.altitude == 50)
        #expect(abs((first.latitude ?? 0) - 51.97) < 0.01)
        #expect(first.power == nil)
    }

    @Test func `enhanced values override 16-bit values and cadence includes its fraction`() throws {
        var fixture = Self.withSession()
        fixture.add(
            20, local: 1,
            [
                .time(253, Self.start), .init(2, .uint16, 3000), .init(6, .uint16, 1000), .init(4, .uint8, 81),
                .init(53, .uint8, 64), .init(73, .uint32, 70_000, 0xFFFF_FFFF), .init(78, .uint32, 50_000),
            ])
        fixture.add(
            20, local: 1, [.time(253, Self.start + 1), .init(2, .uint16, 3000), .init(73, .uint32, 0xFFFF_FFFF)])
        let records = try FITActivity(FITFile(fixture.bytes)).records
        #expect(records[0].speed == 70)
        #expect(records[0].altitude == 9500)
        #expect(records[0].cadence == 81.5)
        #expect(records[1].speed == nil)
        #expect(records[1].altitude == 100)
        #expect(records[1].cadence == nil)
    }

    @Test func `only events of the timer are timer events`() throws {
        var fixture = Self.withSession()
        for (event, type) in [(0, 0), (36, 3), (0, 3), (0, 1), (9, 1), (0, 9)] {
            fixture.add(21, [.time(253, Self.start), .init(0, .enumeration, event), .init(1, .enumeration, type)])
        }
        #expect(try FITActivity(FITFile(fixture.bytes)).timerEvents.map(\.kind) == [.start, .stop, .stopDisableAll])
    }

    @Test func `a session without an elapsed time lasts until its message and never less than zero`() throws {
        var fixture = FITFixture()
        fixture.add(18, [.time(2, Self.start), .time(253, Self.start + 90)])
        fixture.add(18, [.time(2, Self.start), .time(253, Self.start - 90)])
        fixture.add(18, [.time(2, Self.start), .init(7, .sint32, -1000)])
        fixture.add(18, [.time(2, Self.start), .init(7, .uint32, 2500)])
        #expect(try FITActivity(FITFile(fixture.bytes)).sessions.map(\.elapsedTime) == [90, 0, 0, 2.5])
    }

    @Test func `a file without a session is refused`() throws {
        var fixture = FITFixture()
        fixture.add(20, [.time(253, Self.start), .init(3, .uint8, 100)])
        fixture.add(18, [.init(5, .enumeration, 1)])
        let file = try FITFile(fixture.bytes)
        #expect(throws: FITError.noSession) { try FITActivity(file) }
    }

    private static func withSession() -> FITFixture {
        var fixture = FITFixture()
        fixture.add(18, [.time(2, start), .init(7, .uint32, 10_000)])
        return fixture
    }
}
