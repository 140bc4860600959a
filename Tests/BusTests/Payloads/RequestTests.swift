import Bus
import TestSupport
import Testing
import Workouts

@Suite struct RequestTests {
    @Test(arguments: RefusedPayload.all)
    func `a command or request with an invalid field is refused with the field`(
        refused: RefusedPayload
    ) {
        let error = #expect(throws: PayloadError.self, "\(refused.text)") {
            switch refused.channel {
            case "command": _ = try JSONCoding.decode(Command.self, from: refused.text.utf8)
            default: _ = try JSONCoding.decode(UserRequest.self, from: refused.text.utf8)
            }
        }
        guard let message = error?.text else { return }
        #expect(message.hasPrefix(refused.blames), "\(message)")
    }

    @Test(arguments: [
        #"{"type":"pause","client":"a"}"#,
        #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","client":"a"}"#,
        #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"pause","client":"a/b"}"#,
        String(repeating: "[", count: 100_000), "\u{FEFF}", "{", "\"\\ud800\"",
    ])
    func `a payload without a readable envelope is refused`(text: String) {
        #expect(throws: PayloadError.self) { try JSONCoding.decode(Command.self, from: text.utf8) }
        #expect(throws: PayloadError.self) { try JSONCoding.decode(UserRequest.self, from: text.utf8) }
    }

    @Test func `a command or request without a client is read`() throws {
        let id = #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"#
        let command = try JSONCoding.decode(Command.self, from: (id + #""lap"}"#).utf8)
        #expect(command.client == nil && command.action == .lap)
        let request = try JSONCoding.decode(UserRequest.self, from: (id + #""deleteEverything"}"#).utf8)
        #expect(request.client == nil)
        #expect(try JSONCoding.decode(SessionRequest.self, from: (id + #""chunks"}"#).utf8).client == nil)
    }

    @Test func `a start without an activity means other and unknown keys are ignored`() throws {
        let text = #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"start","client":"a","mood":{"x":[1]}}"#
        let command = try JSONCoding.decode(Command.self, from: text.utf8)
        #expect(command.action == .start(SessionStart(activity: .other)))
    }

    @Test func `a start without an activity takes it from the planned workout`() throws {
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

    @Test func `a request for history returns the newest 20 by default`() throws {
        let text = #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"workouts","client":"a"}"#
        let request = try JSONCoding.decode(UserRequest.self, from: text.utf8)
        #expect(request.action == .workouts(HistoryQuery(before: nil, limit: 20)))
    }
}
