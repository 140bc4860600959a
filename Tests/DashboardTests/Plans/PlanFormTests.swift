import Bus
import Foundation
import TestSupport
import Testing
import Workouts

@testable import Dashboard

struct PlanFormTests {
    @Test(arguments: [Units.metric, .imperial])
    func `the form of any definition describes the same definition, also as a browser posts it`(units: Units) throws {
        var random = SeededRandom()
        for _ in 0..<300 {
            let definition = random.formDefinition()
            try #require(definition.validationError == nil)
            let form = PlanForm(definition, units)
            let checked = form.check(units)
            #expect(checked.problems == [])
            #expect(checked.definition == definition)
            #expect(try PlanForm(form.fields) == form)
        }
    }

    @Test func `loads and times are read as people write them, and read as written`() {
        for (text, kilograms) in [
            ("62.5", 62.5), ("62,5 kg", 62.5), ("60kg", 60), ("135 lb", 135 * 0.45359237), ("0", 0), ("1e3 kg", 1_000),
        ] { #expect(PlanText.kilograms(text, .metric) == kilograms, "\(text)") }
        #expect(PlanText.kilograms("135", .imperial) == 135 * 0.45359237)
        for (text, seconds) in [
            ("90", 90.0), ("1:30", 90), ("1:05:00", 3_900), ("45 s", 45), ("1.5 min", 90), ("1 h 15 min", 4_500),
            ("1h15m", 4_500), ("12.25 s", 12.25),
        ] { #expect(PlanText.seconds(text) == seconds, "\(text)") }
        for text in ["", "x", "-5", "1:60", "1:2:3:4", "5 x", "1 min 30", "nan", "0x10", "1:", ":30", "1e", "٣", "１"] {
            #expect(PlanText.seconds(text) == nil, "\(text)")
        }
        #expect(PlanText.kilograms("5 stone", .metric) == nil)
        var random = SeededRandom()
        for _ in 0..<2_000 {
            let value = Double.random(in: 0...1_000, using: &random)
            #expect(PlanText.kilograms(PlanText.weight(value, .imperial), .metric) == value)
            let seconds = Bool.random(using: &random) ? value * 36 : (value * 36).rounded()
            #expect(PlanText.seconds(PlanText.time(seconds)) == seconds)
        }
        #expect(PlanText.weight(100 * 0.45359237, .imperial) == "100 lb")
        #expect([90, 3_900, 0, 45].map(PlanText.time) == ["1:30", "1:05:00", "0:00", "0:45"])
    }

    @Test func `every invalid field has its problem beside it`() {
        var form = PlanForm.new
        form.sections[0].clock = PlanForm.Clock(kind: "interval", work: "soon", rounds: "0")
        form.sections[0].items[0].exercise = PlanForm.Exercise(
            name: "Squat", category: "dance",
            sets: [PlanForm.Row(repetitions: "8", weight: "1200"), PlanForm.Row(repetitions: "many")])
        form.sections[0].items[0].alternatives = [PlanForm.Exercise(name: "Squat"), PlanForm.Exercise()]
        form.sections.append(PlanForm.Section(items: []))
        form.focus = String(repeating: "x", count: 101)
        let fields = Set(form.check(.metric).problems.map(\.field))
        #expect(
            fields == [
                "s0.timer.work", "s0.timer.rounds", "s0i0.category", "s0i0x1.repetitions", "s0i0x0.weight",
                "s0i0.sets", "s0i0a0.name", "s0i0a1.name", "s1.items", "focus",
            ])
    }

    @Test func `an empty or long name has the same words, and a long word of a list the limit`() {
        var form = PlanForm.new
        #expect(form.check(.metric).problems.map(\.text) == ["enter a name, at most 100 bytes"])
        form.sections[0].items[0].exercise.name = String(repeating: "x", count: 101)
        form.focus = form.sections[0].items[0].exercise.name
        #expect(form.check(.metric).problems.map(\.text) == ["at most 100 bytes", "enter a name, at most 100 bytes"])
    }

    @Test func `rows move, also over the edge of a section, and a new set repeats the one before`() throws {
        var form = PlanForm.new
        func apply(_ text: String) throws -> String? {
            form.apply(try #require(PlanEdit(text))).map { "\($0)" }
        }
        form.sections[0].items[0].exercise.name = "A"
        form.sections[0].items[0].exercise.sets = [PlanForm.Row(repetitions: "8")]
        #expect(try apply("add s0i0x") == "s0i0x1")
        #expect(form.sections[0].items[0].exercise.sets.map(\.repetitions) == ["8", "8"])
        #expect(try apply("add s0i") == "s0i1")
        form.sections[0].items[1].exercise.name = "B"
        #expect(try apply("up s0i1") == "s0i0")
        #expect(form.sections[0].items.map(\.exercise.name) == ["B", "A"])
        #expect(try apply("add s") == "s1")
        #expect(try apply("down s0i1") == "s1i0")
        #expect(form.sections[1].items.map(\.exercise.name) == ["A", ""])
        #expect(try apply("up s1i0") == "s0i1")
        #expect(try apply("add s0i1a") == "s0i1a0")
        #expect(try apply("add s0i1a0x") == "s0i1a0x0")
        #expect(try apply("remove s0i1a0x0") == "s0i1a0")
        #expect(try apply("remove s0i1a0") == "s0i1")
        #expect(try apply("down s1") == "s1")
        #expect(try apply("up s1") == "s0")
        #expect(try apply("remove s0") == "s0")
        #expect(form.sections.map { $0.items.count } == [2])
        #expect(try apply("remove s9") == nil)
        for text in ["", "up", "jump s0", "up s0i1.name", "add s0i0q0", "up s99999", "remove", "up s0 s1"] {
            #expect(PlanEdit(text) == nil, "\(text)")
        }
    }

    @Test func `any edits of any form keep it a form that a browser can post`() throws {
        var random = SeededRandom()
        let letters = ["s", "si", "sia", "six", "siax"]
        for _ in 0..<100 {
            var form = PlanForm(random.formDefinition(), .metric)
            for _ in 0..<30 {
                let rows = letters.randomElement(using: &random)!.map {
                    "\($0)\(Int.random(in: 0...3, using: &random))"
                }
                let verb = PlanEdit.Verb.allCases.randomElement(using: &random)!
                let list = verb == .add ? ["s", "i", "a", "x"].randomElement(using: &random)! : ""
                let place = verb == .add && Bool.random(using: &random) ? rows.dropLast().joined() : rows.joined()
                guard let edit = PlanEdit("\(verb.rawValue) \(place)\(list)") else { continue }
                let before = form
                if let shown = form.apply(edit) {
                    #expect("\(shown)".isEmpty || form.fields.keys.contains { $0.hasPrefix("\(shown)") })
                } else {
                    #expect(form == before || verb == .remove)
                }
                #expect(try PlanForm(form.fields) == form)
            }
        }
    }

    @Test func `no form is too strange`() {
        var random = SeededRandom()
        let words = [
            "s0", "s0i0", "s0i0x0.weight", "s1i2a3x4.time", "timer.type", "name", "focus", "s0.timer.type", "s0i0.name",
            "s999999999999999999999i0", "s0x0", "s-1", "s0i0x0", "s0i0a0.category", "s0i0.id", ".", "s", "s0i0..",
            "json", "as",
            "é", "s٣", "s0i999x999.rest", "s0.items",
        ]
        let values = [
            "", " ", "8", "1e308", "1e999 kg", "-1", "nan", "99999999999999999999", "interval", "emom", "x\u{0}y",
            "\r\n", "1:30",
            "62,5", "🏋️‍♀️", String(repeating: "9", count: 5_000), "forTime", "squat", "5 kg 3 kg", "1.1.1", "1e5e5 s", "٣",
        ]
        for _ in 0..<2_000 {
            var fields: [String: String] = [:]
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                let name =
                    Bool.random(using: &random)
                    ? words.randomElement(using: &random)!
                    : "s\(Int.random(in: 0...2, using: &random))i\(Int.random(in: 0...2, using: &random))x\(Int.random(in: 0...2, using: &random)).\(["weight", "rest", "time", "repetitions"].randomElement(using: &random)!)"
                fields[name] = values.randomElement(using: &random)!
            }
            guard let form = try? PlanForm(fields) else { continue }
            let checked = form.check(.imperial)
            #expect((checked.definition.validationError == nil) || !checked.problems.isEmpty)
        }
    }

    @Test(arguments: [
        ("swimming", "25", Units.metric, 25.0 as Double?), ("swimming", " 33,3", .metric, 33.3),
        ("swimming", "25", .imperial, 22.86),
        ("swimming", "", .metric, nil), ("running", "x", .metric, nil),
    ])
    func `a swim begins with the length of its pool`(activity: String, typed: String, units: Units, metres: Double?)
        throws
    {
        var fields = ["start.activity": activity, "start.pool": typed]
        let definition = WorkoutDefinition(sections: [.init(items: [.init(name: "Crawl")])])
        let start = PlanStart(&fields).command(definition, units: units, zone: nil, replaces: false)?.start
        #expect(try #require(start).poolLength == metres)
        fields = ["start.activity": "swimming", "start.pool": "4"]
        #expect(PlanStart(&fields).command(definition, units: .metric, zone: nil, replaces: false) == nil)
    }

    @Test func `a form with too many rows is refused, and a plan with too many is shown as JSON`() throws {
        let rows = Dictionary(
            uniqueKeysWithValues: (0...PlanForm.rowLimit).map { ("s\($0 / 900)i\($0 % 900).name", "x") })
        #expect(throws: PlanForm.Failure.tooManyRows) { try PlanForm(rows) }
        let exercise = PlannedExercise(name: "x", sets: Array(repeating: PlannedSet(), count: 30))
        let item = WorkoutDefinition.Item(
            name: "i", alternatives: (0..<8).map { PlannedExercise(name: "\($0)", sets: exercise.sets) })
        let large = WorkoutDefinition(sections: [WorkoutDefinition.Section(items: Array(repeating: item, count: 6))])
        try #require(large.validationError == nil)
        var view = PlanView(plan: PlanID(UUID()), units: .metric, form: .new)
        view.show(large)
        #expect(view.form.check(.metric).definition == large)
        #expect(view.form.json != nil)
    }
}

extension PlanForm {
    /// As a browser posts them.
    var fields: [String: String] {
        var fields = ["name": name, "focus": focus, "equipment": equipment]
        func put(_ clock: Clock, _ path: String) {
            fields[path + "timer.type"] = clock.kind
            fields[path + "timer.work"] = clock.work
            fields[path + "timer.rest"] = clock.rest
            fields[path + "timer.rounds"] = clock.rounds
            fields[path + "timer.cap"] = clock.cap
        }
        func put(_ exercise: Exercise, _ path: String) {
            fields["\(path).name"] = exercise.name
            fields["\(path).category"] = exercise.category
            for (number, row) in exercise.sets.enumerated() {
                fields["\(path)x\(number).repetitions"] = row.repetitions
                fields["\(path)x\(number).weight"] = row.weight
                fields["\(path)x\(number).time"] = row.time
                fields["\(path)x\(number).rest"] = row.rest
            }
        }
        put(clock, "")
        for (number, section) in sections.enumerated() {
            fields["s\(number).name"] = section.name
            put(section.clock, "s\(number).")
            for (index, item) in section.items.enumerated() {
                fields["s\(number)i\(index).id"] = item.id
                put(item.exercise, "s\(number)i\(index)")
                for (other, alternative) in item.alternatives.enumerated() {
                    put(alternative, "s\(number)i\(index)a\(other)")
                }
            }
        }
        return fields
    }
}

extension SeededRandom {
    private mutating func text() -> String {
        ["Squat", "Klimmzüge \"breit\" & <b>", "跳绳", "x", "a, b", "Row 🏋️", "it's"].randomElement(using: &self)!
    }

