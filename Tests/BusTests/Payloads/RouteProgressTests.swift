import TestSupport
import Testing
import Workouts

@testable import Bus

struct RouteProgressTests {
    @Test func `the figures of a route are read as written, past its lines`() throws {
        var random = SeededRandom()
        for _ in 0..<50 {
            let snapshot = random.routeSnapshot()
            let progress = try RouteProgress(snapshot.payload[...])
            #expect(progress.revision == snapshot.revision && progress.newest == snapshot.newest)
            #expect(progress.distance == snapshot.distance && progress.ascent == snapshot.ascent)
            #expect(progress.latitude == snapshot.latitude && progress.longitude == snapshot.longitude)
            #expect(progress.speed == snapshot.speed && progress.maximumSpeed == snapshot.maximumSpeed)
            #expect(progress.grade == snapshot.grade)
        }
    }

    @Test func `an infinite or other value of a figure is unknown`() throws {
        let text = #"{"c":"x","d":1e999,"el":null,"pl":["a\"b"],"s":7,"v":2}"#
        var expected = RouteProgress(revision: 7)
        expected.speed = 2
        #expect(try RouteProgress(Array(text.utf8)[...]) == expected)
        #expect(throws: PayloadError.self) { try RouteProgress(Array(#"{"d":1}"#.utf8)[...]) }
        #expect(throws: PayloadError.self) { try RouteProgress(Array(#"{"pl":["a],"s":7}"#.utf8)[...]) }
    }

    @Test func `a skipped string ends at its quotation mark, wherever escapes and controls are`() throws {
        var random = SeededRandom()
        let letters = Array(#"ab~é\"\\\\?_"#) + ["\u{7f}"]
        for _ in 0..<500 {
            var text = ""
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                let letter = letters.randomElement(using: &random)!
                text += letter == "\"" || letter == "\\" ? "\\\(letter)" : "\(letter)"
            }
            let payload = Array(#"{"x":"\#(text)","s":7}"#.utf8)
            #expect(try RouteProgress(payload[...]).revision == 7, "\(text)")
            var broken = payload
            broken.insert(
                UInt8.random(in: 0..<0x20, using: &random), at: 6 + Int.random(in: 0...text.utf8.count, using: &random))
            // After a backslash everything is skipped.
            if broken[..<(broken.firstIndex { $0 < 0x20 } ?? 0)].last != UInt8(ascii: "\\") {
                #expect(throws: PayloadError.self) { try RouteProgress(broken[...]) }
            }
        }
    }
}
