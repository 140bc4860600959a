import TestSupport
import Testing

@testable import FIT

struct FITWriterTests {
    private func messages(_ write: (inout FITWriter) -> Void) throws -> [FITMessage] {
        var writer = FITWriter()
        write(&writer)
        return try FITFile(writer.file()).messages
    }

    /// The value of a field of `type` after reading.
    private func written(_ type: FITBaseType, _ value: Double?) throws -> FITValue? {
        try messages { $0.addMessage(1, [.init(FITField(7, type), value)]) }[0].fields[7]
    }

    @Test func `the bytes equal those of independently written messages`() {
        var fixture = FITFixture()
        var writer = FITWriter()
        for second in 0..<3 {
            fixture.add(
                20,
                [.time(253, 1_700_000_000 + second), .init(3, .uint8, 120 + second), .init(0, .sint32, -(1 << 29))])
            writer.addMessage(
                20,
                [
                    .init(FITProfile.timestamp, 1_700_000_000 + second),
                    .init(FITProfile.Record.heartRate, 120 + second), .init(FITProfile.Record.latitude, -45.0),
                ])
        }
        fixture.add(264, local: 1, [.string(2, "Squat", size: 6)])
        writer.addMessage(264, [.init(FITProfile.ExerciseTitle.text, "Squat")])
        #expect(writer.file() == fixture.bytes)
    }

    @Test func `a file without messages is valid`() throws {
        #expect(try messages { _ in }.isEmpty)
    }

