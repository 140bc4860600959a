import Foundation
import Workouts

/// The rows and fields of the editor as its templates show them.
struct PlanRows: Sendable {
    struct Field: Sendable {
        let id: String
        let label: String
        let value: String
        /// The attributes of its element.
        let attributes: String
        let error: String?
        /// The last part of the id.
        let part: String
    }

    struct Option: Sendable {
        let value: String
        let label: String
        let isChosen: Bool
        /// Whether the form asks for the length of a pool.
        var hasPool = false
    }

    struct Clock: Sendable {
        let kind: Field
        let kinds: [Option]
        let fields: [Field]
    }

    /// The buttons that move or remove a row.
    struct Tools: Sendable {
        let row: String
        let rowWords: String
        let canUp: Bool
        let canDown: Bool
    }

    struct Row: Sendable {
        let id: String
        let number: Int
        let cells: [Field]
        let tools: Tools
        let isFocused: Bool
    }

    struct Exercise: Sendable {
        let id: String
        let words: String
        let name: Field
        let category: Field
        let categories: [Option]
        let sets: [Row]
        let setsError: String?
        let tools: Tools
        let isFocused: Bool
    }

    struct Item: Sendable {
        let id: String
        let heading: String
        let summary: String
        let isOpen: Bool
        let isFocused: Bool
        let tools: Tools
        let exercise: Exercise
        let idField: Field
        let alternatives: [Exercise]
        let alternativesError: String?
    }

    struct Section: Sendable {
        let id: String
        let number: Int
        let isFocused: Bool
        let tools: Tools
        let name: Field
        let clock: Clock
        let items: [Item]
        let itemsError: String?
    }

    let top: [Field]
    let clock: Clock
    let sections: [Section]
    let sectionsError: String?
}

/// Makes the rows of a form.
struct PlanRowsBuilder {
    let form: PlanForm
    let units: Units
    let problems: [PlanForm.Problem]
    /// The row to focus and open.
    let focus: PlanPlace?
    /// Whether a row without a name opens.
    let opensNew: Bool

