import ArgumentParser
import Foundation
import Workouts

/// A value of `--activity`: the number of an activity in its file, or the type of one without.
enum ActivityChoice: ExpressibleByArgument {
    case number(Int)
    case kind(Activity)

    init?(argument: String) {
        if let number = Int(argument) {
            self = .number(number)
        } else if let kind = Activity(rawValue: argument) {
            self = .kind(kind)
        } else {
            return nil
        }
    }

    var number: Int? { if case .number(let number) = self { number } else { nil } }
    var kind: Activity? { if case .kind(let kind) = self { kind } else { nil } }
}

/// Asks for the activity of a track that names none.
struct ActivityQuestion {
    let write: (String) -> Void
    let readLine: () -> String?

    /// `nil` if input or output is no terminal.
    static var atTerminal: ActivityQuestion? {
        guard isatty(STDIN_FILENO) != 0, isatty(STDOUT_FILENO) != 0 else { return nil }
        return ActivityQuestion { text in
            FileHandle.standardOutput.write(Data(text.utf8))
        } readLine: {
            Swift.readLine()
        }
    }

    /// Asks until the answer is an activity; `nil` for an empty answer or at the end of the input.
    func answer(_ file: String) -> Activity? {
        let allowed = Activity.allCases.map(\.rawValue).joined(separator: ", ")
        write("\(file) names no activity; allowed: \(allowed)\n")
        while true {
            write("activity (default: other): ")
            guard let line = readLine()?.trimmingCharacters(in: .whitespaces), !line.isEmpty else { return nil }
            if let activity = Activity(rawValue: line) { return activity }
            write("unknown activity '\(line)'\n")
        }
    }
}
