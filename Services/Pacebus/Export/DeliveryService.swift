import Bus
import Client
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

/// Makes the exporter deliver a workout again, and waits for the outcome.
struct DeliveryService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let key: SessionKey
    /// `nil` for all targets.
    let target: Target?

    /// - Throws: `DeliveryFailure` or `Interrupted`.
    func run() async throws {
        var watch = DeliveryWatch(
            key, target: target, client: context.client, id: CommandID(UUID()), now: context.clock.moment)
        let statuses = try await context.follow(watch.subscriptions) { event -> [ExportStatus]? in
            let now = context.clock.moment
            switch event {
            case .connected: watch.connected(now)
            case .disconnected: watch.disconnected()
            case .message(let message):
                if let status = try watch.receive(message, now), status.isOpen { terminal.status(status.text + "\n") }
            case .tick: break
            case .stop: throw Interrupted(watch.isAccepted ? "the exporter continues" : nil)
            }
            if let statuses = watch.outcome(now) { return statuses }
            if let request = try watch.takeRequest(now) { await context.send([request]) }
            return nil
        }
        for status in statuses where status.status == .done { terminal.output(status.text + "\n") }
        let failed = statuses.filter { $0.status == .failed }
        guard failed.isEmpty else { throw DeliveryFailure.failed(failed) }
    }
}