    func rows() -> PlanRows {
        PlanRows(
            top: [
                field("name", "Name", form.name, #"maxlength="100" enterkeyhint="next""#),
                field("focus", "Focus", form.focus, #"placeholder="strength, conditioning""#),
                field("equipment", "Equipment", form.equipment, #"placeholder="barbell, rower""#),
            ],
            clock: clock(form.clock, "", "Clock of the workout", "Stopwatch"),
            sections: form.sections.enumerated().map(section), sectionsError: problem("sections"))
    }

    private func section(_ number: Int, _ section: PlanForm.Section) -> PlanRows.Section {
        let id = "s\(number)"
        return PlanRows.Section(
            id: id, number: number + 1, isFocused: isFocused(id),
            tools: tools(id, "section \(number + 1)", number, form.sections.count),
            name: field("\(id).name", "Section \(number + 1)", section.name, #"placeholder="Name" maxlength="100""#),
            clock: clock(section.clock, id, "Clock", "As the workout"),
            items: section.items.enumerated().map { item($1, number, $0) }, itemsError: problem("\(id).items"))
    }

    private func item(_ item: PlanForm.Item, _ section: Int, _ number: Int) -> PlanRows.Item {
        let id = "s\(section)i\(number)"
        let heading = item.exercise.name.isEmpty ? "Exercise \(number + 1)" : item.exercise.name
        let isLast = section == form.sections.count - 1 && number == form.sections[section].items.count - 1
        let isNew = opensNew && item.exercise.name.isEmpty
        return PlanRows.Item(
            id: id, heading: heading, summary: Self.summary(item),
            isOpen: isNew || focus.map { "\($0)".isWithin(id) } ?? false || problems.contains { $0.field.isWithin(id) },
            isFocused: isFocused(id),
            tools: PlanRows.Tools(
                row: id, rowWords: heading, canUp: section > 0 || number > 0, canDown: !isLast),
            exercise: exercise(item.exercise, id, "\(heading)", 0, 0),
            idField: field(
                "\(id).id", "Id for commands", item.id, #"placeholder="\#(section + 1)-\#(number + 1)" maxlength="64""#),
            alternatives: item.alternatives.enumerated().map {
                exercise($1, "\(id)a\($0)", "Alternative \($0 + 1)", $0, item.alternatives.count)
            },
            alternativesError: problem("\(id).alternatives"))
    }

    private func exercise(
        _ exercise: PlanForm.Exercise, _ id: String, _ words: String, _ number: Int, _ count: Int
    ) -> PlanRows.Exercise {
        PlanRows.Exercise(
            id: id, words: words, name: field("\(id).name", "Exercise", exercise.name, #"maxlength="100""#),
            category: field("\(id).category", "Movement", exercise.category, ""),
            categories: options(exercise.category, "Other", ExerciseCategory.allCases.map { ($0.rawValue, $0.title) }),
            sets: exercise.sets.enumerated().map { row($1, id, $0, exercise.sets.count) },
            setsError: problem("\(id).sets"), tools: tools(id, words, number, count), isFocused: isFocused(id))
    }

    private func row(_ row: PlanForm.Row, _ exercise: String, _ number: Int, _ count: Int) -> PlanRows.Row {
        let id = "\(exercise)x\(number)"
        let words = "Set \(number + 1)"
        return PlanRows.Row(
            id: id, number: number + 1,
            cells: [
                field("\(id).repetitions", "\(words), repetitions", row.repetitions, #"inputmode="numeric""#),
                field("\(id).weight", "\(words), load", row.weight, #"inputmode="decimal""#),
                field("\(id).time", "\(words), time", row.time, ""),
                field("\(id).rest", "\(words), rest", row.rest, ""),
            ],
            tools: tools(id, words.lowercased(), number, count), isFocused: isFocused(id))
    }

    private func clock(_ clock: PlanForm.Clock, _ row: String, _ label: String, _ none: String) -> PlanRows.Clock {
        let id = row.isEmpty ? "timer" : "\(row).timer"
        return PlanRows.Clock(
            kind: field("\(id).type", label, clock.kind, ""),
            kinds: options(clock.kind, none, TimerConfiguration.Kind.allCases.map { ($0.rawValue, $0.title) }),
            fields: [
                field("\(id).rounds", "Rounds", clock.rounds, #"inputmode="numeric""#),
                field("\(id).work", "Work", clock.work, #"placeholder="1:00""#),
                field("\(id).rest", "Rest", clock.rest, #"placeholder="0:30""#),
                field("\(id).cap", "Time limit", clock.cap, #"placeholder="12:00""#),
            ])
    }

    /// An unknown value stays as an option of its own, so that nothing changes unseen.
    private func options(
        _ chosen: String, _ none: String, _ known: [(value: String, label: String)]
    ) -> [PlanRows.Option] {
        let unknown = chosen.isEmpty || known.contains { $0.value == chosen } ? [] : [(chosen, chosen)]
        return ([("", none)] + known + unknown).map {
            PlanRows.Option(value: $0.0, label: $0.1, isChosen: $0.0 == chosen)
        }
    }

    private func tools(_ row: String, _ words: String, _ number: Int, _ count: Int) -> PlanRows.Tools {
        PlanRows.Tools(row: row, rowWords: words, canUp: number > 0, canDown: number < count - 1)
    }

    private func field(_ id: String, _ label: String, _ value: String, _ attributes: String) -> PlanRows.Field {
        PlanRows.Field(
            id: id, label: label, value: value, attributes: attributes, error: problem(id),
            part: id.split(separator: ".").last.map(String.init) ?? id)
    }

    private func problem(_ field: String) -> String? { problems.first { $0.field == field }?.text }

    private func isFocused(_ row: String) -> Bool { focus.map { "\($0)" == row } ?? false }

    /// `4 sets: 8 × 40 kg`.
    private static func summary(_ item: PlanForm.Item) -> String {
        let sets = item.exercise.sets
        let first = sets.first.map { set in
            let load = [set.repetitions, set.weight].filter { !$0.isEmpty }.joined(separator: " × ")
            return [load, set.time].filter { !$0.isEmpty }.joined(separator: ", ")
        }
        let count = sets.isEmpty ? "" : sets.count == 1 ? "1 set" : "\(sets.count) sets"
        let alternatives =
            item.alternatives.isEmpty ? "" : "or \(item.alternatives.map(\.name).joined(separator: ", "))"
        return [[count, first ?? ""].filter { !$0.isEmpty }.joined(separator: ": "), alternatives]
            .filter { !$0.isEmpty }.joined(separator: " · ")
    }
}

extension String {
    /// Whether a field or row belongs to a row.
    fileprivate func isWithin(_ row: String) -> Bool {
        guard hasPrefix(row) else { return false }
        return dropFirst(row.count).first.map { !$0.isNumber } ?? true
    }
}

extension TimerConfiguration.Kind {
    var title: String {
        switch self {
        case .stopwatch: "Stopwatch"
        case .countdown: "Countdown"
        case .interval: "Intervals"
        case .emom: "EMOM: every minute on the minute"
        case .amrap: "AMRAP: as many rounds as possible"
        case .forTime: "For time"
        }
    }
}

extension ExerciseCategory {
    var title: String {
        switch self {
        case .benchPress: "Bench press"
        case .core: "Core"
        case .curl: "Curl"
        case .deadlift: "Deadlift"
        case .lunge: "Lunge"
        case .plank: "Plank"
        case .pullUp: "Pull-up"
        case .pushUp: "Push-up"
        case .row: "Row"
        case .shoulderPress: "Shoulder press"
        case .sitUp: "Sit-up"
        case .squat: "Squat"
        }
    }
}
