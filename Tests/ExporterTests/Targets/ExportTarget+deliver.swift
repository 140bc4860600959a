import Formats
import Storage
import TestSupport
import Workouts

@testable import Exporter

extension ExportTarget {
    /// Delivers a workout as a process that owns all sessions.
    func deliver(_ workout: ExportedWorkout, idempotencyKey: String = "k") async -> Delivery {
        await deliver(workout, idempotencyKey: idempotencyKey, fence: .ownerOfAll(workout.workout.session))
    }
}

extension DeliveryFence {
    /// The fence of the first process, which owns all sessions.
    static func ownerOfAll(_ session: SessionID) -> DeliveryFence {
        DeliveryFence(session, Epoch(1), MemoryStore.owningAll())
    }
}
