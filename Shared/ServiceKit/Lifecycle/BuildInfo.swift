import Foundation
import Workouts

/// What an executable reports of its build.
package enum BuildInfo {
    /// The commit of its sources, from the file `commit` that compose/build writes beside the executables; `nil` elsewhere.
    package static let commit = readCommit()

    /// For `--version`: `0.1.0`, or with a commit `0.1.0 (0123456789ab)`.
    package static let version = commit.map { "\(pacebusVersion) (\($0))" } ?? pacebusVersion

    private static func readCommit() -> String? {
        guard let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return nil
        }
        let file = URL(filePath: executable).deletingLastPathComponent().appending(path: "commit")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
        return text.split(whereSeparator: \.isWhitespace).first.map { String($0) }
    }
}
