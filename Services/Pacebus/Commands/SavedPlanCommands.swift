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

        @Option(
            help: "Saves only if the plan was not saved again since this time, such as 2026-11-22T07:30:00+01:00.",
            transform: { text in
                guard let time = Timestamp(iso8601: text) else {
                    throw ValidationError("invalid time '\(text)'; allowed: such as 2026-11-22T07:30:00+01:00")
                }
                return time
            })
        var unchangedSince: Timestamp?

        @OptionGroup var options: UserOptions

        func validate() throws {
            guard unchangedSince == nil || planID != nil else {
                throw ValidationError("--unchanged-since needs --plan-id, the plan to replace")
            }
        }

        func request() throws -> ControlService.Request {
            .savePlan(
                planID ?? PlanID(UUID()), try PlanFile(path: file).definition, unchangedSince: unchangedSince)
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