    @Test(arguments: [
        (FITBaseType.enumeration, 0.0, 254.0), (.uint8, 0, 254), (.uint8z, 1, 255), (.sint8, -128, 126),
        (.uint16, 0, 65_534), (.uint16z, 1, 65_535), (.sint16, -32_768, 32_766), (.uint32, 0, 4_294_967_294),
        (.uint32z, 1, 4_294_967_295), (.sint32, -2_147_483_648, 2_147_483_646),
    ])
    func `values beyond a type's range become the nearest possible`(type: FITBaseType, least: Double, most: Double)
        throws
    {
        for value in [least, most, (least + most) / 2 + 0.5].map({ $0.rounded(.down) }) {
            #expect(try written(type, value) == .number(value))
        }
        for value in [least - 1, least - 1e300, -.greatestFiniteMagnitude] {
            #expect(try written(type, value) == .number(least))
        }
        for value in [most + 1, most + 1e300, .greatestFiniteMagnitude] {
            #expect(try written(type, value) == .number(most))
        }
        for value in [nil, Double.nan, .infinity, -.infinity] { #expect(try written(type, value) == nil) }
    }

    @Test func `a time or position out of range is invalid`() throws {
        for time in [631_065_599.0, 4_926_032_895, -1e18, 1e18] {
            #expect(try messages { $0.addMessage(20, [.init(FITProfile.timestamp, time)]) }[0].timestamp == nil)
        }
        for time in [631_065_600.0, 4_926_032_894] {
            #expect(try messages { $0.addMessage(20, [.init(FITProfile.timestamp, time)]) }[0].timestamp == time)
        }
        let message = try messages {
            $0.addMessage(20, [.init(FITProfile.Record.latitude, 181.0), .init(FITProfile.Record.longitude, -180.0)])
        }[0]
        #expect(message.number(FITProfile.Record.latitude) == nil)
        #expect(message.number(FITProfile.Record.longitude) == -180)
    }

    @Test func `scale and offset follow the profile and round to the nearest step`() throws {
        let message = try messages {
            $0.addMessage(
                20, [.init(FITProfile.Record.enhancedAltitude, -12.31), .init(FITProfile.Record.distance, 1234.567)])
        }[0]
        #expect(message.fields == [78: .number(2_438), 5: .number(123_457)])
    }

    @Test func `more than sixteen kinds of messages replace definitions in turn`() throws {
        // Every order of reuse: active definitions and replaced ones.
        let kinds = (0..<20).map(UInt16.init) + [19, 3, 4, 0, 19] + (0..<40).reversed().map(UInt16.init)
        let messages = try messages { writer in
            for (index, kind) in kinds.enumerated() { writer.addMessage(kind, [.init(FITField(1, .uint16), index)]) }
        }
        #expect(messages.map(\.global) == kinds)
        #expect(messages.map { $0.fields[1] } == kinds.indices.map { .number(Double($0)) })
    }

    @Test func `an active definition is written once`() {
        func size(_ count: Int) -> Int {
            var writer = FITWriter()
            for _ in 0..<count {
                for kind in 0..<16 as Range<UInt16> { writer.addMessage(kind, [.init(FITField(1, .uint8), 1)]) }
            }
            return writer.file().count
        }
        #expect(size(2) - size(1) == 16 * 2)
    }

    @Test func `a text is truncated between characters and ends with a zero`() throws {
        func written(_ text: String) throws -> String? {
            try messages { $0.addMessage(264, [.init(FITProfile.ExerciseTitle.text, text)]) }[0]
                .text(FITProfile.ExerciseTitle.text)
        }
        #expect(try written("Kniebeuge 🏋️ für alle") == "Kniebeuge 🏋️ für alle")
        #expect(try written(String(repeating: "é", count: 100)) == String(repeating: "é", count: 63))
        #expect(try written("Row\0s") == "Row")
        #expect(try written("") == nil)
    }

    @Test func `sets and exercise titles are read as written`() throws {
        let squat = FITExercise(category: 28, number: 6)
        let messages = try messages { writer in
            writer.addSet(
                FITSet(
                    index: 0, kind: .active, start: 1_700_000_000, end: 1_700_000_060, duration: 42.5, repetitions: 8,
                    weight: 82.5, exercise: squat))
            writer.addSet(FITSet(index: 1, kind: .rest, start: 1_700_000_060, end: 1_700_000_150, duration: 90))
            writer.addTitle("Back squat", of: squat, index: 0)
        }
        typealias Field = FITProfile.Set
        #expect(messages.map(\.global) == [225, 225, 264])
        let (active, rest, title) = (messages[0], messages[1], messages[2])
        #expect(active.number(Field.start) == 1_700_000_000)
        // The set includes a pause of 17.5 s.
        #expect(active.number(Field.timestamp) == 1_700_000_060)
        #expect(active.number(Field.duration) == 42.5)
        #expect(active.integer(Field.type) == 1)
        #expect(active.integer(Field.repetitions) == 8)
        #expect(active.number(Field.weight) == 82.5)
        #expect(active.integer(Field.category) == 28)
        #expect(active.integer(Field.subtype) == 6)
        #expect(rest.integer(Field.type) == 0)
        #expect(rest.integer(Field.index) == 1)
        #expect(rest.number(Field.weight) == nil && rest.integer(Field.category) == nil)
        #expect(title.text(FITProfile.ExerciseTitle.text) == "Back squat")
        #expect(title.integer(FITProfile.ExerciseTitle.category) == 28)
        #expect(title.integer(FITProfile.ExerciseTitle.name) == 6)
        #expect(title.integer(FITProfile.messageIndex) == 0)
    }

    @Test func `a file that is taken in pieces has the same bytes`() {
        var random = SeededRandom()
        for count in [0, 1, 300] {
            var (whole, cut, bytes) = (FITWriter(), FITWriter(), [UInt8]())
            for number in 0..<count {
                let values = [FITWriter.Value(FITField(1, .uint32), number), .init(FITField(2, .uint8), number % 200)]
                whole.addMessage(UInt16(number % 20), values)
                cut.addMessage(UInt16(number % 20), values)
                while Int.random(in: 0..<4, using: &random) == 0 { bytes += cut.take() }
            }
            let (rest, header) = cut.finish()
            bytes += rest
            bytes.replaceSubrange(..<header.count, with: header)
            #expect(bytes == whole.file())
        }
    }

    @Test func `random messages are read as written`() throws {
        var random = SeededRandom()
        let types: [FITBaseType] = [.enumeration, .uint8, .sint8, .uint16, .sint16, .uint32, .sint32, .uint32z]
        var expected: [(global: UInt16, fields: [UInt8: FITValue])] = []
        let messages = try messages { writer in
            for _ in 0..<2_000 {
                let global = UInt16.random(in: 0...30, using: &random)
                var (values, fields): ([FITWriter.Value], [UInt8: FITValue]) = ([], [:])
                for number in 0..<UInt8.random(in: 0...6, using: &random) {
                    let type = types.randomElement(using: &random)!
                    let value = Bool.random(using: &random) ? Double(Int.random(in: 1...100, using: &random)) : nil
                    values.append(.init(FITField(number, type), value))
                    fields[number] = value.map { .number($0) }
                }
                writer.addMessage(global, values)
                expected.append((global, fields))
            }
        }
        #expect(messages.map(\.global) == expected.map(\.global))
        #expect(messages.map(\.fields) == expected.map(\.fields))
    }
}

extension FITWriter {
    fileprivate consuming func file() -> [UInt8] {
        let (rest, header) = finish()
        return header + rest.dropFirst(header.count)
    }
}
