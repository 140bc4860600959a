import ServiceKit
import Storage
import Workouts

/// The ownership under which a delivery began.
///
/// A process that was frozen for longer than its lease continues a delivery, although another process owns the session and
/// may have delivered a newer revision.
struct DeliveryFence: Sendable {
    /// A later owner's is higher.
    let epoch: Epoch
    private let shard: Shard
    private let store: any Store

    /// - Parameter epoch: the epoch of the session's shard when the delivery began.
    init(_ session: SessionID, _ epoch: Epoch, _ store: any Store) {
        shard = session.shard
        self.epoch = epoch
        self.store = store
    }

    /// Returns `nil` if this process still owns the session, else the outcome of the delivery. It asks the store, because only
    /// a commit is certain.
    func refusal() async -> Delivery? {
        do throws(StoreError) {
            let report = try await store.commit([.fence(shard, epoch, ExportRecord.exports)])
            return report.lostShards.isEmpty ? nil : .failed("another process has taken over the export")
        } catch {
            // The user reads the reason, so it has no path.
            return .failed("the exporter's store refuses writes")
        }
    }
}
