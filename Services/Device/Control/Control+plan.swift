import ArgumentParser
import Workouts

/// What is done in a planned workout.
extension Control {
    struct CompleteSet: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "complete-set", abstract: "A set is done, as it was planned unless told otherwise.",
            discussion: "By default it is the next set of the exercise that is on.")

        @OptionGroup var set: SetOptions

        @Option(help: "How many repetitions were done.")
        var repetitions: Int?

        @Option(help: "With how many kilograms.")
        var weight: Double?

        @Option(help: "How many seconds it took.")
        var time: Double?

        @OptionGroup var options: SessionOptions

        private var completion: SetCompletion {
            SetCompletion(set.reference, repetitions: repetitions, weight: weight, time: time)
        }

        func validate() throws {
            if let flaw = completion.flaw { throw ValidationError("--\(flaw)") }
        }

        func request() -> ControlService.Request { .command(.plan(.completeSet(completion))) }
    }

    struct UncompleteSet: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "uncomplete-set", abstract: "Takes a set back.",
            discussion: "By default it is the one that was completed last.")

        @OptionGroup var set: SetOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.uncompleteSet(set.reference))) }
    }

    struct Skip: SessionCommand {
        static let configuration = CommandConfiguration(commandName: "skip", abstract: "Leaves an exercise out.")

        @OptionGroup var item: ItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.skipExercise(item: item.item))) }
    }

    struct FlagPain: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "flag-pain", abstract: "Notes that an exercise hurts.")

        @OptionGroup var item: ItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.flagPain(item: item.item))) }
    }

    struct Swap: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "swap", abstract: "Does another exercise instead: one of the alternatives, or a coach's.")

        @OptionGroup var item: ItemOptions

        @Option(help: "The alternative's name, such as \"Push-up\"; the next one when it is not given.")
        var alternative: String?

        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request {
            .command(.plan(.swapExercise(item: item.item, alternative: alternative)))
        }
    }

    struct Easier: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "easier", abstract: "Takes load and repetitions off the sets that are not done.")

        @OptionGroup var item: AdjustedItemOptions
        @OptionGroup var options: SessionOptions

        func request() -> ControlService.Request { .command(.plan(.adjustDifficulty(item: item.item, .easier))) }
    }

    struct Harder: SessionCommand {
        static let configuration = CommandConfiguration(
            commandName: "harder", abstract: "Adds load and repetitions to the sets that are not done.")

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
            commandName: "present", abstract: "How screens show the plan: all of it, or one exercise at a time.")

        @Argument(help: "What they show.")
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

    @Option(help: "Which set it is, counted from 1.")
    var set: Int?

    @Option(help: "Which round it is, counted from 1.")
    var round: Int?

    func validate() throws {
        for (name, number) in [("set", set), ("round", round)] {
            if let number, number < 1 { throw ValidationError("--\(name): counts from 1") }
        }
    }

    /// On the bus sets count from 0.
    var reference: SetReference { SetReference(item: item, set: set.map { $0 - 1 }, round: round) }
}

extension PlanProgress.PresentationMode: ExpressibleByArgument {}
