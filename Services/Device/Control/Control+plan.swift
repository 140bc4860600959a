import ArgumentParser
import Workouts

/// What is done in a planned workout.
extension Control {
    struct CompleteSet: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "complete-set", abstract: "Notes that a set is done, as planned or with other values.",
            discussion: "By default it is the next set of the exercise that is on; naming one that is done corrects it."
        )

        @OptionGroup var set: SetOptions

        @Option(help: "How many repetitions were done, 1 to 1000; by default as planned.")
        var repetitions: Int?

        @Option(help: "With how many kilograms, 0 to 1000; by default as planned.")
        var weight: Double?

        @Option(help: "How many seconds it took, 1 to 36000.")
        var time: Double?

        @OptionGroup var options: SessionOptions

        private var completion: SetCompletion {
            SetCompletion(set.reference, repetitions: repetitions, weight: weight, time: time)
        }

        func validate() throws {
            if let error = completion.validationError {
                throw ValidationError("--\(error.replacing(": ", with: ": expected "))")
            }
        }

        func request() -> ControlService.Request { .command(.plan(.completeSet(completion))) }
    }

    struct UncompleteSet: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "uncomplete-set", abstract: "Takes back that a set is done.",
            discussion: "By default it is the one that was completed last.")

        @OptionGroup var set: SetOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.uncompleteSet(set.reference))) }
    }

    struct Skip: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "skip",
            abstract: "Leaves an exercise out and goes on with the next; a set that is done of it takes it up again.")

        @OptionGroup var item: ItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.skipExercise(item: item.item))) }
    }

    struct FlagPain: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "flag-pain", abstract: "Notes that an exercise hurts; it stays in the plan.")

        @OptionGroup var item: ItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.flagPain(item: item.item))) }
    }

    struct Swap: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "swap",
            abstract: "Puts another exercise in the place of one: an alternative of the plan, or a coach's.",
            discussion: "status lists the alternatives behind each exercise.")

        @OptionGroup var item: ItemOptions

        @Option(help: "Its name, written as in the plan, such as \"Push-up\"; by default the next alternative.")
        var alternative: String?

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request {
            .command(.plan(.swapExercise(item: item.item, alternative: alternative)))
        }
    }

    struct Easier: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "easier", abstract: "Takes a tenth of load and repetitions off the sets that are not done.")

        @OptionGroup var item: AdjustedItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.adjustDifficulty(item: item.item, .easier))) }
    }

    struct Harder: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "harder", abstract: "Adds a tenth of load and repetitions to the sets that are not done.")

        @OptionGroup var item: AdjustedItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.adjustDifficulty(item: item.item, .harder))) }
    }

    struct GoTo: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "go-to", abstract: "Goes to another exercise, and to the block that it stands in.")

        @Option(help: "The exercise's id, such as bench.")
        var item: String

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.goTo(item: item))) }
    }

    struct Present: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "present", abstract: "Says how screens show the plan: all of it, or one exercise at a time.")

        @Argument(help: "What they show: one exercise at a time (workout), or all of them (list).")
        var mode: PlanProgress.PresentationMode

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.setPresentationMode(mode))) }
    }
}

struct ItemOptions: ParsableArguments {
    @Option(help: "The exercise's id, such as bench; the one that is on when it is not given.")
    var item: String?
}

struct AdjustedItemOptions: ParsableArguments {
    @Option(help: "The exercise's id, such as bench; all of them when it is not given.")
    var item: String?
}

struct SetOptions: ParsableArguments {
    @Option(help: "The exercise's id, such as bench.")
    var item: String?

    @Option(help: "Which set of the exercise it is, from 1.")
    var set: Int?

    @Option(help: "Which round of the block it is, from 1.")
    var round: Int?

    func validate() throws {
        for (name, number) in [("set", set), ("round", round)] {
            if let number, number < 1 { throw ValidationError("--\(name): expected 1 or more") }
        }
    }

    /// On the bus sets count from 0.
    var reference: SetReference { SetReference(item: item, set: set.map { $0 - 1 }, round: round) }
}

extension PlanProgress.PresentationMode: ExpressibleByArgument {}
