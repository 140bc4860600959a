import TestSupport
import Workouts

extension SeededRandom {
    private mutating func maybe<Value>(_ value: Value) -> Value? {
        Bool.random(using: &self) ? value : nil
    }

    /// A plan of short blocks, so that random moments meet their boundaries.
    mutating func definition(_ kinds: [TimerConfiguration.Kind] = TimerConfiguration.Kind.allCases)
        -> WorkoutDefinition
    {
        let sections = (0..<Int.random(in: 1...4, using: &self)).map { section in
            let timer = configuration(kinds.randomElement(using: &self)!)
            let items = (0..<Int.random(in: 1...3, using: &self)).map { item in
                WorkoutDefinition.Item(
                    id: "\(section)\(item)", name: "Planned", sets: sets(timer.isPaced),
                    alternatives: maybe([
                        PlannedExercise(name: "Other", sets: sets(timer.isPaced)), PlannedExercise(name: "Third"),
                    ]))
            }
            return WorkoutDefinition.Section(timer: timer, items: items)
        }
        return WorkoutDefinition(sections: sections)
    }

    private mutating func sets(_ isPaced: Bool) -> [PlannedSet]? {
        maybe(
            (0..<Int.random(in: 1...(isPaced ? 1 : 3), using: &self)).map { _ in
                PlannedSet(
                    repetitions: maybe(.random(in: 1...20, using: &self)),
                    weight: maybe(.random(in: 0...50, using: &self)),
                    time: maybe(seconds(1...20)), rest: maybe(seconds(0...20)))
            })
    }

    private mutating func configuration(_ kind: TimerConfiguration.Kind) -> TimerConfiguration {
        // At least one round per exercise, because they take turns.
        let rounds = Int.random(in: 3...5, using: &self)
        return switch kind {
        case .stopwatch: TimerConfiguration(.stopwatch)
        case .countdown: TimerConfiguration(.countdown, work: seconds(1...60))
        case .interval:
            TimerConfiguration(.interval, work: seconds(1...20), rest: maybe(seconds(0...10)), rounds: rounds)
        case .emom: TimerConfiguration(.emom, work: maybe(seconds(1...20)), rounds: rounds)
        case .amrap: TimerConfiguration(.amrap, cap: seconds(1...60))
        case .forTime: TimerConfiguration(.forTime, rounds: maybe(rounds), cap: maybe(seconds(1...60)))
        }
    }

    /// Often whole seconds, so that events coincide.
    mutating func seconds(_ range: ClosedRange<Double>) -> Double {
        let value = Double.random(in: range, using: &self)
        return Bool.random(using: &self) ? value.rounded() : (value * 1e6).rounded() / 1e6
    }

    /// An action of a user; it may be refused.
    mutating func action(_ definition: WorkoutDefinition) -> PlanAction {
        let items = definition.sections.flatMap(\.items).compactMap(\.id)
        let item = maybe(items.randomElement(using: &self)!)
        let reference = SetReference(
            item: item, set: maybe(.random(in: 0...2, using: &self)), round: maybe(.random(in: 1...3, using: &self)))
        return switch Int.random(in: 0...14, using: &self) {
        case 0: .uncompleteSet(reference)
        case 1: .skipExercise(item: item)
        case 2: .flagPain(item: item)
        case 3: .swapExercise(item: item, alternative: maybe("Other"))
        case 4: .adjustDifficulty(item: item, Bool.random(using: &self) ? .easier : .harder)
        case 5, 6: .goTo(item: items.randomElement(using: &self)!)
        case 7: .setPresentationMode(Bool.random(using: &self) ? .list : .workout)
        case 8, 9: .completeSet(SetCompletion(reference, repetitions: maybe(7), time: maybe(seconds(1...20))))
        default: .completeSet(SetCompletion())
        }
    }

    /// Actions at increasing active times, some simultaneous.
    mutating func actions(_ definition: WorkoutDefinition) -> [(at: Double, action: PlanAction)] {
        var at = 0.0
        return (0..<Int.random(in: 0...40, using: &self)).map { _ in
            at += Bool.random(using: &self) ? seconds(0...20) : 0
            // With microsecond precision, as in segments.
            at = (at * 1e6).rounded() / 1e6
            return (at, action(definition))
        }
    }
}
