/// A planned workout as somebody wrote it down: of `start` and of saved plans.
package struct WorkoutDefinition: Codable, Hashable, Sendable {
    /// Exercises that are done under one clock.
    package struct Section: Codable, Hashable, Sendable {
        package var name: String?
        /// Its clock; the workout's unless told otherwise, else a stopwatch.
        package var timer: TimerConfiguration?
        package var items: [Item]

        package init(name: String? = nil, timer: TimerConfiguration? = nil, items: [Item]) {
            self.name = name
            self.timer = timer
            self.items = items
        }
    }

    /// An exercise, and what may stand in for it.
    package struct Item: Codable, Hashable, Sendable {
        /// What commands call it; made of section and place, such as `1-2`, when it has none.
        package var id: String?
        package var name: String
        package var exercise: ExerciseCategory?
        /// One set of which nothing is prescribed when there are none.
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
    /// The clock of sections that have none of their own.
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
    /// The activity it stands for.
    ///
    /// Running, rowing, cycling or swimming when focus or equipment say so; high-intensity intervals for conditioning
    /// against the clock; otherwise traditional strength training, and `other` when nothing is said at all.
    package var activity: Activity {
        let said = ((focus ?? []) + (equipment ?? [])).map { $0.lowercased() }
        // A seated row machine is no rower.
        let words = Set(said + said.flatMap(\.words).filter { $0 != "row" })
        let sports: [(Activity, [String])] = [
            (.running, ["running", "run", "treadmill"]), (.rowing, ["rowing", "row", "rower"]),
            (.cycling, ["cycling", "bike", "bicycle"]), (.swimming, ["swimming", "swim", "pool"]),
        ]
        for (activity, names) in sports where !words.isDisjoint(with: names) { return activity }
        let timers = ([timer] + sections.map(\.timer)).compactMap { $0?.type }
        let isAgainstTheClock = timers.contains { [.interval, .emom, .amrap].contains($0) }
        if isAgainstTheClock, focus?.contains(where: { $0.lowercased().words.contains("conditioning") }) ?? false {
            return .hiit
        }
        return words.isEmpty && timers.isEmpty ? .other : .traditionalStrength
    }
}

extension String {
    fileprivate var words: [String] { split { !$0.isLetter }.map(String.init) }
}
