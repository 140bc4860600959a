import Bus
import Client
import Formats
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

/// Fetches a workout from the broker and writes it to a file.
struct FetchService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let key: SessionKey
    let format: ExportFormat
    let output: ExportOutput

    /// - Throws: `FetchFailure`, `Interrupted`, or why the file cannot be written; there is no file then.
    func run() async throws {
        try output.check()
        let exported = try await fetch()
        let (path, count) = try output.write(format, of: exported.workout) { try format.write(exported, to: $0) }
        if let path { terminal.output("\(path), \(count) bytes\n") }
    }

    private func fetch() async throws -> ExportedWorkout {
        var fetch = WorkoutFetch(key, client: context.client, id: CommandID(UUID()), now: context.clock.moment)
        var line = ProgressLine(isInteractive: terminal.isInteractive)
        do {
            let exported = try await context.follow(fetch.subscriptions) { event in
                let now = context.clock.moment
                switch event {
                case .connected: fetch.connected(now)
                case .disconnected: fetch.disconnected()
                case .message(let message): try fetch.receive(message, now)
                case .tick: if let text = line.update(fetch.progress, now) { terminal.progress(text) }
                case .stop: throw Interrupted()
                }
                let progress = fetch.progress
                if let exported = try fetch.takeWorkout() {
                    terminal.progress(line.remark(progress))
                    return exported
                }
                if let request = try fetch.takeRequest(now) { await context.send([request]) }
                return nil
            }
            if exported.workout.incomplete == true {
                terminal.progress(line.remark("the workout is incomplete: items of a device are missing"))
            }
            return exported
        } catch {
            terminal.progress(line.finish())
            throw error
        }
    }
}
