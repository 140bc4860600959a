import Formats
import Foundation
import Logging
import ServiceKit
import Storage
import Workouts

/// The export targets, and the work that they do beside the loop.
struct ExportTargets: Sendable {
    /// Every target, one line each.
    static let all: [any ExportTarget.Type] = [
        FolderTarget.self,
        HealthKitTarget.self,
        UploadTarget.self,
    ]

    /// The targets that the configuration asks for.
    let configured: [any ExportTarget]
    let policies: [Target: ExportPolicy]
    let concurrency: [Target: Int]

    init(_ configuration: ExportConfiguration, _ resources: ExportResources) {
        self.init(Self.all.compactMap { $0.init(configuration, resources) })
    }

    init(_ configured: [any ExportTarget]) {
        self.configured = configured
        let types = Self.all + configured.map { type(of: $0) }
        policies = Self.policies(types)
        concurrency = Dictionary(types.map { ($0.name, $0.concurrency) }) { first, _ in first }
    }

    /// The policies by name. Records may contain targets that the configuration no longer asks for.
    static func policies(_ types: [any ExportTarget.Type] = all) -> [Target: ExportPolicy] {
        Dictionary(types.map { ($0.name, $0.policy) }) { first, _ in first }
    }

    /// The targets that the users' workouts go to.
    func names(for users: Set<User>) async -> [User: [Target]] {
        var names: [User: [Target]] = [:]
        for user in users {
            for target in configured where await target.takes(user) {
                names[user, default: []].append(type(of: target).name)
            }
        }
        return names
    }

    /// Removes files of more than `days` every hour, until canceled.
    func expire(_ days: Int?, _ context: ServiceContext) async {
        guard let days, let folder = configured.lazy.compactMap({ $0 as? FolderTarget }).first else { return }
        repeat {
            let date = context.clock.moment.wallClock.seconds - Double(days) * 86_400
            do {
                try await folder.remove(writtenBefore: Date(timeIntervalSince1970: date))
            } catch {
                context.logger.warning("old exports not removed, retrying", metadata: [LogKey.error: "\(error)"])
            }
        } while (try? await context.clock.wait(for: .seconds(3_600))) != nil
    }

    // MARK: Work

    /// Delivers a workout, and cancels the delivery when `cancellation` finishes.
    func deliver(
        _ collected: CollectedWork, until cancellation: AsyncStream<Void>,
        _ report: @escaping @Sendable (DeliveryOutcome) -> Void
    ) async {
        await withTaskGroup { group in
            group.addTask { await deliver(collected, report) }
            group.addTask { for await _ in cancellation {} }
            await group.next()
            group.cancelAll()
        }
    }

    /// Delivers a workout to one destination after the other and reports each outcome at once.
    func deliver(_ collected: CollectedWork, _ report: (DeliveryOutcome) -> Void) async {
        let exported = try? await onFileThread { try collected.exported() }
        for destination in collected.work.destinations {
            let began = ContinuousClock.now
            let delivery =
                if let exported { await deliver(exported, destination, collected) } else { Delivery.corrupt }
            report(
                DeliveryOutcome(
                    key: collected.work.key, destination, delivery: delivery, took: ContinuousClock.now - began))
        }
    }

    private func deliver(
        _ workout: ExportedWorkout, _ destination: ExportWork.Destination, _ collected: CollectedWork
    ) async -> Delivery {
        guard let target = configured.first(where: { type(of: $0).name == destination.target }) else {
            let names = configured.map { "\(type(of: $0).name)" }.joined(separator: ", ")
            return .refused("export target '\(destination.target)' is not configured; configured: \(names)")
        }
        // The session was deleted or belongs to another process.
        if Task.isCancelled { return .failed("canceled") }
        let allowance = collected.quota.allowance(for: collected.work.key)
        let delivery = await target.deliver(
            workout, idempotencyKey: destination.idempotencyKey, fence: collected.fence, allowance: allowance)
        return allowance.end(delivery)
    }

    /// Removes deleted sessions from every target.
    func remove(_ keys: Set<SessionKey>, _ logger: Logger) async {
        for target in configured {
            do {
                try await target.remove(keys)
            } catch {
                logger.error("removing exports of deleted workouts failed", metadata: metadata(target, error))
            }
        }
    }

    /// Removes incomplete files of earlier owners for sessions of these shards.
    func removeLeftovers(_ epochs: [Shard: Epoch], _ logger: Logger) async {
        for target in configured {
            do {
                try await target.removeLeftovers(epochs)
            } catch {
                logger.warning("removing half-written exports failed", metadata: metadata(target, error))
            }
        }
    }

    private func metadata(_ target: any ExportTarget, _ error: any Error) -> Logger.Metadata {
        [LogKey.target: "\(type(of: target).name)", LogKey.error: "\(error)"]
    }
}
