import Bus
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

/// Has the running exporter deliver a workout again and returns when that is over.
struct AgainService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let key: SessionKey
    /// `nil` is all of them.
    let target: Target?

    /// - Throws: `DeliveryFailure`, or `Interrupted` when the exporter has not answered yet.
    func run() async throws {
        var watch = DeliveryWatch(
            key, target: target, client: context.client, id: CommandID(UUID()), now: context.clock.now)
        let statuses = try await context.follow(watch.subscriptions) { event -> [ExportStatus]? in
            let now = context.clock.now
            switch event {
            case .connected: watch.connected(now)
            case .disconnected: watch.disconnected()
            case .message(let message):
                if let status = try watch.receive(message, now), status.isOpen { terminal.status(status.told + "\n") }
            case .tick: break
            case .stop: throw watch.isAccepted ? DeliveryFailure.left : Interrupted()
            }
            if let statuses = watch.outcome(now) { return statuses }
            if let request = try watch.takeRequest(now) { await context.ask(request, of: key) }
            return nil
        }
        for status in statuses where status.status == .done { terminal.output(status.told + "\n") }
        let failed = statuses.filter { $0.status == .failed }
        guard failed.isEmpty else { throw DeliveryFailure.failed(failed) }
    }
}
