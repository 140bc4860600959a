import Foundation

/// Prometheus' own checker of metrics.
package enum Promtool {
    /// The exit code and all it printed; `nil` when there is no promtool.
    package static func check(_ text: String) throws -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        guard
            let tool = path.split(separator: ":").map({ "\($0)/promtool" })
                .first(where: FileManager.default.isExecutableFile)
        else { return nil }
        let process = Process()
        process.executableURL = URL(filePath: tool)
        process.arguments = ["check", "metrics"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        let said = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return "exit \(process.terminationStatus)\n\(said)"
    }
}
