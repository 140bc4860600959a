import Foundation

extension PlannedWorkout {
    /// Limits of ``bestSets(_:)``, which keep a page of the history within the size of a payload.
    private static let bestSetLimit = 32
    private static let bestSetBytes = 2_048

    /// Of each exercise the heaviest set and the one with most repetitions, once if it is both; `nil` without any.
    ///
    /// Exercises are in the order in which they were first performed. Those beyond the limits are left out. Of equally
    /// heavy sets the one with more repetitions counts, of sets with equally many repetitions the heavier.
    static func bestSets(_ performed: [PerformedSet]) -> [Bests.ExerciseSet]? {
        var names: [String] = []
        var sets: [String: [Bests.ExerciseSet]] = [:]
        for set in performed where set.kind == .active {
            guard let name = set.exercise?.name else { continue }
            // A weight of 0 is the body's own.
            let weight = set.weight.map(thousandths).flatMap { $0 > 0 ? $0 : nil }
            guard weight != nil || set.repetitions != nil else { continue }
            if sets[name] == nil { names.append(name) }
            sets[name, default: []].append(
                Bests.ExerciseSet(exercise: name, weight: weight, repetitions: set.repetitions))
        }
        var (bests, bytes) = ([Bests.ExerciseSet](), 0)
        for name in names {
            let sets = sets[name] ?? []
            let heaviest = sets.filter { $0.weight != nil }
                .max { ($0.weight ?? 0, $0.repetitions ?? 0) < ($1.weight ?? 0, $1.repetitions ?? 0) }
            let most = sets.filter { $0.repetitions != nil }
                .max { ($0.repetitions ?? 0, $0.weight ?? 0) < ($1.repetitions ?? 0, $1.weight ?? 0) }
            let both = heaviest == most ? [heaviest] : [heaviest, most]
            let found = both.compactMap(\.self)
            bytes += found.reduce(0) { $0 + $1.size }
            guard bests.count + found.count <= bestSetLimit, bytes <= bestSetBytes else { break }
            bests += found
        }
        return bests.isEmpty ? nil : bests
    }
}

extension Bests.ExerciseSet {
    /// Bytes of its JSON and a comma.
    fileprivate var size: Int { ((try? JSONEncoder().encode(self).count) ?? 0) + 1 }
}
