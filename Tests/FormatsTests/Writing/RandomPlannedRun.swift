import TestSupport
import Workouts

@testable import Formats

extension SeededRandom {
    /// A random valid definition, performed with random commands, some of which are refused.
    mutating func plannedWorkout() throws -> ExportedWorkout {
        var definition = definition()
        while definition.validationError != nil { definition = self.definition() }
        var run = PlannedRecording(definition)
        var offset = 0.0
        for _ in 0..<Int.random(in: 0...60, using: &self) {
            offset += chance(5) ? 0 : Double.random(in: 0...(chance(20) ? 600 : 40), using: &self)
            // Some commands arrive late.
            let at = chance(6) ? max(0, offset - Double.random(in: 0...60, using: &self)) : offset
            do {
                try run.at(at, action(definition))
            } catch is Refusal {
                // The session is unchanged.
            }
        }
        return try run.ended(at: offset + Double.random(in: 0...60, using: &self))
    }

    private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &self) == 0 }

    private mutating func definition() -> WorkoutDefinition {
        var definition = WorkoutDefinition(
            timer: chance(2) ? timer() : nil,
            sections: (0..<Int.random(in: 1...4, using: &self)).map { _ in
                .init(
                    timer: chance(2) ? timer() : nil,
                    items: (0..<Int.random(in: 1...4, using: &self)).map { _ in
                        let own = exercise()
                        return .init(
                            name: own.name, exercise: own.exercise, sets: own.sets,
                            alternatives: chance(2) ? [exercise(), exercise()] : nil)
                    })
            })
        if chance(2) { definition.focus = ["strength"] }
        return definition
    }

    private mutating func timer() -> TimerConfiguration {
        func seconds() -> Double { (Double.random(in: 1...120, using: &self) * 1_000).rounded() / 1_000 }
        let rounds = Int.random(in: 1...6, using: &self)
        return switch Int.random(in: 0..<6, using: &self) {
        case 0: TimerConfiguration(.stopwatch)
        case 1: TimerConfiguration(.countdown, work: seconds())
        case 2: TimerConfiguration(.interval, work: seconds(), rest: chance(3) ? nil : seconds(), rounds: rounds)
        case 3: TimerConfiguration(.emom, work: chance(2) ? nil : seconds(), rounds: rounds)
        case 4: TimerConfiguration(.amrap, cap: seconds() * 3)
        default: TimerConfiguration(.forTime, rounds: rounds, cap: chance(2) ? nil : seconds() * 3)
        }
    }

    /// Names repeat, with the same category, with another one and without one.
    private mutating func exercise() -> PlannedExercise {
        PlannedExercise(
            name: ["Squat", "Row", "Klimmzug", "🏋️‍♀️ clean", String(repeating: "ü", count: 50)].randomElement(
                using: &self)!,
            exercise: chance(3) ? nil : [.squat, .row, .pullUp].randomElement(using: &self)!,
            sets: chance(4)
                ? nil
                : (0..<(chance(2) ? 1 : 3)).map { _ in
                    PlannedSet(
                        repetitions: chance(3) ? nil : Int.random(in: 1...1_000, using: &self),
                        weight: chance(3) ? nil : Double.random(in: 0...1_000, using: &self),
                        time: chance(3) ? Double.random(in: 1...90, using: &self) : nil,
                        rest: chance(3) ? nil : Double.random(in: 0...120, using: &self))
                })
    }

    private mutating func action(_ definition: WorkoutDefinition) -> SessionAction {
        let sections = definition.sections
        let section = Int.random(in: 0..<sections.count, using: &self)
        let item = "\(section + 1)-\(Int.random(in: 1...sections[section].items.count, using: &self))"
        let named = chance(2) ? item : nil
        return switch Int.random(in: 0..<16, using: &self) {
        case 0: .pause
        case 1: .suspend
        case 2...4: .resume
        case 5: .lap
        case 6: .plan(.uncompleteSet(SetReference(item: named)))
        case 7: .plan(.skipExercise(item: named))
        case 8: .plan(.swapExercise(item: named, alternative: nil))
        case 9: .plan(.adjustDifficulty(item: named, chance(2) ? .easier : .harder))
        case 10: .plan(.goTo(item: item))
        default:
            .plan(
                .completeSet(
                    SetCompletion(
                        SetReference(item: named),
                        repetitions: chance(4) ? Int.random(in: 1...1_000, using: &self) : nil,
                        weight: chance(4) ? Double.random(in: 0...1_000, using: &self) : nil,
                        time: chance(6) ? Double.random(in: 1...200, using: &self) : nil)))
        }
    }
}
