/// A button that changes the form's rows: `up s0i1`, `remove s0i1x2`, `add s0i1x`.
struct PlanEdit: Equatable, Sendable {
    enum Verb: String, CaseIterable, Sendable {
        case add, up, down, remove
    }

    let verb: Verb
    /// The row; for `add` the one that gets another.
    let place: PlanPlace
    /// The list that `add` extends: `s`, `i`, `a` or `x`.
    var list: Character?

    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let verb = Verb(rawValue: String(words[0])) else { return nil }
        self.verb = verb
        list = verb == .add ? words[1].last : nil
        let target = verb == .add ? words[1].dropLast() : words[1]
        guard let place = PlanPlace(String(target)), place.leaf.isEmpty, verb == .add || place.section != nil else {
            return nil
        }
        self.place = place
    }
}

extension PlanForm {
    /// Changes the rows.
    ///
    /// - Returns: the row to show next; `nil` if the edit does not apply.
    mutating func apply(_ edit: PlanEdit) -> PlanPlace? {
        let place = edit.place
        if edit.verb == .add { return add(edit.list ?? " ", to: place) }
        if let set = place.set {
            return sets(at: place) { Self.move(&$0, set, edit.verb) }.map { place.with(\.set, $0) }
        }
        if let alternative = place.alternative {
            return item(at: place) { Self.move(&$0.alternatives, alternative, edit.verb) }
                .map { place.with(\.alternative, $0) }
        }
        guard let section = place.section, sections.indices.contains(section) else { return nil }
        guard let item = place.item else {
            return Self.move(&sections, section, edit.verb).map { place.with(\.section, $0) }
        }
        return move(item, of: section, edit.verb)
    }

    private mutating func add(_ list: Character, to place: PlanPlace) -> PlanPlace? {
        guard rowCount < Self.rowLimit else { return nil }
        switch (list, place.section, place.item, place.alternative, place.set) {
        case ("s", nil, nil, nil, nil):
            sections.append(.new)
            return place.with(\.section, sections.count - 1)
        case ("i", let section?, nil, nil, nil) where sections.indices.contains(section):
            sections[section].items.append(.new)
            return place.with(\.item, sections[section].items.count - 1)
        case ("a", _?, _?, nil, nil):
            return item(at: place) { item in
                item.alternatives.append(Exercise())
                return place.with(\.alternative, item.alternatives.count - 1)
            }
        case ("x", _?, _?, _, nil):
            return sets(at: place) { sets in
                // Most sets are like the one before.
                sets.append(sets.last ?? Row())
                return place.with(\.set, sets.count - 1)
            }
        default: return nil
        }
    }

    private mutating func item<Result>(at place: PlanPlace, _ body: (inout Item) -> Result?) -> Result? {
        guard let section = place.section, let item = place.item, sections.indices.contains(section),
            sections[section].items.indices.contains(item)
        else { return nil }
        return body(&sections[section].items[item])
    }

    private mutating func sets<Result>(at place: PlanPlace, _ body: (inout [Row]) -> Result?) -> Result? {
        item(at: place) { item in
            guard let alternative = place.alternative else { return body(&item.exercise.sets) }
            return item.alternatives.indices.contains(alternative) ? body(&item.alternatives[alternative].sets) : nil
        }
    }

    /// An exercise at the edge of its section moves into the next one.
    private mutating func move(_ item: Int, of section: Int, _ verb: PlanEdit.Verb) -> PlanPlace? {
        guard sections[section].items.indices.contains(item) else { return nil }
        let row = PlanPlace("s\(section)")
        let last = sections[section].items.count - 1
        let other = verb == .up && item == 0 ? section - 1 : verb == .down && item == last ? section + 1 : section
        guard other != section, sections.indices.contains(other) else {
            return Self.move(&sections[section].items, item, verb).flatMap { row?.with(\.item, $0) }
        }
        let place = verb == .up ? sections[other].items.count : 0
        sections[other].items.insert(sections[section].items.remove(at: item), at: place)
        return PlanPlace("s\(other)i\(place)")
    }

    /// - Returns: the new position; of a removed row that of its successor, or `nil` for the last one: the list's row.
    private static func move<Element>(_ list: inout [Element], _ index: Int, _ verb: PlanEdit.Verb) -> Int?? {
        guard list.indices.contains(index) else { return nil }
        if verb == .remove {
            list.remove(at: index)
            return .some(list.isEmpty ? nil : min(index, list.count - 1))
        }
        let other = verb == .up ? index - 1 : index + 1
        guard list.indices.contains(other) else { return index }
        list.swapAt(index, other)
        return other
    }
}