    private mutating func seconds(_ range: ClosedRange<Double>) -> Double {
        let value = Double.random(in: range, using: &self)
        return Bool.random(using: &self) ? value.rounded() : value
    }

    /// A valid definition, without empty lists, which a form does not tell from absent ones.
    mutating func formDefinition() -> WorkoutDefinition {
        let shared = Bool.random(using: &self) ? formTimer() : nil
        let sections = (0..<Int.random(in: 1...3, using: &self)).map { section in
            let timer = Bool.random(using: &self) ? formTimer() : nil
            let isPaced = (timer ?? shared)?.isPaced ?? false
            let items = (0..<Int.random(in: 1...3, using: &self)).map { item in
                let own = formExercise("\(section)\(item) ", isPaced)
                let others = (0..<Int.random(in: 0...2, using: &self)).map { formExercise("other \($0) ", isPaced) }
                return WorkoutDefinition.Item(
                    id: Bool.random(using: &self) ? "id \(section) \(item)" : nil, name: own.name,
                    exercise: own.exercise, sets: own.sets, alternatives: others.isEmpty ? nil : others)
            }
            return WorkoutDefinition.Section(name: Bool.random(using: &self) ? text() : nil, timer: timer, items: items)
        }
        let words = (0..<Int.random(in: 0...3, using: &self)).map { _ in text() }
        return WorkoutDefinition(
            name: Bool.random(using: &self) ? text() : nil, focus: words.isEmpty ? nil : words,
            equipment: Bool.random(using: &self) ? [text()] : nil, timer: shared, sections: sections)
    }

