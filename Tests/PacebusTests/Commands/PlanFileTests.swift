import Client
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Pacebus

@Suite struct PlanFileTests {
    @Test(arguments: [
        (ExamplePlan.strength, Activity.traditionalStrength), (.emom, .hiit), (.amrap, .hiit), (.intervals, .running),
    ])
    func `each example is valid and has its activity`(plan: ExamplePlan, activity: Activity) throws {
        let definition = try plan.definition()
        #expect(definition.activity == activity)
        #expect(definition.name != nil)
        // Its first and last section are countdowns.
        #expect(definition.sections.first?.timer?.type == .countdown)
        #expect(definition.sections.last?.timer?.type == .countdown)
        let items = definition.sections.flatMap(\.items)
        #expect(items.allSatisfy { $0.id?.wholeMatch(of: /[a-z]+/) != nil })
        #expect(items.contains { $0.alternatives?.isEmpty == false })
    }

    @Test func `every example has a test`() throws {
        let folder = URL(fileURLWithPath: ExamplePlan.emom.path).deletingLastPathComponent()
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(files.sorted() == ExamplePlan.allCases.map { "\($0.rawValue).json" }.sorted())
    }

    @Test func `an invalid plan is an error with file and field`() throws {
        let folder = try TemporaryFolder()
        func problem(_ text: String) throws -> String {
            let path = try folder.write(text, to: "plan.json")
            let error = #expect(throws: PlanFile.Problem.self) { try PlanFile(path: path) }
            return try #require(error).description.replacing("\(path): ", with: "FILE: ")
        }
        #expect(
            try problem("{\"sections\":[{\"items\":[{\"id\":\"a\"}]}]}") == "FILE: sections[0].items[0].name: missing")
        #expect(
            try problem(
                "{\"sections\":[{\"items\":[{\"name\":\"Row\",\"sets\":[{\"weight\":-1}]}]}]}")
                == "FILE: sections[0].items[0].sets[0].weight: 0 to 1000 kg")
        #expect(try problem("{\"sections\":[]}") == "FILE: sections: 1 to 20")
        #expect(try problem("{\n \"ä\": 1 2}") == "FILE: line 2, column 9: not JSON: Invalid value")
        #expect(try problem("no plan") == "FILE: line 1, column 2: not JSON: Invalid value")
        #expect(try problem("{") == "FILE: line 1, column 2: not JSON: Unexpected end of file")
        #expect(try problem("{\n  \"name\": \"ä\"\n\n") == "FILE: line 2, column 14: not JSON: Unexpected end of file")
        #expect(try problem("{\n \"name\": \"ä") == "FILE: line 2, column 12: not JSON: Unexpected end of file")
        #expect(try problem("") == "FILE: not JSON: the file is empty")
        #expect(try problem(" \n").hasPrefix("FILE: not JSON: Unexpected end of file"))
        #expect(try problem("7") == "FILE: not an object")
        #expect(
            try problem("{\"sections\":[{\"items\":[{\"name\":\"Row\",\"sets\":[{\"reps\":8}]}]}]}")
                == "FILE: sections[0].items[0].sets[0].reps: unknown field; correct its name or remove it")
        #expect(
            try problem("{\"sections\":[{\"timer\":{\"type\":\"tabata\"},\"items\":[{\"name\":1}]}]}")
                == "FILE: sections[0].timer.type: unknown word \"tabata\"")
        #expect(
            try problem("{\"sections\":[{\"items\":[{\"name\":1}]}]}")
                == "FILE: sections[0].items[0].name: not a string")
    }

    @Test func `a missing file is an error`() {
        let error = #expect(throws: PlanFile.Problem.self) { try PlanFile(path: "nowhere/plan.json") }
        #expect(error?.description.hasPrefix("cannot read 'nowhere/plan.json': ") == true)
    }
}
