/// Waits until `condition` holds, looking every two milliseconds, and tells whether it did within the time.
package func eventually(
    within limit: Duration = .seconds(120), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + limit
    repeat {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(2))
    } while ContinuousClock.now < deadline && !Task.isCancelled
    return try await condition()
}
