import Bus
import Testing
import Workouts

/// Minimised findings of fuzzing and review.
@Suite struct FuzzFindingsTests {
    @Test func `a refusal stays short for keys and values of any length`() {
        let long = String(repeating: "x\u{301}", count: 50_000)
        for text in [
            #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"\#(long)","client":"a"}"#,
            #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff","type":"end","client":"a","streams":{"\#(long)":1}}"#,
        ] {
            let error = #expect(throws: PayloadError.self) { try JSONCoding.decode(Command.self, from: text.utf8) }
            guard let message = error?.text else { continue }
            #expect(message.utf8.count <= 210)
        }
    }

    @Test(arguments: [
        "6f9619ff-8b86-4011-b42d-00c04fc964-f", "6f9619ff-8b86-4011-b42d-00c04fc964+f",
        "6f9619ff-8b86-4011-b42d-00c04fc964 f", "-f9619ff-8b86-4011-b42d-00c04fc964ff",
        "6f9619ff-8b86-4011-b42d-00c04fc964f\0", "6f9619ff08b86-4011-b42d-00c04fc964ff",
    ])
    func `an identifier with a sign in place of a digit is refused`(text: String) {
        #expect(SessionID(text) == nil)
    }

    @Test(arguments: [
        ("\"type\":\"lap\",\"at\":1e999", "at: "), ("\"type\":\"start\",\"startAt\":-1e999", "startAt: "),
        ("\"type\":\"start\",\"countdown\":1e-999", "countdown: "),
        ("\"type\":\"end\",\"streams\":{\"samples/a\":1e300}", "streams: "),
        ("\"type\":\"end\",\"streams\":{\"samples/a\":1.5}", "streams: "),
    ])
    func `a number out of range is refused with its field`(fields: String, field: String) {
        let text = "{\"id\":\"6f9619ff-8b86-4011-b42d-00c04fc964ff\",\"client\":\"a\",\(fields)}"
        let error = #expect(throws: PayloadError.self) { try JSONCoding.decode(Command.self, from: text.utf8) }
        #expect(error?.text == "\(field)out of range")
    }

    @Test func `an active session without items has live metrics`() throws {
        let key = SessionKey(
            try #require(User("demo")), try #require(SessionID("6f9619ff-8b86-4011-b42d-00c04fc964ff")))
        let begin = Timestamp(seconds: 1_700_000_000)
        let start = SessionStart(activity: .running, countdown: 0)
        let state = Session(key: key, start: start, at: begin, now: begin).state(revision: 1)
        #expect(state.segments == [Segment(start: begin, end: nil)])
        let snapshot = LiveMetrics().snapshot(state, revision: 1, count: 0, isSilent: false)
        #expect(snapshot.newest == nil && snapshot.activeEnergy == nil)
    }

    private static let state = [
        "session": #""6f9619ff-8b86-4011-b42d-00c04fc964ff""#, "user": #""demo""#, "revision": "1",
        "status": #""active""#, "activity": #""running""#, "environment": #""outdoor""#, "name": #""Run""#,
        "symbol": #""figure.run""#, "healthKitActivityType": "37", "mode": #""watch""#, "segments": "[[1,2],[2,null]]",
        "laps": "[2]", "units": #""metric""#, "streams": "{}", "startedAt": "1",
    ]

    private func payload(_ fields: [String: String]) -> [UInt8] {
        Array("{\(fields.map { "\"\($0)\":\($1)" }.joined(separator: ","))}".utf8)
    }

    @Test(arguments: [
        ("segments", "[[0,4e12],[-4e12,4e12]]"), ("segments", "[[2,1]]"), ("segments", "[[1,3],[2,4]]"),
        ("segments", "[[1,null],[2,3]]"), ("segments", "[[-1,1]]"), ("segments", "[[1,4e12]]"), ("laps", "[4e12]"),
        ("startedAt", "-1"), ("revision", "9223372036854775807"), ("revision", "-1"),
    ])
    func `a state that no session can have is refused with its field`(field: String, value: String) throws {
        #expect(try SessionState(payload(Self.state)).segments.count == 2)
        let text = payload(Self.state.merging([field: value]) { $1 })
        let error = #expect(throws: PayloadError.self) { try SessionState(text) }
        guard let message = error?.text else { return }
        #expect(message.hasPrefix("\(field): "))
    }

    @Test(arguments: [
        ("birthYear", "-9223372036854775808"), ("weight", "1e308"), ("zones", "[1]"), ("revision", "-1"),
        ("revision", "9223372036854775807"),
    ])
    func `a session's profile that no user can have is refused with its field`(field: String, value: String) throws {
        let fields = ["revision": "1", "birthYear": "1980", "weight": "60"]
        #expect(try SessionProfile(payload(fields)).profile.weight == 60)
        let text = payload(fields.merging([field: value]) { $1 })
        let error = #expect(throws: PayloadError.self) { try SessionProfile(text) }
        guard let message = error?.text else { return }
        #expect(message.hasPrefix("\(field): "))
    }
}
