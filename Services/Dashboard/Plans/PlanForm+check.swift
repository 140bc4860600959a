import Bus
import Foundation
import Workouts

/// The definition that a form describes, and what is wrong with it.
extension PlanForm {
    struct Problem: Equatable, Sendable {
        /// The name of the form's field.
        let field: String
        let text: String
    }

    struct Checked: Equatable, Sendable {
        /// Valid if there are no problems.
        var definition: WorkoutDefinition
        var problems: [Problem] = []
    }

    /// The most problems that one answer names.
    private static let problemLimit = 30

    /// All problems: texts that cannot be read, and what the rules of ``WorkoutDefinition`` find. These rules return the first
    /// problem, so a copy without the invalid value shows the next.
    func check(_ units: Units) -> Checked {
        if let json { return Self.check(json: json) }
        var reader = Reader(units: units)
        let definition = reader.definition(self)
        var checked = Checked(definition: definition, problems: reader.problems)
        var copy = definition
        while checked.problems.count < Self.problemLimit, let error = copy.validationError {
            let (path, rule) = Self.split(error)
            let field = Self.field(path)
            // A text that cannot be read leaves its field out, which a rule may miss.
            if !checked.problems.contains(where: { $0.field == field }) {
                checked.problems.append(Problem(field: field, text: Self.words(rule, of: field)))
            }
            let before = copy
            copy.repair(field)
            if copy == before { break }
        }
        return checked
    }

    private static func check(json: String) -> Checked {
        do throws(PayloadError) {
            return Checked(definition: try WorkoutDefinition(file: Array(json.utf8)))
        } catch {
            return Checked(
                definition: WorkoutDefinition(sections: []), problems: [Problem(field: "json", text: error.text)])
        }
    }

    private static func split(_ error: String) -> (path: String, rule: String) {
        guard let colon = error.firstRange(of: ": ") else { return ("", error) }
        return (String(error[..<colon.lowerBound]), String(error[colon.upperBound...]))
    }

    /// The rule in the form's words: a name is usually invalid because it is empty.
    private static func words(_ rule: String, of field: String) -> String {
        guard rule.hasPrefix("1 to "), rule.hasSuffix(" bytes") else { return rule }
        let limit = "at most \(rule.dropFirst("1 to ".count))"
        return PlanPlace(field)?.leaf == "name" ? "enter a name, \(limit)" : limit
    }

    /// `s0i1x2.weight` of `sections[0].items[1].sets[2].weight`. The words of a list are one field.
    static func field(_ path: String) -> String {
        var text = path
        for list in ["focus", "equipment"] where text.hasPrefix("\(list)[") { return list }
        for (list, letter) in [("sections", "s"), ("items", "i"), ("alternatives", "a"), ("sets", "x")] {
            text = text.replacing("\(list)[", with: letter)
        }
        text = text.replacing("].s", with: "]s").replacing("].i", with: "]i").replacing("].a", with: "]a")
            .replacing("].x", with: "]x")
        // `id`, `items` and `sets` are fields, not rows.
        for field in ["id", "items", "sets", "alternatives"] where text.hasSuffix("]\(field)") {
            text = String(text.dropLast(field.count)) + ".\(field)"
        }
        return text.replacing("]", with: "")
    }
}

/// Reads the texts of a form and notes those that it cannot read.
private struct Reader {
    let units: Units
    var problems: [PlanForm.Problem] = []

    mutating func definition(_ form: PlanForm) -> WorkoutDefinition {
        WorkoutDefinition(
            name: text(form.name), focus: PlanForm.words(form.focus), equipment: PlanForm.words(form.equipment),
            timer: timer(form.clock, ""),
            sections: form.sections.enumerated().map { number, section in
                let path = "s\(number)"
                return WorkoutDefinition.Section(
                    name: text(section.name), timer: timer(section.clock, path),
                    items: section.items.enumerated().map { item($1, "\(path)i\($0)") })
            })
    }

    private mutating func item(_ item: PlanForm.Item, _ path: String) -> WorkoutDefinition.Item {
        let own = exercise(item.exercise, path)
        let alternatives = item.alternatives.enumerated().map { exercise($1, "\(path)a\($0)") }
        return WorkoutDefinition.Item(
            id: text(item.id), name: own.name, exercise: own.exercise, sets: own.sets,
            alternatives: alternatives.isEmpty ? nil : alternatives)
    }

    private mutating func exercise(_ exercise: PlanForm.Exercise, _ path: String) -> PlannedExercise {
        let category = text(exercise.category)
        if let category, ExerciseCategory(rawValue: category) == nil {
            note("\(path).category", "unknown kind of movement '\(category.prefix(40))'; choose one of the list")
        }
        let sets = exercise.sets.enumerated().map { number, row in
            let path = "\(path)x\(number)"
            return PlannedSet(
                repetitions: whole(row.repetitions, "\(path).repetitions"),
                weight: weight(row.weight, "\(path).weight"),
                time: seconds(row.time, "\(path).time"), rest: seconds(row.rest, "\(path).rest"))
        }
        return PlannedExercise(
            name: text(exercise.name) ?? "", exercise: category.flatMap { ExerciseCategory(rawValue: $0) },
            sets: sets.isEmpty ? nil : sets)
    }

