import Formats
import ServiceKit
import Storage
import TestSupport
import Workouts

@testable import Exporter

extension ExportTarget {
    /// Delivers a workout as a process that owns all sessions.
    func deliver(_ workout: ExportedWorkout, idempotencyKey: String = "k") async -> Delivery {
        let record = workout.workout
        return await deliver(
            workout, idempotencyKey: idempotencyKey, fence: .ownerOfAll(record.session),
            allowance: ExportQuota.ofLargeDisk().allowance(for: SessionKey(record.user, record.session)))
    }
}

extension ExportQuota {
    /// A quota that no test uses up.
    static func ofLargeDisk() -> ExportQuota {
        let context = ServiceContext(
            configuration: ServiceConfiguration(name: "exporter"), logger: LogRecorder().logger, bus: RecordingBus(),
            clock: ManualClock())
        return ExportQuota(limit: .max / 2, context)
    }
}

extension DeliveryFence {
    /// The fence of the first process, which owns all sessions.
    static func ownerOfAll(_ session: SessionID) -> DeliveryFence {
        DeliveryFence(session, Epoch(1), MemoryStore.owningAll())
    }
}
