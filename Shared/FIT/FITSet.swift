/// A set of a strength workout or the rest after it, as the fields of a `set` message.
package struct FITSet {
    /// Raw values are those of FIT.
    package enum Kind: Int, Sendable {
        case rest = 0
        case active = 1
    }

    /// The position among the workout's sets and rests.
    package var index: Int
    package var kind: Kind
    /// Unix seconds.
    package var start: Double
    /// Unix seconds.
    package var end: Double
    /// Seconds without pauses.
    package var duration: Double
    package var repetitions: Int?
    /// Kilograms.
    package var weight: Double?
    package var exercise: FITExercise?

    package init(
        index: Int, kind: Kind, start: Double, end: Double, duration: Double, repetitions: Int? = nil,
        weight: Double? = nil, exercise: FITExercise? = nil
    ) {
        self.index = index
        self.kind = kind
        self.start = start
        self.end = end
        self.duration = duration
        self.repetitions = repetitions
        self.weight = weight
        self.exercise = exercise
    }
}

/// An exercise in FIT's numbering: its category and its number in the category.
package struct FITExercise: Hashable, Sendable {
    package let category: Int
    package let number: Int

    package init(category: Int, number: Int) {
        self.category = category
        self.number = number
    }

    /// The category of exercises without a FIT category.
    package static let unknownCategory = 65_534
    /// The first number that FIT leaves free. An exercise from here on is identified by its title; readers without
    /// support for titles use its category.
    package static let firstFreeNumber = 500
}

extension FITWriter {
    /// Appends a `set` message, timed at the end of the set.
    package mutating func addSet(_ set: FITSet) {
        typealias Field = FITProfile.Set
        addMessage(
            Field.global,
            [
                Value(Field.timestamp, set.end), Value(Field.start, set.start),
                Value(Field.duration, set.duration), Value(Field.type, set.kind.rawValue),
                Value(Field.repetitions, set.repetitions.map(Double.init)), Value(Field.weight, set.weight),
                Value(Field.category, set.exercise.map { Double($0.category) }),
                Value(Field.subtype, set.exercise.map { Double($0.number) }), Value(Field.index, set.index),
            ])
    }

    /// Appends an `exercise_title` message: the display name of an exercise.
    package mutating func addTitle(_ title: String, of exercise: FITExercise, index: Int) {
        typealias Field = FITProfile.ExerciseTitle
        addMessage(
            Field.global,
            [
                Value(FITProfile.messageIndex, index), Value(Field.category, exercise.category),
                Value(Field.name, exercise.number), Value(Field.text, title),
            ])
    }
}
