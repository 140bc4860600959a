/// A planned workout as written: the payload of `start` and of saved plans.
package struct WorkoutDefinition: Codable, Hashable, Sendable {
    /// Exercises that share one clock.
    package struct Section: Codable, Hashable, Sendable {
        package var name: String?
        /// Defaults to the workout's timer, else to a stopwatch.
        package var timer: TimerConfiguration?
        package var items: [Item]

        package init(name: String? = nil, timer: TimerConfiguration? = nil, items: [Item]) {
            self.name = name
            self.timer = timer
            self.items = items
        }
    }

    /// An exercise and its alternatives.
    package struct Item: Codable, Hashable, Sendable {
        /// The id that commands use. Defaults to section and position, such as `1-2`.
        package var id: String?
        package var name: String
        package var exercise: ExerciseCategory?
        /// Defaults to one set without prescribed values.
        package var sets: [PlannedSet]?
        package var alternatives: [PlannedExercise]?

        package init(
            id: String? = nil, name: String, exercise: ExerciseCategory? = nil, sets: [PlannedSet]? = nil,
            alternatives: [PlannedExercise]? = nil
        ) {
            self.id = id
            self.name = name
            self.exercise = exercise
            self.sets = sets
            self.alternatives = alternatives
        }
    }

    package var name: String?
    /// Words such as `strength`, `conditioning`, `running`.
    package var focus: [String]?
    /// Words such as `barbell`, `rower`.
    package var equipment: [String]?
    /// The clock of sections without their own.
    package var timer: TimerConfiguration?
    package var sections: [Section]

    package init(
        name: String? = nil, focus: [String]? = nil, equipment: [String]? = nil, timer: TimerConfiguration? = nil,
        sections: [Section]
    ) {
        self.name = name
        self.focus = focus
        self.equipment = equipment
        self.timer = timer
        self.sections = sections
    }
}

extension WorkoutDefinition {
    /// The activity that the definition implies.
    ///
    /// The sport that focus or equipment name in its ``Activity`` row; high-intensity intervals for conditioning against
    /// the clock; `other` without any words or timers; else traditional strength training.
    package var activity: Activity {
        let words = words
        // Words of several activities mean the first of these.
        let ordered: [Activity] = [.running, .rowing] + Activity.allCases
        if let activity = ordered.first(where: { !words.isDisjoint(with: $0.planWords) }) { return activity }
        // Last: there are ergs for bikes, and for skiers.
        if !words.contains("ski"), !words.isDisjoint(with: ["erg", "ergometer", "rowerg"]) { return .rowing }
        let timers = ([timer] + sections.map(\.timer)).compactMap { $0?.type }
        let isAgainstTheClock = timers.contains { [.interval, .emom, .amrap].contains($0) }
        if isAgainstTheClock, focus?.contains(where: { $0.lowercased().words.contains("conditioning") }) ?? false {
            return .hiit
        }
        return words.isEmpty && timers.isEmpty ? .other : .traditionalStrength
    }
}

extension WorkoutDefinition {
    /// The environment that the words of focus and equipment imply; `nil` if they imply none.
    package var environment: Environment? {
        let words = words
        if !words.isDisjoint(with: ["outdoor", "outdoors"]) { return .outdoor }
        let indoor = activity.indoorWords.union(["indoor", "indoors"])
        return words.isDisjoint(with: indoor) ? nil : .indoor
    }

    /// The texts of focus and equipment and their single words, in lower case. A seated row machine is not a rower.
    private var words: Set<String> {
        let texts = ((focus ?? []) + (equipment ?? [])).map { $0.lowercased() }
        return Set(texts + texts.flatMap(\.words).filter { $0 != "row" })
    }
}

extension String {
    fileprivate var words: [String] { split { !$0.isLetter }.map(String.init) }
}

extension WorkoutDefinition {
    /// The path of the first invalid field, such as `sections[0].items[1].sets[2].weight`, and what it allows; `nil` if
    /// the definition is valid.
    package var validationError: String? {
        if let error = name?.nameError { return "name: \(error)" }
        for (field, words) in [("focus", focus), ("equipment", equipment)] {
            if let words, words.count > PlanLimits.words { return "\(field): at most \(PlanLimits.words)" }
            for (index, word) in (words ?? []).enumerated() {
                if let error = word.nameError { return "\(field)[\(index)]: \(error)" }
            }
        }
        if let error = timer?.validationError { return "timer.\(error)" }
        guard (1...PlanLimits.sections).contains(sections.count) else { return "sections: 1 to \(PlanLimits.sections)" }
        var ids: Set<String> = []
        for (index, section) in sections.enumerated() {
            if let error = section.validationError(number: index, timer: section.timer ?? timer, ids: &ids) {
                return "sections[\(index)].\(error)"
            }
        }
        guard ids.count <= PlanLimits.items else { return "sections: more than \(PlanLimits.items) items" }
        return SessionPlan(self).sizeError.map { "sections: \($0)" }
    }
}

extension WorkoutDefinition.Section {
    fileprivate func validationError(number: Int, timer shared: TimerConfiguration?, ids: inout Set<String>) -> String?
    {
        if let error = name?.nameError { return "name: \(error)" }
        if let error = timer?.validationError { return "timer.\(error)" }
        guard (1...PlanLimits.items).contains(items.count) else { return "items: 1 to \(PlanLimits.items)" }
        let isPaced = shared?.isPaced ?? false
        if isPaced, let rounds = shared?.plannedRounds, items.count > rounds {
            return "items: at most \(rounds), one a round"
        }
        for (index, item) in items.enumerated() {
            if let error = item.validationError(isPaced: isPaced) { return "items[\(index)].\(error)" }
            let id = item.id ?? WorkoutDefinition.id(section: number, item: index)
            guard ids.insert(id).inserted else { return "items[\(index)].id: another item has the id \(id)" }
        }
        return nil
    }
}

extension WorkoutDefinition {
    /// The default id of an item, counted from 1.
    static func id(section: Int, item: Int) -> String { "\(section + 1)-\(item + 1)" }
}

extension WorkoutDefinition.Item {
    fileprivate func validationError(isPaced: Bool) -> String? {
        if let id, id.nameError != nil || id.utf8.count > PlanLimits.id { return "id: 1 to \(PlanLimits.id) bytes" }
        let own = PlannedExercise(name: name, exercise: exercise, sets: sets)
        if let error = own.validationError ?? own.validationError(isPaced: isPaced) { return error }
        let alternatives = alternatives ?? []
        guard alternatives.count <= PlanLimits.alternatives else {
            return "alternatives: at most \(PlanLimits.alternatives)"
        }
        var names: Set<String> = [name]
        for (index, alternative) in alternatives.enumerated() {
            if let error = alternative.validationError ?? alternative.validationError(isPaced: isPaced) {
                return "alternatives[\(index)].\(error)"
            }
            guard names.insert(alternative.name).inserted else { return "alternatives[\(index)].name: duplicate" }
        }
        return nil
    }
}

extension PlannedExercise {
    /// A paced block has one set a round.
    func validationError(isPaced: Bool) -> String? {
        isPaced && sets?.count ?? 1 > 1 ? "sets: at most one, because the section's clock paces them" : nil
    }
}
