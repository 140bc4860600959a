import ArgumentParser
import Workouts

/// Commands on a planned workout.
extension Pacebus {
    struct CompleteSet: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "complete-set", abstract: "Completes a set, as planned or with other values.",
            discussion:
                "Without --set, completes the next set of the current exercise. Completing a set again corrects it.")

        @OptionGroup var set: SetOptions

        @Option(help: "Repetitions, 1 to 1000. (default: as planned)")
        var repetitions: Int?

        @Option(help: "Kilograms, 0 to 1000. (default: as planned)")
        var weight: Double?

        @Option(help: "Seconds, 1 to 36000. (default: as planned)")
        var time: Double?

        @OptionGroup var options: SessionOptions

        private var completion: SetCompletion {
            SetCompletion(set.reference, repetitions: repetitions, weight: weight, time: time)
        }

        func validate() throws {
            if let error = completion.validationError {
                throw ValidationError("invalid --\(error.replacing(": ", with: "; allowed: "))")
            }
        }

        func request() -> ControlService.Request { .command(.plan(.completeSet(completion))) }
    }

    struct UncompleteSet: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "uncomplete-set", abstract: "Undoes a completed set, by default the last one.")

        @OptionGroup var set: SetOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.uncompleteSet(set.reference))) }
    }

    struct Skip: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "skip",
            abstract: "Skips an exercise and continues with the next; completing a set of it undoes the skip.")

        @OptionGroup var item: ItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.skipExercise(item: item.item))) }
    }

    struct FlagPain: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "flag-pain", abstract: "Notes pain at an exercise; it stays in the plan.")

        @OptionGroup var item: ItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.flagPain(item: item.item))) }
    }

    struct Swap: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "swap", abstract: "Replaces an exercise with an alternative of the plan or of a coach.",
            discussion: "status prints the alternatives of each exercise.")

        @OptionGroup var item: ItemOptions

        @Option(help: "The alternative's name as in the plan, such as \"Push-up\". (default: the next one)")
        var alternative: String?

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request {
            .command(.plan(.swapExercise(item: item.item, alternative: alternative)))
        }
    }

    struct Easier: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "easier", abstract: "Reduces load and repetitions of the open sets by a tenth.")

        @OptionGroup var item: AdjustedItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.adjustDifficulty(item: item.item, .easier))) }
    }

    struct Harder: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "harder", abstract: "Raises load and repetitions of the open sets by a tenth.")

        @OptionGroup var item: AdjustedItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.adjustDifficulty(item: item.item, .harder))) }
    }

    struct GoTo: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "go-to", abstract: "Makes another exercise, and its block, the current one.")

        @Option(help: "The exercise's id, such as bench; status prints the ids.")
        var item: String

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.goTo(item: item))) }
    }

    struct Present: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "present", abstract: "Selects how screens show the plan.")

        @Argument(help: "workout: one exercise at a time; list: all exercises.")
        var mode: PlanProgress.PresentationMode

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.setPresentationMode(mode))) }
    }
}

struct ItemOptions: ParsableArguments {
    @Option(help: "The exercise's id, such as bench; status prints the ids. (default: the current exercise)")
    var item: String?
}

struct AdjustedItemOptions: ParsableArguments {
    @Option(help: "The exercise's id, such as bench; status prints the ids. (default: all exercises)")
    var item: String?
}

struct SetOptions: ParsableArguments {
    @OptionGroup var item: ItemOptions

    @Option(help: "The number of the set, from 1.")
    var set: Int?

    @Option(help: "The round of the block, from 1.")
    var round: Int?

    func validate() throws {
        for (name, number) in [("set", set), ("round", round)] {
            if let number, number < 1 { throw ValidationError("invalid --\(name) '\(number)'; allowed: 1 or more") }
        }
    }

    /// Sets count from 0 on the bus.
    var reference: SetReference { SetReference(item: item.item, set: set.map { $0 - 1 }, round: round) }
}

extension PlanProgress.PresentationMode: ExpressibleByArgument {}
