import Bus
import Testing
import Workouts

@Suite struct SampleBatchTests {
    private static let times = AcceptedTimes(now: Timestamp(seconds: 1_767_225_600))

    private func batch(_ text: String) throws(PayloadError) -> SampleBatch {
        try SampleBatch(Array(text.utf8)[...], accepting: Self.times)
    }

    private func item(_ fields: String) throws -> (sample: Sample, invalid: Int) {
        let batch = try batch(#"{"s":0,"x":[{\#(fields)}]}"#)
        return (batch.items[0], batch.invalidValues)
    }

    @Test func `items are read with their numbers and values`() throws {
        let batch = try batch(
            " {\t\"x\" : [ {\"c\":1.5e9,\"h\":80,\"cd\":90.5} ,\r\n{\"d\":2,\"c\":1500000001.25}],\"s\":7 } ")
        #expect(batch.first == 7)
        #expect(batch.invalidValues == 0)
        #expect(batch.items.map(\.time?.microseconds) == [1_500_000_000_000_000, 1_500_000_001_250_000])
        #expect(batch.items[0][.heartRate] == 80)
        #expect(batch.items[0][.cadence] == 90.5)
        #expect(batch.items[1][.distance] == 2)
        #expect(batch.items[1][.heartRate] == nil)
    }

    @Test(
        arguments: [
            (.heartRate, "h", 20...300), (.distance, "d", 0...10_000), (.activeEnergy, "k", 0...1_000),
            (.speed, "v", 0...60),
            (.power, "w", 0...5_000), (.battery, "b", 0...1),
        ] as [(Quantity, String, ClosedRange<Double>)])
    func `a field out of range is dropped and counted`(
        quantity: Quantity, key: String, range: ClosedRange<Double>
    ) throws {
        for value in [range.lowerBound, range.upperBound] {
            let (sample, invalid) = try item("\"c\":1e9,\"\(key)\":\(value)")
            #expect(sample[quantity] == value)
            #expect(invalid == 0)
        }
        for value in [range.lowerBound.nextDown, range.upperBound.nextUp] {
            let (sample, invalid) = try item("\"c\":1e9,\"\(key)\":\(value)")
            #expect(sample[quantity] == nil)
            #expect(sample.time != nil)
            #expect(invalid == 1)
        }
    }

    @Test(arguments: ["1e999", "-1e999", "1e99999999999999999999", "null", "true", "\"80\"", "[80]", "{\"h\":80}"])
    func `a field that is not a usable number is dropped and counted`(value: String) throws {
        let (sample, invalid) = try item("\"c\":1e9,\"h\":\(value),\"w\":5")
        #expect(sample[.heartRate] == nil)
        #expect(sample[.power] == 5)
        #expect(invalid == 1)
    }

    @Test(arguments: [
        "", "\"h\":80", "\"c\":null,\"h\":80", "\"c\":\"1e9\"", "\"c\":1e999", "\"c\":-1", "\"c\":946684799.999999",
        "\"c\":1767312000.000001", "\"c\":1e400", "\"c\":123456789012345678901234567890", "\"c\":[]",
        "\"\\u0063\":1e9,\"h\":80",
    ])
    func `an item without a usable time becomes an empty item`(fields: String) throws {
        let (sample, invalid) = try item(fields)
        #expect(sample == Sample())
        #expect(invalid == 1)
    }

    @Test(arguments: ["1", "null", "[]", "\"\"", "false"]) func `an element that is not an item becomes an empty item`(
        text: String
    ) throws {
        let batch = try batch(#"{"s":3,"x":[\#(text),{"c":1e9}]}"#)
        #expect(batch.items == [Sample(), Sample(time: Timestamp(microseconds: 1_000_000_000_000_000))])
        #expect(batch.invalidValues == 1)
    }

    @Test(arguments: [
        "", " ", "{", "{}", "[]", "null", "5", "{\"s\":0}", "{\"x\":[{\"c\":1e9}]}", "{\"s\":0,\"x\":[]}",
        "{\"s\":0,\"x\":{}}", "{\"s\":0,\"x\":null}", "{\"s\":-1,\"x\":[{}]}", "{\"s\":1.5,\"x\":[{}]}",
        "{\"s\":0.0000001,\"x\":[{}]}", "{\"s\":100000001,\"x\":[{}]}", "{\"s\":1e999,\"x\":[{}]}",
        "{\"s\":\"0\",\"x\":[{}]}", "{\"s\":null,\"x\":[{}]}", "{\"s\":0,\"x\":[{}]} x", "{\"s\":0,\"x\":[{}]}{}",
        "{\"s\":0,\"x\":[{}],}", "{\"s\":0,\"x\":[{},]}", "{\"s\":0,\"x\":[{\"c\":1,}]}", "{\"s\":0,\"x\":[{\"c\"}]}",
        "{\"s\":0,\"x\":[{\"c\":}]}", "{\"s\":0,\"x\":[{\"c\":NaN}]}", "{\"s\":0,\"x\":[{\"c\":Infinity}]}",
        "{\"s\":0,\"x\":[{\"c\":01}]}", "{\"s\":0,\"x\":[{\"c\":+1}]}", "{\"s\":0,\"x\":[{\"c\":.5}]}",
        "{\"s\":0,\"x\":[{\"c\":1.}]}", "{\"s\":0,\"x\":[{\"c\":1e}]}", "{\"s\":0,\"x\":[{\"c\":1e+}]}",
        "{\"s\":0,\"x\":[{\"c\":-}]}", "{\"s\":0,\"x\":[{\"c\":0x10}]}", "{\"s\":0,\"x\":[{\"h",
        "{\"s\":0,\"x\":[{\"h\\",
        "{\"s\":0,\"x\":[{\"h\\\"", "{\"s\":0,\"x\":[{'c':1}]}", "{s:0}", "{\"s\":0,\"x\":[{\"q\":\"a\nb\"}]}",
        "{\"s\":0,\"x\":[{\"q\":tru}]}", "\u{FEFF}{\"s\":0,\"x\":[{}]}", "{\"s\":0,\"x\":[{}]}\0",
        "{\"s\":0 \"x\":[{}]}",
    ])
    func `a payload of another shape is refused`(text: String) {
        let error = #expect(throws: PayloadError.self) { try batch(text) }
        #expect(error?.reason == "malformed")
    }

    @Test func `a batch of more than a thousand items is refused`() throws {
        let items = { (count: Int) in Array(repeating: "{}", count: count).joined(separator: ",") }
        let full = try batch(#"{"s":0,"x":[\#(items(1_000))]}"#)
        #expect(full.items.count == 1_000)
        #expect(full.invalidValues == 1_000)
        let error = #expect(throws: PayloadError.self) { try batch(#"{"s":0,"x":[\#(items(1_001))]}"#) }
        #expect(error?.reason == "too_large")
    }

    @Test func `deep nesting is refused without unbounded recursion`() throws {
        let nested = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(try batch(#"{"q":\#(nested(32)),"s":0,"x":[{}]}"#).first == 0)
        for depth in [33, 100_000] {
            let error = #expect(throws: PayloadError.self) { try batch(#"{"q":\#(nested(depth)),"s":0,"x":[{}]}"#) }
            #expect(error?.reason == "too_large")
        }
    }

    @Test func `the first invalid value is named with its item, field and value`() throws {
        let long = String(repeating: "é", count: 200)
        let batch = try batch(
            #"{"s":7,"x":[{"c":1e9,"h":80},{"c":1e9,"h": 999},{"c":-1},5,{"c":1e9,"rr":[1]}]}"#)
        #expect(batch.invalidValues == 4)
        let flaw = try #require(batch.flaw)
        #expect(
            flaw.text
                == "item 8: h is not a number from 20 to 300; it was dropped; 4 values of this batch were dropped")
        #expect([flaw.field, flaw.value, flaw.reason] == ["h", "999", "flawed_items"])
        #expect(flaw.item == 8)
        let others: [(String, String?, String?)] = [
            (#"{"c":-1,"h":80}"#, "c", "-1"), (#"{"h":80}"#, "c", nil), ("[1]", nil, "[1]"),
            (#"{"c":1e9,"rr":[900,1]}"#, "rr", "1"), (#"{"c":1e9,"h":"\#(long)"}"#, "h", "\"\(long.prefix(31))…"),
            (#"{"c":1e9,"h":"\u0000\n"}"#, "h", #""\u0000\n""#),
        ]
        for (item, field, value) in others {
            let flaw = try #require(try self.batch(#"{"x":[\#(item)],"s":3}"#).flaw)
            #expect(flaw.field == field && flaw.value == value && flaw.item == 3, "\(flaw)")
        }
        #expect(try self.batch(#"{"s":0,"x":[{"c":1e9}]}"#).flaw == nil)
    }

    @Test func `a batch may ask for an acknowledgement`() throws {
        let flags = [#""a":1"#: true, #""a":0"#: false, #""a":null"#: false, #""a":"1""#: false, #""q":1"#: false]
        for (text, asks) in flags {
            #expect(try batch(#"{\#(text),"s":0,"x":[{"c":1e9}]}"#).asksAck == asks, "\(text)")
        }
        let batch = SampleBatch(first: 0, items: [Sample(time: Timestamp(seconds: 1e9))], asksAck: true)
        #expect(batch.payload == Array(#"{"a":1,"s":0,"x":[{"c":1000000000}]}"#.utf8))
    }

    @Test func `a repeated key takes its last value`() throws {
        let batch = try batch(#"{"s":1,"x":[5,6],"s":2,"x":[{"c":1e9,"h":80,"h":90}]}"#)
        #expect(batch.first == 2)
        #expect(batch.invalidValues == 0)
        #expect(batch.items.map { $0[.heartRate] } == [90])
    }

    @Test func `unknown keys and strings are skipped`() throws {
        let (sample, bad) = try item(#""hh":1,"":2,"é":[{"\"":"\\"},true,false,null,-0.5e-3],"cx":1,"c":1e9,"h":80"#)
        #expect(sample[.heartRate] == 80)
        #expect(bad == 0)
    }

    @Test func `zero has no sign`() throws {
        for text in ["-0", "-0.0", "-0e5", "-1e-400"] {
            let (sample, _) = try item("\"c\":1e9,\"d\":\(text)")
            #expect(sample[.distance]?.sign == .plus)
        }
    }
}
