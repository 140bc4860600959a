/// What is to be done in a session: blocks one after the other, each with a clock and exercises.
package struct SessionPlan: Codable, Hashable, Sendable {
    package struct Block: Codable, Hashable, Sendable {
        package internal(set) var name: String?
        package internal(set) var timer: TimerConfiguration
        package internal(set) var items: [Item]
    }

    /// A place in a block: the exercise that is on, and those that may stand in for it.
    package struct Item: Codable, Hashable, Sendable {
        package let id: String
        /// The planned one first; those of a coach last.
        package internal(set) var exercises: [PlannedExercise]
        /// Which of them is on.
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

    /// - Throws: `DecodingError` of a plan of which nothing can be computed.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decodeIfPresent(String.self, forKey: .name)
        blocks = try container.decode([Block].self, forKey: .blocks)
        if let flaw {
            throw DecodingError.dataCorruptedError(forKey: .blocks, in: container, debugDescription: flaw)
        }
    }

    /// Where an item stands.
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
    /// The exercise that is on.
    package var exercise: PlannedExercise { exercises[chosen] }

    /// Its sets, of each round; one of which nothing is prescribed when none are planned.
    package var sets: [PlannedSet] { exercise.sets ?? exercises[0].sets ?? [PlannedSet()] }
}
