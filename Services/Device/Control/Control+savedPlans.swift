import ArgumentParser
import Foundation
import Workouts

/// What is done to the plans that a user keeps.
extension Control {
    struct SavePlan: SavedPlansCommand {
        static let configuration = CommandConfiguration(
            commandName: "save-plan", abstract: "Saves a planned workout for later and prints its UUID.")

        @Argument(help: "A file with the planned workout, as JSON.")
        var file: String

        @Option(help: "A UUID: that of the plan to replace, or the new one's; drawn when it is not given.")
        var planID: PlanID?

        @OptionGroup var options: SavedPlansOptions

        func request() throws -> ControlService.Request {
            .savePlan(planID ?? PlanID(UUID()), try PlanFile(path: file).definition)
        }
    }

    struct DeletePlan: SavedPlansCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete-plan", abstract: "Deletes a saved plan; sessions that carry it out go on.")

        @Argument(help: "The plan's UUID, as plans lists it.")
        var plan: PlanID

        @OptionGroup var options: SavedPlansOptions

        func request() -> ControlService.Request { .deletePlan(plan) }
    }

    struct Plans: SavedPlansCommand {
        static let configuration = CommandConfiguration(
            commandName: "plans", abstract: "Lists the saved plans, the newest last.")

        @OptionGroup var options: SavedPlansOptions

        func request() -> ControlService.Request { .plans }
    }
}
