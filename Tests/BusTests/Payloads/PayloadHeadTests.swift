import Testing
import Workouts

@testable import Bus

struct PayloadHeadTests {
    @Test
    func `revision and status are read wherever they are`() throws {
        let head = try PayloadHead(Array(#"{"a":{"revision":1},"revision":7,"status":"active"}"#.utf8)[...])
        #expect(head.revision == 7)
        #expect(head.status == "active")
        #expect(try PayloadHead(Array(#"{"c":1.5,"s":8}"#.utf8)[...]).revision == 8)
        let metrics = try PayloadHead(Array(#"{"c":1.5,"n":12,"s":8}"#.utf8)[...])
        #expect(metrics.newest == Timestamp(seconds: 1.5) && metrics.count == 12)
        #expect(try PayloadHead(Array(#"{"c":"x","n":[1]}"#.utf8)[...]) == PayloadHead(Array("{}".utf8)[...]))
        #expect(try PayloadHead(Array("{}".utf8)[...]) == PayloadHead(Array(#"{"x":[1]}"#.utf8)[...]))
    }

    @Test(arguments: [
        "", "[]", "1", #"{"s":1"#, #"{"s":1}}"#, #"{"s":-1}"#, #"{"s":1.5}"#, #"{"s":"1"}"#, #"{"s":1e17}"#,
    ])
    func `another payload is malformed`(text: String) {
        #expect(throws: PayloadError.self) { try PayloadHead(Array(text.utf8)[...]) }
    }
}