    /// Without the values that the kind does not have: the form hides them.
    private mutating func timer(_ clock: PlanForm.Clock, _ path: String) -> TimerConfiguration? {
        guard let name = text(clock.kind) else { return nil }
        let path = path.isEmpty ? "timer" : "\(path).timer"
        guard let kind = TimerConfiguration.Kind(rawValue: name) else {
            note("\(path).type", "unknown clock '\(name.prefix(40))'; choose one of the list")
            return nil
        }
        var timer = TimerConfiguration(kind)
        if [.countdown, .interval, .emom].contains(kind) { timer.work = seconds(clock.work, "\(path).work") }
        if kind == .interval { timer.rest = seconds(clock.rest, "\(path).rest") }
        if [.interval, .emom, .forTime].contains(kind) { timer.rounds = whole(clock.rounds, "\(path).rounds") }
        if [.amrap, .forTime].contains(kind) { timer.cap = seconds(clock.cap, "\(path).cap") }
        return timer
    }

    private func text(_ text: String) -> String? {
        let text = text.trimmingCharacters(in: .whitespaces)
        return text.isEmpty ? nil : text
    }

    private mutating func whole(_ text: String, _ field: String) -> Int? {
        read(text, field, "a whole number such as 8", PlanText.whole)
    }

    private mutating func weight(_ text: String, _ field: String) -> Double? {
        let example = units == .imperial ? "135 lb" : "62.5 kg"
        return read(text, field, "a load such as \(example)") { [units] in PlanText.kilograms($0, units) }
    }

    private mutating func seconds(_ text: String, _ field: String) -> Double? {
        read(text, field, "a time such as 1:30 or 45 s", PlanText.seconds)
    }

    private mutating func read<Value>(
        _ text: String, _ field: String, _ expected: String, _ parse: (String) -> Value?
    ) -> Value? {
        guard let text = self.text(text) else { return nil }
        if let value = parse(text) { return value }
        note(field, "'\(text.prefix(40))' is not \(expected)")
        return nil
    }

    private mutating func note(_ field: String, _ text: String) {
        problems.append(PlanForm.Problem(field: field, text: text))
    }
}

extension WorkoutDefinition {
    /// Removes the invalid value of a form's field, so that the rules find the next one; unchanged if they cannot.
    fileprivate mutating func repair(_ field: String) {
        guard let place = PlanPlace(field) else { return }
        switch (place.leaf, place.section) {
        case ("name", nil): name = nil
        case ("focus", nil): focus = nil
        case ("equipment", nil): equipment = nil
        case ("sections", nil): sections = Array(sections.prefix(PlanLimits.sections))
        case (let leaf, nil) where leaf.hasPrefix("timer."):
            timer?.repair(leaf, rounds: sections.map(\.items.count).max() ?? 1)
        case (let leaf, let number?) where sections.indices.contains(number):
            if let item = place.item {
                guard sections[number].items.indices.contains(item) else { return }
                sections[number].items[item].repair(leaf, place)
            } else if leaf == "name" {
                sections[number].name = nil
            } else if leaf == "items" {
                sections[number].items = [Item(name: "repaired")]
            } else if leaf.hasPrefix("timer.") {
                let rounds = sections[number].items.count
                sections[number].timer?.repair(leaf, rounds: rounds)
            }
        default: break
        }
    }
}

extension TimerConfiguration {
    /// - Parameter rounds: enough for one exercise a round.
    fileprivate mutating func repair(_ leaf: String, rounds: Int) {
        switch leaf {
        case "timer.work": work = 60
        case "timer.rest": rest = nil
        case "timer.rounds": self.rounds = min(max(1, rounds), PlanLimits.rounds)
        case "timer.cap": cap = 600
        default: break
        }
    }
}

extension WorkoutDefinition.Item {
    fileprivate mutating func repair(_ leaf: String, _ place: PlanPlace) {
        if leaf == "id" {
            // No other item has it.
            id = id == nil ? "repaired \(place.section ?? 0) \(place.item ?? 0)" : nil
        } else if leaf == "alternatives" {
            alternatives = alternatives.map { Array($0.prefix(PlanLimits.alternatives)) }
        } else if let index = place.alternative {
            guard alternatives?.indices.contains(index) == true else { return }
            alternatives?[index].repair(leaf, place)
        } else {
            var own = PlannedExercise(name: name, exercise: exercise, sets: sets)
            own.repair(leaf, place)
            (name, sets) = (own.name, own.sets)
        }
    }
}

extension PlannedExercise {
    fileprivate mutating func repair(_ leaf: String, _ place: PlanPlace) {
        switch leaf {
        case "name": name = "repaired \(place)"
        case "sets": sets = nil
        default:
            guard let set = place.set, sets?.indices.contains(set) == true else { return }
            switch leaf {
            case "repetitions": sets?[set].repetitions = nil
            case "weight": sets?[set].weight = nil
            case "time": sets?[set].time = nil
            case "rest": sets?[set].rest = nil
            default: break
            }
        }
    }
}
