import Bus
import Testing
import Workouts

@Suite struct MetricsProgressTests {
    private func progress(_ text: String) throws(PayloadError) -> MetricsProgress {
        try MetricsProgress(Array(text.utf8)[...])
    }

    @Test(arguments: [
        #"{"c":1.5e9,"n":7}"#, #"{"n":7,"c":1500000000}"#, #" { "n" : 7.0 , "c" : 1500000000.0000001 } "#,
        #"{"k":80,"z":[1,2,[3]],"n":7,"u":"a\"n\"","pa":true,"c":1.5e9,"r":null,"x":{"n":9,"c":1}}"#,
        #"{"n":1,"c":5,"n":7,"c":1500000000}"#,
    ])
    func `count and newest time are read in any order among other keys`(text: String) throws {
        let expected = MetricsProgress(count: 7, newest: Timestamp(microseconds: 1_500_000_000_000_000))
        #expect(try progress(text) == expected)
    }

    @Test(arguments: [
        (#"{"n":1,"h":80}"#, true), (#"{"n":1,"hx":80}"#, true), (#"{"n":1,"h":null,"ha":null}"#, false),
        (#"{"n":1,"ds":{"phone-1":{"c":1,"b":0.8},"watch-3f9a":{"c":1}}}"#, true), (#"{"ds":{"watch":1},"n":1}"#, true),
        (#"{"n":1,"ds":{"phone-1":{"h":80},"watches":{},"strap":{}}}"#, false), (#"{"n":1,"ds":{}}"#, false),
        (#"{"n":1,"ds":["watch"],"x":{"h":80}}"#, false),
    ])
    func `a watch or a heart rate makes metrics live`(text: String, hasLiveMetrics: Bool) throws {
        #expect(try progress(text) == MetricsProgress(count: 1, newest: nil, hasLiveMetrics: hasLiveMetrics))
    }

    @Test(arguments: [
        #"{"n":0}"#, #"{"n":0,"c":null}"#, #"{"n":0,"c":"1.5e9"}"#, #"{"n":0,"c":1e999}"#, #"{"n":0,"c":-1e999}"#,
        #"{"n":0,"c":123456789012345678901234567890}"#, #"{"n":0,"c":9223372036855}"#, #"{"n":0,"C":5}"#,
    ])
    func `without a valid time the count is read`(text: String) throws {
        #expect(try progress(text) == MetricsProgress(count: 0, newest: nil))
    }

    @Test(arguments: [
        #"{"c":1.5e9}"#, #"{"n":null}"#, #"{"n":"7"}"#, #"{"n":-1}"#, #"{"n":1.5}"#, #"{"n":1e30}"#, #"{"n":-1e999}"#,
        #"{"n":9223372036854775808}"#, #"{"n":7,"n":null}"#, #"{"x":{"n":7}}"#, #"{"N":7}"#, #"{"\u006e":7}"#,
    ])
    func `a payload without a count is refused with that key`(text: String) {
        #expect(throws: PayloadError.malformed("n: missing")) { try progress(text) }
    }

    @Test(arguments: [
        "", " ", "{", "}", "{}", "[]", "7", "null", "{\"n\":7", "{\"n\":7,", "{\"n\":7,}", "{\"n\":}", "{\"n\"}",
        "{n:7}",
        "{\"n\":7}x", "{\"n\":7}{}", "{\"n\":7}\0", "{\"n\":7]", "{\"n\":07}", "{\"n\":+7}", "{\"n\":7.}", "{\"n\":7e}",
        "{\"n\":NaN}", "{\"n\":7 \"c\":1}", "{\"n\":7,\"h\":[1,]}", "{\"n\":7,\"h", "{\"n\":7,\"h\\",
        "\u{FEFF}{\"n\":7}",
    ])
    func `a payload of another shape is refused`(text: String) {
        let error = #expect(throws: PayloadError.self) { try progress(text) }
        #expect(error?.reason == "malformed")
        #expect(error != .malformed("n: missing"))
    }

    @Test func `deep nesting is refused without unbounded recursion`() throws {
        let nested = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(try progress(#"{"q":\#(nested(32)),"n":7}"#).count == 7)
        let error = #expect(throws: PayloadError.self) { try progress(#"{"q":\#(nested(100_000)),"n":7}"#) }
        #expect(error?.reason == "too_large")
    }

    @Test func `a payload can be a slice with any start index`() throws {
        let bytes = Array(#"xx{"n":7}x"#.utf8)
        #expect(try MetricsProgress(bytes[2..<bytes.count - 1]).count == 7)
    }
}
