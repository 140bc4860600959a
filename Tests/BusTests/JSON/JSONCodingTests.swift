import Bus
import TestSupport
import Testing
import Workouts

@Suite struct JSONCodingTests {
    private func error(_ text: String) -> String? {
        let error = #expect(throws: PayloadError.self) {
            try JSONCoding.decode(Command.self, from: Array(text.utf8))
        }
        return error?.text
    }

    private func start(activity: String) -> String {
        """
        {"id":"00000000-0000-4000-8000-000000000001","client":"watch-1","type":"start","activity":"\(activity)"}
        """
    }

    @Test func `an unknown word is named`() {
        #expect(error(start(activity: "flying")) == #"activity: unknown word "flying""#)
    }

    @Test(
        arguments: [
            (#"{"type":"start"}"#, "id", nil),
            (#"{"id":5,"type":"start"}"#, "id", "5"),
            (
                #"{"type":"start","id":"00000000-0000-4000-8000-000000000001","client":"w","activity":"flying"}"#,
                "activity",
                #""flying""#
            ),
            (
                #"{"id":"00000000-0000-4000-8000-000000000001","client":"w","type":"end","streams":{"samples/w": "\u0000é"}}"#,
                "streams.samples/w", #""\u0000é""#
            ),
        ] as [(String, String, String?)])
    func `an error has the invalid field and its value`(text: String, field: String, value: String?) {
        let error = #expect(throws: PayloadError.self) { try JSONCoding.decode(Command.self, from: text.utf8) }
        #expect(error?.field == field)
        #expect(error?.value == value)
    }

    // A search that starts again at every repetition takes minutes.
    @Test(.timeLimit(.minutes(60)))
    func `an error about 259 KB that repeat Foundation's own text costs no more than a short one`() {
        let word = String(repeating: " from invalid String value ", count: 9_600)
        #expect(error(start(activity: word))?.hasPrefix(#"activity: unknown word " from invalid"#) == true)
    }

    @Test(.timeLimit(.minutes(60)))
    func `a reason has at most 200 bytes, wherever the payload is long`() throws {
        var random = SeededRandom()
        let pieces = [" from invalid String value ", "Cannot initialize ", "ä", "\\u0000", "👩‍👩‍👧‍👦", ".", "x"]
        for _ in 0..<20 {
            let piece = pieces.randomElement(using: &random)!
            let long = String(
                repeating: piece, count: Int.random(in: 20_000...250_000, using: &random) / piece.utf8.count)
            let depth = Int.random(in: 1...400, using: &random)
            let nested = String(repeating: "{\"\(long.prefix(200))\":", count: depth)
            let texts = [
                start(activity: long), long, "{\"\(long)\":", "{\"id\":\"\(long)\"}", nested + "1",
                start(activity: "running\",\"timeZone\":\"\(long)"), start(activity: "running\",\"name\":\"\(long)"),
            ]
            for text in texts { #expect(try #require(error(text)).utf8.count <= 203) }
        }
    }
}
