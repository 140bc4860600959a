import Bus
import Foundation
import Workouts

/// A file on disk that holds a planned workout.
struct PlanFile {
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    let definition: WorkoutDefinition

    /// - Throws: what is wrong, naming the file and the field.
    init(path: String) throws(Problem) {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw Problem(description: "cannot read \(path): \(error.localizedDescription)")
        }
        do {
            definition = try WorkoutDefinition(file: data)
        } catch {
            throw Problem(description: "\(path): \(error.text)")
        }
    }
}

extension PayloadError {
    /// What was wrong, and where when that is known.
    var text: String {
        switch self {
        case .malformed(let text), .tooLarge(let text): text
        }
    }
}
