import ArgumentParser
import Foundation
import Workouts

/// What is done to the plans that a user keeps.
extension Control {
    struct SavePlan: SavedPlansCommand {
        static let configuration = CommandConfiguration(
            commandName: "save-plan", abstract: "Keeps a planned workout and prints its UUID.")

        @Argument(help: "A file with the planned workout, as JSON.")
        var file: String

        @Option(help: "The plan to replace, or what the new one is to be called; drawn when it is not given.")
        var planID: PlanID?

        @OptionGroup var options: SavedPlansOptions

        func request() throws -> ControlService.Request {
            .savePlan(planID ?? PlanID(UUID()), try PlanFile(path: file).definition)
        }
    }

    struct DeletePlan: SavedPlansCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete-plan", abstract: "Keeps a planned workout no longer.")

        @Argument(help: "The plan, a UUID of those that plans lists.")
        var plan: PlanID

        @OptionGroup var options: SavedPlansOptions

        func request() -> ControlService.Request { .deletePlan(plan) }
    }

    struct Plans: SavedPlansCommand {
        static let configuration = CommandConfiguration(
            commandName: "plans", abstract: "Lists the saved plans, the one that was saved last below.")

        @OptionGroup var options: SavedPlansOptions

        func request() -> ControlService.Request { .plans }
    }
}
