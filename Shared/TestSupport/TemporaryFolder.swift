import Foundation

/// A test's own folder, removed with the last reference.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("pacebus-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        path = url.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    package func file(_ name: String) -> String {
        path + "/" + name
    }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }
}

/// The limit of real time for what a test waits for. It ends what hangs: a test that gets little of the processor must not
/// meet it.
package let hangLimit = Duration.seconds(1_800)

/// Checks `condition` every two milliseconds and returns whether it held in time.
///
/// - Parameter limit: of an idle machine. The number of checks counts, so a test that gets little of the processor waits longer.
package func eventually(
    within limit: Duration = .seconds(300), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    for _ in 0..<max(1, Int(limit / .milliseconds(2))) where !Task.isCancelled {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(2))
    }
    return try await condition()
}
