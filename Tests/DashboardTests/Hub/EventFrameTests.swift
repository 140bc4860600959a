import NIOCore
import Testing

@testable import Dashboard

struct EventFrameTests {
    @Test
    func `an event has its name and the payload unchanged`() throws {
        let frame = try #require(EventFrame(.metrics, Array(#"{"s":1}"#.utf8), revision: 1))
        #expect(String(buffer: frame.wire) == "event: metrics\ndata: {\"s\":1}\n\n")
        #expect(Array(frame.payload) == Array(#"{"s":1}"#.utf8))
    }

    @Test(arguments: ["{\n}", "{\r}", "{}\r\n"])
    func `a payload with a line break is no event`(payload: String) {
        #expect(EventFrame(.state, Array(payload.utf8)) == nil)
    }
}
