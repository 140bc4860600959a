import Foundation
import Workouts

/// The form as a browser posts it.
extension PlanForm {
    enum Failure: Error, Equatable {
        /// A name that no field of the form has.
        case unknownField(String)
        case tooManyRows
    }

    /// Rows in the order of their numbers, which may have gaps.
    init(_ fields: [String: String]) throws(Failure) {
        if fields["as"] == "json" {
            json = fields["json"] ?? ""
            return
        }
        var tree = Rows()
        var count = 0
        for (name, value) in fields {
            guard let place = PlanPlace(name) else { throw .unknownField(name) }
            count += tree.insert(value, place.leaf, at: place.steps[...])
            // Rows have at least one field each.
            guard count <= Self.rowLimit else { throw .tooManyRows }
        }
        name = tree["name"]
        focus = tree["focus"]
        equipment = tree["equipment"]
        clock = Clock(tree)
        sections = tree.list("s").map { section in
            Section(
                name: section["name"], clock: Clock(section),
                items: section.list("i").map { item in
                    Item(
                        id: item["id"], exercise: Exercise(item), alternatives: item.list("a").map { Exercise($0) })
                })
        }
    }
}

/// The fields of a row, and its lists by their letter.
private struct Rows {
    private var values: [String: String] = [:]
    private var lists: [Character: [Int: Rows]] = [:]

    subscript(leaf: String) -> String { values[leaf] ?? "" }

    func list(_ letter: Character) -> [Rows] {
        (lists[letter] ?? [:]).sorted { $0.key < $1.key }.map(\.value)
    }

    /// - Returns: the number of new rows.
    mutating func insert(_ value: String, _ leaf: String, at steps: ArraySlice<PlanPlace.Step>) -> Int {
        guard let step = steps.first else {
            values[leaf] = value
            return 0
        }
        let isNew = lists[step.letter]?[step.number] == nil
        let count = lists[step.letter, default: [:]][step.number, default: Rows()]
            .insert(value, leaf, at: steps.dropFirst())
        return count + (isNew ? 1 : 0)
    }
}

extension PlanForm.Clock {
    fileprivate init(_ rows: Rows) {
        self.init(
            kind: rows["timer.type"], work: rows["timer.work"], rest: rows["timer.rest"], rounds: rows["timer.rounds"],
            cap: rows["timer.cap"])
    }
}

extension PlanForm.Exercise {
    fileprivate init(_ rows: Rows) {
        self.init(
            name: rows["name"], category: rows["category"],
            sets: rows.list("x").map {
                PlanForm.Row(
                    repetitions: $0["repetitions"], weight: $0["weight"], time: $0["time"], rest: $0["rest"])
            })
    }
}
