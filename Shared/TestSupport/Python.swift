import Foundation

/// The interpreter that `PYTHON` names, and what it runs for tests.
package enum Python {
    package static let interpreter = ProcessInfo.processInfo.environment["PYTHON"] ?? "python3"

    /// The path of one of this folder's programs.
    static func program(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: name).path(percentEncoded: false)
    }

    /// Whether there is no interpreter, or it lacks one of these modules.
    package static func lacks(_ modules: String) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [interpreter, "-c", "import \(modules)"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return true }
        process.waitUntilExit()
        return process.terminationStatus != 0
    }
}
