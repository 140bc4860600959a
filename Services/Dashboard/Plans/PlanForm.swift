import Foundation
import Workouts

/// The editor's form: the texts of a plan as a person typed them, valid or not.
struct PlanForm: Equatable, Sendable {
    struct Clock: Equatable, Sendable {
        /// Empty without a clock of its own.
        var kind = ""
        var work = ""
        var rest = ""
        var rounds = ""
        var cap = ""
    }

    struct Row: Equatable, Sendable {
        var repetitions = ""
        var weight = ""
        var time = ""
        var rest = ""
    }

    struct Exercise: Equatable, Sendable {
        var name = ""
        var category = ""
        var sets: [Row] = []
    }

    struct Item: Equatable, Sendable {
        var id = ""
        var exercise = Exercise()
        var alternatives: [Exercise] = []
    }

    struct Section: Equatable, Sendable {
        var name = ""
        var clock = Clock()
        var items: [Item] = []
    }

    /// Sets and other rows that one form can show. A larger plan is edited as JSON.
    static let rowLimit = 1_000

    var name = ""
    var focus = ""
    var equipment = ""
    var clock = Clock()
    var sections: [Section] = []
    /// The plan as JSON, in place of all other fields.
    var json: String?

    /// A new plan: one exercise with one set.
    static let new = PlanForm(sections: [.new])
}

extension PlanForm.Section {
    static let new = Self(items: [.new])
}

extension PlanForm.Item {
    static let new = Self(exercise: PlanForm.Exercise(sets: [PlanForm.Row()]))
}

/// The form of a definition. ``check(_:)`` of it returns the definition again.
extension PlanForm {
    init(_ definition: WorkoutDefinition, _ units: Units) {
        name = definition.name ?? ""
        focus = Self.text(definition.focus)
        equipment = Self.text(definition.equipment)
        clock = Clock(definition.timer)
        sections = definition.sections.map { section in
            Section(
                name: section.name ?? "", clock: Clock(section.timer),
                items: section.items.map { item in
                    Item(
                        id: item.id ?? "",
                        exercise: Exercise(
                            PlannedExercise(name: item.name, exercise: item.exercise, sets: item.sets), units),
                        alternatives: (item.alternatives ?? []).map { Exercise($0, units) })
                })
        }
    }

    /// The rows of all lists.
    var rowCount: Int {
        sections.reduce(0) { count, section in
            section.items.reduce(count + 1) { count, item in
                ([item.exercise] + item.alternatives).reduce(count) { $0 + 1 + $1.sets.count }
            }
        }
    }

    /// Words with a comma each take a line of their own.
    private static func text(_ words: [String]?) -> String {
        let words = words ?? []
        return words.contains { $0.contains(",") }
            ? words.joined(separator: "\n") + "\n" : words.joined(separator: ", ")
    }

    static func words(_ text: String) -> [String]? {
        let separator: Character = text.contains(where: \.isNewline) ? "\n" : ","
        let words = text.split { $0 == separator || separator == "\n" && $0.isNewline }
            .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        return words.isEmpty ? nil : words
    }
}

extension PlanForm.Clock {
    fileprivate init(_ timer: TimerConfiguration?) {
        guard let timer else { return }
        kind = timer.type.rawValue
        work = timer.work.map(PlanText.time) ?? ""
        rest = timer.rest.map(PlanText.time) ?? ""
        rounds = timer.rounds.map(String.init) ?? ""
        cap = timer.cap.map(PlanText.time) ?? ""
    }
}

extension PlanForm.Exercise {
    fileprivate init(_ exercise: PlannedExercise, _ units: Units) {
        name = exercise.name
        category = exercise.exercise?.rawValue ?? ""
        sets = (exercise.sets ?? []).map { set in
            PlanForm.Row(
                repetitions: set.repetitions.map(String.init) ?? "",
                weight: set.weight.map { PlanText.weight($0, units) } ?? "", time: set.time.map(PlanText.time) ?? "",
                rest: set.rest.map(PlanText.time) ?? "")
        }
    }
}
