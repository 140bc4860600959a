import Bus
import Client
import Formats
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

/// Gets a workout's file from the exporter.
struct FetchService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let key: SessionKey
    let format: ExportFormat
    let output: ExportOutput

    /// - Throws: `FetchFailure`, `Interrupted`, or why the file cannot be written; there is no file then.
    func run() async throws {
        try output.check()
        let (file, part) = try await fetch()
        let (path, count) = try output.write(file, named: part.name)
        if let path { terminal.output("\(path), \(count) bytes\n") }
    }

    private func fetch() async throws -> (file: OpenFile, part: FilePart) {
        var fetch = FileFetch(key, format, client: context.client, now: context.clock.moment)
        var line = ProgressLine(isInteractive: terminal.isInteractive)
        do {
            let result = try await context.follow(fetch.subscriptions) { event in
                let now = context.clock.moment
                switch event {
                case .connected: fetch.connected(now)
                case .disconnected: fetch.disconnected()
                case .message(let message): try fetch.receive(message, now)
                case .tick: if let text = line.update(fetch.progress, now) { terminal.progress(text) }
                case .stop: throw Interrupted()
                }
                if let result = fetch.result {
                    terminal.progress(line.remark(fetch.progress))
                    return result
                }
                if let request = try fetch.takeRequest(now) { await context.send([request]) }
                return nil
            }
            if result.part.incomplete == true {
                terminal.progress(line.remark("the workout is incomplete: items of a device are missing"))
            }
            return result
        } catch {
            terminal.progress(line.finish())
            throw error
        }
    }
}