    private mutating func formTimer() -> TimerConfiguration {
        let rounds = Int.random(in: 3...6, using: &self)
        return switch TimerConfiguration.Kind.allCases.randomElement(using: &self)! {
        case .stopwatch: TimerConfiguration(.stopwatch)
        case .countdown: TimerConfiguration(.countdown, work: seconds(1...36_000))
        case .interval:
            TimerConfiguration(
                .interval, work: seconds(1...600), rest: Bool.random(using: &self) ? seconds(0...3_600) : nil,
                rounds: rounds)
        case .emom: TimerConfiguration(.emom, work: Bool.random(using: &self) ? seconds(1...90) : nil, rounds: rounds)
        case .amrap: TimerConfiguration(.amrap, cap: seconds(1...3_000))
        case .forTime:
            TimerConfiguration(
                .forTime, rounds: Bool.random(using: &self) ? rounds : nil,
                cap: Bool.random(using: &self) ? seconds(1...900) : nil)
        }
    }

    private mutating func formExercise(_ prefix: String, _ isPaced: Bool) -> PlannedExercise {
        let sets = (0..<Int.random(in: 0...(isPaced ? 1 : 3), using: &self)).map { _ in
            PlannedSet(
                repetitions: Bool.random(using: &self) ? Int.random(in: 1...1_000, using: &self) : nil,
                weight: Bool.random(using: &self) ? seconds(0...1_000) : nil,
                time: Bool.random(using: &self) ? seconds(1...36_000) : nil,
                rest: Bool.random(using: &self) ? seconds(0...3_600) : nil)
        }
        return PlannedExercise(
            name: prefix + text(),
            exercise: Bool.random(using: &self) ? ExerciseCategory.allCases.randomElement(using: &self) : nil,
            sets: sets.isEmpty ? nil : sets)
    }
}
