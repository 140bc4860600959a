import ArgumentParser
import Foundation
import Workouts

/// Commands on a user's saved plans.
extension Pacebus {
    struct SavePlan: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "save-plan", abstract: "Saves a planned workout and prints its UUID.")

        @Argument(help: "A JSON file with the planned workout.")
        var file: String

        @Option(help: "The plan to replace, a UUID. (default: a new plan)")
        var planID: PlanID?

        @OptionGroup var options: UserOptions

        func request() throws -> ControlService.Request {
            .savePlan(planID ?? PlanID(UUID()), try PlanFile(path: file).definition)
        }
    }

    struct DeletePlan: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete-plan", abstract: "Deletes a saved plan; sessions that use it continue.")

        @Argument(help: "The plan, a UUID; plans lists them.")
        var plan: PlanID

        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .deletePlan(plan) }
    }

    struct Plans: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "plans", abstract: "Lists the saved plans, the newest last.")

        @OptionGroup var options: UserOptions

        func request() -> ControlService.Request { .plans }
    }
}
