import Foundation
import Workouts

/// Where this service brings workouts itself.
struct ExportTargets: Sendable {
    var folder: FolderTarget?
    var upload: UploadTarget?

    /// The targets that a user's workouts are brought to.
    func names(for user: User) -> [Target] {
        var names: [Target] = []
        if folder != nil { names.append(.folder) }
        if let upload, upload.takes(user) { names.append(.upload) }
        return names
    }

    /// Brings a workout to its destinations, and cuts an upload short when it is called off.
    func deliver(
        _ collected: CollectedWork, until isOff: AsyncStream<Void>,
        _ tell: @escaping @Sendable (DeliveryOutcome) -> Void
    ) async {
        await withTaskGroup { group in
            group.addTask { await deliver(collected, tell) }
            group.addTask { for await _ in isOff {} }
            await group.next()
            group.cancelAll()
        }
    }

    /// Brings a workout to one destination after the other, telling each outcome as it comes.
    func deliver(_ collected: CollectedWork, _ tell: (DeliveryOutcome) -> Void) async {
        let exported = ExportedWorkout(workout: collected.workout, series: collected.series, track: collected.track)
        for destination in collected.work.destinations {
            let began = ContinuousClock.now
            let delivery = await deliver(exported, destination)
            tell(
                DeliveryOutcome(
                    key: collected.work.key, destination, delivery: delivery, took: ContinuousClock.now - began))
        }
    }

    private func deliver(_ workout: ExportedWorkout, _ destination: ExportWork.Destination) async -> Delivery {
        switch destination.target {
        case .folder:
            if let folder {
                return await withCheckedContinuation { continuation in
                    // Off the few threads that all tasks share, for it waits for the disk.
                    DispatchQueue.global().async { continuation.resume(returning: folder.deliver(workout)) }
                }
            }
        case .upload:
            if let upload { return await upload.deliver(workout, key: destination.idempotencyKey) }
        default: break
        }
        return .refused("\(destination.target) is not among the settings any more")
    }
}
