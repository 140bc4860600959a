import Foundation

/// The plan of a session: consecutive blocks, each with a clock and exercises.
package struct SessionPlan: Codable, Hashable, Sendable {
    package struct Block: Codable, Hashable, Sendable {
        package internal(set) var name: String?
        package internal(set) var timer: TimerConfiguration
        package internal(set) var items: [Item]
    }

    /// A place in a block: the current exercise and its alternatives.
    package struct Item: Codable, Hashable, Sendable {
        package let id: String
        /// The planned one first; a coach's last.
        package internal(set) var exercises: [PlannedExercise]
        /// The index of the current exercise.
        package internal(set) var chosen = 0
    }

    package let name: String?
    package internal(set) var blocks: [Block]

    package init(_ definition: WorkoutDefinition) {
        name = definition.name
        blocks = definition.sections.enumerated().map { number, section in
            Block(
                name: section.name, timer: section.timer ?? definition.timer ?? TimerConfiguration(.stopwatch),
                items: section.items.enumerated().map { index, item in
                    let own = PlannedExercise(name: item.name, exercise: item.exercise, sets: item.sets)
                    return Item(
                        id: item.id ?? WorkoutDefinition.id(section: number, item: index),
                        exercises: [own] + (item.alternatives ?? []))
                })
        }
    }

    /// - Throws: `DecodingError` for a plan that cannot be computed with.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decodeIfPresent(String.self, forKey: .name)
        blocks = try container.decode([Block].self, forKey: .blocks)
        if let validationError {
            throw DecodingError.dataCorruptedError(forKey: .blocks, in: container, debugDescription: validationError)
        }
    }

    /// The position of an item.
    struct Place: Hashable {
        let block: Int
        let item: Int
    }

    func place(of id: String) -> Place? {
        for (number, block) in blocks.enumerated() {
            if let index = block.items.firstIndex(where: { $0.id == id }) { return Place(block: number, item: index) }
        }
        return nil
    }

    subscript(place: Place) -> Item {
        get { blocks[place.block].items[place.item] }
        set { blocks[place.block].items[place.item] = newValue }
    }

    package func item(_ id: String) -> Item? { place(of: id).map { self[$0] } }
}

extension SessionPlan.Item {
    /// The current exercise.
    package var exercise: PlannedExercise { exercises[chosen] }

    /// The sets of one round. A single set without values if none are planned.
    package var sets: [PlannedSet] { exercise.sets ?? exercises[0].sets ?? [PlannedSet()] }
}

extension SessionPlan {
    /// What makes the plan of a payload impossible to compute with; `nil` if it is valid.
    var validationError: String? {
        guard (1...PlanLimits.sections).contains(blocks.count) else { return "1 to \(PlanLimits.sections)" }
        let items = blocks.flatMap(\.items)
        guard items.count <= PlanLimits.items else { return "more than \(PlanLimits.items) items" }
        guard Set(items.map(\.id)).count == items.count else { return "two items with one id" }
        for block in blocks {
            if let error = block.timer.validationError { return "timer.\(error)" }
            if block.items.isEmpty { return "a block without items" }
            if let error = block.items.lazy.compactMap({ $0.validationError(isPaced: block.timer.isPaced) }).first {
                return error
            }
        }
        return nil
    }

    /// The exceeded limit; `nil` if the plan is within all limits.
    var sizeError: String? {
        let sets = blocks.reduce(0) { count, block in
            let once = block.timer.isPaced ? 1 : block.items.reduce(0) { $0 + $1.mostSets }
            return count + once * (block.timer.plannedRounds ?? 1)
        }
        if sets > PlanLimits.sets { return "more than \(PlanLimits.sets) sets in all rounds" }
        return size > PlanLimits.bytes ? "more than \(PlanLimits.bytes / 1_024) KiB" : nil
    }

    /// Bytes of the published plan. Numbers that JSON cannot encode were rejected before.
    private var size: Int { (try? JSONEncoder().encode(self).count) ?? .max }
}

extension SessionPlan.Item {
    /// The number of exercises that an item can have, including a coach's.
    static let exerciseLimit = 2 * PlanLimits.alternatives + 1

    /// The largest number of sets over all exercises of the item.
    fileprivate var mostSets: Int { exercises.map { $0.sets?.count ?? 1 }.max() ?? 1 }

    fileprivate func validationError(isPaced: Bool) -> String? {
        guard (1...Self.exerciseLimit).contains(exercises.count) else { return "exercises: 1 to \(Self.exerciseLimit)" }
        guard exercises.indices.contains(chosen) else { return "chosen: not one of the exercises" }
        return exercises.lazy.compactMap { $0.validationError ?? $0.validationError(isPaced: isPaced) }.first
    }
}
