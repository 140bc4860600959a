import Bus
import Testing
import Workouts

@Suite struct CoachReplyTests {
    private func reply(_ fields: String) throws(PayloadError) -> CoachReply {
        try JSONCoding.decode(
            CoachReply.self, from: #"{"id":"6f9619ff-8b86-d011-b42d-00c04fc964ff",\#(fields)}"#.utf8)
    }

    private static func exercises(_ count: Int) -> String {
        (0..<count).map { "\"\($0)\":{\"name\":\"Row\"}" }.joined(separator: ",")
    }

    @Test(arguments: [
        #""exercises":{"1-1":{"name":"Row"}}"#, #""error":"no""#,
        #""exercises":{"1-1":{"name":"Row","sets":[{"repetitions":8}]}},"error":"""#,
        "\"exercises\":{\(exercises(PlanLimits.items))}", "\"error\":\"\(String(repeating: "x", count: 200))\"",
    ])
    func `valid exercises or an error make a valid reply`(fields: String) throws {
        #expect(try reply(fields).validationError == nil)
    }

    @Test(
        arguments: [
            (#""mood":"good""#, "exercises: missing"), (#""exercises":{}"#, "exercises: 1 to \(PlanLimits.items)"),
            ("\"exercises\":{\(exercises(PlanLimits.items + 1))}", "exercises: 1 to \(PlanLimits.items)"),
            (#""exercises":{"1-1":{"name":""}}"#, "exercises.1-1.name: 1 to 100 bytes"),
            (
                #""exercises":{"1-1":{"name":"a"},"1-2":{"name":"b","sets":[{},{"weight":1001}]}}"#,
                "exercises.1-2.sets[1].weight: 0 to 1000 kg"
            ), (#""error":"""#, "error: 1 to 200 bytes"),
            (#""error":"\u001b[2J""#, "error: control characters"),
            ("\"error\":\"\(String(repeating: "é", count: 101))\"", "error: 1 to 200 bytes"),
        ])
    func `an invalid reply names the field`(fields: String, error: String) throws {
        #expect(try reply(fields).validationError == error)
    }

    @Test(
        arguments: [
            (#""exercises":[]"#, "exercises: "), (#""exercises":{"1-1":{}}"#, "exercises.1-1.name: missing"),
            (
                #""exercises":{"1-1":{"name":"a","sets":[{"repetitions":8.5}]}}"#,
                "exercises.1-1.sets[0].repetitions: not a whole number"
            ), (#""error":7"#, "error: "),
        ])
    func `a payload that is not a reply is refused`(fields: String, blames: String) {
        let error = #expect(throws: PayloadError.self) { try reply(fields) }
        guard let message = error?.text else { return }
        #expect(message.hasPrefix(blames), "\(message)")
    }
}
