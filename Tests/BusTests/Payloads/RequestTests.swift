import Bus
import TestSupport
import Testing
import Workouts

@Suite struct RequestTests {
    @Test(arguments: RefusedPayload.all)
    func `a command or request out of shape or range is refused, and the field is named`(
        refused: RefusedPayload
    ) {
        let error = #expect(throws: PayloadError.self, "\(refused.text)") {
            switch refused.channel {
            case "command": _ = try JSONCoding.decode(Command.self, from: refused.text.utf8)
            default: _ = try JSONCoding.decode(UserRequest.self, from: refused.text.utf8)
            }
        }
        guard case .malformed(let told) = error else { return }
        #expect(told.hasPrefix(refused.blames), "\(told)")
    }

    @Test(arguments: [
        #"{"type":"pause","client":"a"}"#,
        #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"pause"}"#,
        #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","client":"a"}"#,
        #"{"id":"6F9619FF-8b86-d011-b42d-00c04fc964ff","type":"pause","client":"a"}"#,
        #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"pause","client":"a/b"}"#,
        String(repeating: "[", count: 100_000), "\u{FEFF}", "{", "\"\\ud800\"",
    ])
    func `what has no readable envelope or is not JSON is refused`(text: String) {
        #expect(throws: PayloadError.self) { try JSONCoding.decode(Command.self, from: text.utf8) }
        #expect(throws: PayloadError.self) { try JSONCoding.decode(UserRequest.self, from: text.utf8) }
    }

    @Test func `a command without an activity is another one, and keys that are unknown are ignored`() throws {
        let text = #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"start","client":"a","mood":{"x":[1]}}"#
        let command = try JSONCoding.decode(Command.self, from: text.utf8)
        #expect(command.action == .start(SessionStart(activity: .other)))
    }

    @Test func `a planned workout tells the activity when the start does not`() throws {
        var random = SeededRandom()
        for _ in 0..<100 {
            let (bytes, definition) = random.plannedStart()
            var start = SessionStart(activity: definition.activity)
            start.definition = definition
            #expect(try JSONCoding.decode(Command.self, from: bytes).action == .start(start))
            let named = String(decoding: bytes, as: UTF8.self).dropLast() + #","activity":"hiking"}"#
            start.activity = .hiking
            #expect(try JSONCoding.decode(Command.self, from: named.utf8).action == .start(start))
        }
    }

    @Test func `a request for history asks for the newest 20 unless it says otherwise`() throws {
        let text = #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"workouts","client":"a"}"#
        let request = try JSONCoding.decode(UserRequest.self, from: text.utf8)
        #expect(request.action == .workouts(before: nil, limit: 20))
    }
}
