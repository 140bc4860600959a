import ArgumentParser
import Bus
import Foundation
import Workouts

extension Pacebus {
    struct History: UserCommand {
        static let configuration = CommandConfiguration(
            commandName: "history", abstract: "Lists finished workouts, the newest first.",
            discussion: "Days begin at midnight in the time zone of this machine.")

        @Option(help: "The first day, such as 2026-11-01. (default: the day of the first workout)")
        var from: Day?

        @Option(help: "The last day, such as 2026-11-30. (default: today)")
        var to: Day?

        @Option(help: "The maximum number of workouts, 1 to \(HistoryQuery.limit).")
        var limit = 20

        @OptionGroup var options: UserOptions

        func validate() throws {
            guard (1...HistoryQuery.limit).contains(limit) else {
                throw ValidationError("invalid --limit '\(limit)'; allowed: 1 to \(HistoryQuery.limit)")
            }
            if let from, let to, from.start > to.start {
                throw ValidationError("--from is after --to; exchange them")
            }
        }

        func request() -> ControlService.Request {
            .history(HistoryQuery(from: from?.start, to: to?.end, limit: limit))
        }
    }
}

/// A day of the calendar in this machine's time zone.
struct Day: ExpressibleByArgument {
    let start: Timestamp
    /// The start of the next day.
    let end: Timestamp

    init?(argument: String) {
        let numbers = argument.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 3, let year = numbers[0], let month = numbers[1], let day = numbers[2],
            (2000...9999).contains(year)
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone.current
        let parts = DateComponents(year: year, month: month, day: day)
        guard parts.isValidDate(in: calendar), let date = calendar.date(from: parts),
            let next = calendar.date(byAdding: .day, value: 1, to: date)
        else { return nil }
        start = Timestamp(seconds: calendar.startOfDay(for: date).timeIntervalSince1970)
        end = Timestamp(seconds: calendar.startOfDay(for: next).timeIntervalSince1970)
    }
}
