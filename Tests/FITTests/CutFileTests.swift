import FIT
import TestSupport
import Testing

/// Files that end early, as those of a device whose battery went flat.
@Suite struct CutFileTests {
    private static let sound = FITFixture.workout(start: 1_700_000_000, duration: 30, pauses: [4...8], sport: 2)

    @Test func `a file cut at any byte is read up to its last whole message`() throws {
        let whole = try FITFile(Self.sound)
        let activity = try FITActivity(whole)
        #expect(try FITFile(upToCut: Self.sound).messages == whole.messages)
        #expect(try FITFile(upToCut: Self.sound).cut == nil)
        var read = 0
        for count in 0..<Self.sound.count {
            guard let file = try? FITFile(upToCut: Self.sound.prefix(count)) else {
                #expect(read == 0, "first \(count) bytes")
                continue
            }
            #expect(file.cut != nil && file.messages.count >= read)
            #expect(file.messages == Array(whole.messages.prefix(file.messages.count)))
            read = file.messages.count
            guard let cut = try? FITActivity(file) else {
                #expect(!file.messages.contains { $0.global == FITProfile.Record.global })
                continue
            }
            #expect(cut.records == Array(activity.records.prefix(cut.records.count)))
            #expect(cut.sessions.count == 1 && cut.session.start == activity.session.start)
            let end = try #require(cut.activeSegments.last).upperBound
            // A record at the moment of a resume, with none after it, adds no active time.
            #expect(cut.records.suffix(2).contains { $0.time == end }, "first \(count) bytes")
        }
        #expect(read == whole.messages.count)
    }

    @Test func `a file whose size the device never wrote is read to its end`() throws {
        var bytes = Array(Self.sound.dropLast(200))
        for index in 4..<8 { bytes[index] = 0 }
        bytes.replaceSubrange(12..<14, with: [0, 0])
        let activity = try FITActivity(try FITFile(upToCut: bytes))
        let expected = try FITActivity(try FITFile(upToCut: Self.sound.dropLast(200)))
        #expect(activity.records == expected.records && !activity.records.isEmpty)
    }

    @Test func `the records of a cut file have the sport that the file named before`() throws {
        var fixture = FITFixture()
        fixture.add(12, [.init(0, .enumeration, 2), .init(1, .enumeration, 6)])
        for second in 0..<20 { fixture.add(20, local: 1, [.time(253, 1_700_000_000 + second), .init(3, .uint8, 140)]) }
        fixture.add(18, local: 2, [.time(253, 1_700_000_020), .time(2, 1_700_000_000)])
        let session = try FITActivity(try FITFile(upToCut: fixture.bytes.dropLast(10))).session
        #expect(session.sport == .cycling && session.subSport == .indoorCycling && session.elapsedTime == 19)
    }

    @Test func `a chain that is cut off keeps its whole files and their sessions`() throws {
        let count = try FITActivity(try FITFile(Self.sound)).records.count
        for more in [1, 13, 14, 40, Self.sound.count - 1] {
            let activity = try FITActivity(try FITFile(upToCut: Self.sound + Self.sound.prefix(more)))
            #expect(activity.records.count >= count && activity.session.timerTime != nil)
        }
    }

    @Test func `damage that is no cut is refused`() {
        var bytes = Self.sound
        bytes[bytes.count / 2] ^= 1
        #expect(throws: FITError.self) { try FITFile(upToCut: bytes) }
    }
}
