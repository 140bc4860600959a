import FIT
import Workouts

extension FITExport {
    /// The performed sets and rests of a plan in order of time, and their exercises.
    ///
    /// In FIT a category and a number link a set to the title of its exercise. Each performed exercise, including
    /// swapped ones, has its own number and keeps it when repeated.
    struct Sets {
        /// In the order of their first sets.
        private(set) var titles: [(exercise: FITExercise, name: String)] = []
        private(set) var sets: [FITSet] = []
        private var known: [PlannedExercise: FITExercise] = [:]

        init(_ workout: WorkoutRecord, _ clock: Clock) {
            for performed in workout.performedSets {
                sets.append(
                    FITSet(
                        index: sets.count, kind: performed.kind == .active ? .active : .rest,
                        start: clock[performed.start], end: clock[performed.end], duration: performed.duration,
                        repetitions: performed.repetitions, weight: performed.weight,
                        exercise: performed.exercise.map { number($0) }))
            }
        }

        private mutating func number(_ exercise: PlannedExercise) -> FITExercise {
            let name = PlannedExercise(name: exercise.name, exercise: exercise.exercise)
            if let number = known[name] { return number }
            let number = FITExercise(
                category: exercise.exercise?.fitCategory ?? FITExercise.unknownCategory,
                number: FITExercise.firstFreeNumber + titles.count)
            known[name] = number
            titles.append((number, exercise.name))
            return number
        }
    }

    mutating func addTitles() {
        for (index, title) in sets.titles.enumerated() {
            file.addTitle(title.name, of: title.exercise, index: index)
        }
    }
}
