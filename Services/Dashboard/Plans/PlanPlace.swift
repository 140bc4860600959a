/// A row of the form and one of its fields: `s0i1a2x3.weight` is the load of the fourth set of the third alternative of the
/// second exercise of the first section. Rows count from 0.
struct PlanPlace: Hashable, Sendable, CustomStringConvertible {
    /// No plan has as many rows of a kind.
    private static let limit = 1_000

    var section: Int?
    var item: Int?
    var alternative: Int?
    var set: Int?
    /// Empty for the row itself.
    var leaf = ""

    /// `nil` for a text that is no place.
    init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        // Fields of the workout itself have names that a row does not.
        guard let rows = parts.first, rows.first == "s", rows.dropFirst().first?.isNumber == true else {
            leaf = text
            return
        }
        if parts.count > 1 { leaf = String(parts[1]) }
        var rest = rows[...]
        var last: Character = " "
        while let letter = rest.first {
            let digits = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
            guard (1...4).contains(digits.count), let number = Int(digits), number < Self.limit else { return nil }
            switch (last, letter) {
            case (" ", "s"): section = number
            case ("s", "i"): item = number
            case ("i", "a"): alternative = number
            case ("i", "x"), ("a", "x"): set = number
            default: return nil
            }
            last = letter
            rest = rest[digits.endIndex...]
        }
    }

    var description: String {
        let rows = steps.map { "\($0.letter)\($0.number)" }.joined()
        return leaf.isEmpty ? rows : rows.isEmpty ? leaf : "\(rows).\(leaf)"
    }

    struct Step: Hashable, Sendable {
        let letter: Character
        let number: Int
    }

    /// From the section on.
    var steps: [Step] {
        [("s", section), ("i", item), ("a", alternative), ("x", set)]
            .compactMap { letter, number in number.map { Step(letter: letter, number: $0) } }
    }

    func with(_ level: WritableKeyPath<PlanPlace, Int?>, _ number: Int?) -> PlanPlace {
        var place = self
        place[keyPath: level] = number
        return place
    }

    func with(leaf: String) -> PlanPlace {
        var place = self
        place.leaf = leaf
        return place
    }

    /// `Section 1, exercise 2, set 3`; empty for the workout.
    var words: String {
        let rows = [("section", section), ("exercise", item), ("alternative", alternative), ("set", set)]
            .compactMap { name, number in number.map { "\(name) \($0 + 1)" } }.joined(separator: ", ")
        return rows.prefix(1).uppercased() + rows.dropFirst()
    }
}
