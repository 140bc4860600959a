import Bus
import MQTT
import ServiceKit
import Synchronization
import Workouts

/// Shares the ``WorkoutIndex`` between the loop and the requests, and stores its changes.
final class WorkoutHistory: Sendable {
    private let records: RecordStore
    private let onErase: @Sendable (User, Timestamp) -> Void
    private let index = Mutex(WorkoutIndex())

    /// - Parameter onErase: receives users who deleted everything, and when.
    init(records: RecordStore, onErase: @escaping @Sendable (User, Timestamp) -> Void) {
        self.records = records
        self.onErase = onErase
    }

    /// Drops the totals: another replica changes them now.
    func unload() { index.withLock { $0 = WorkoutIndex() } }

    func load() async throws {
        let stored = try await records.values(WorkoutTotals.self, in: .workouts)
        index.withLock { index in
            for (name, totals) in stored {
                if let key = SessionKey(name) { index.load(key, totals) }
            }
        }
    }

    /// Takes messages of the bus if this process owns the records; retained ones come again when it gains them.
    ///
    /// Returns the rejected messages without those that the hub rejects too.
    func receive(_ messages: [MQTTMessage]) -> [(message: MQTTMessage, error: PayloadError)] {
        guard records.isOwner else { return [] }
        var rejected: [(MQTTMessage, PayloadError)] = []
        for message in messages where !message.payload.isEmpty {
            guard let change = change(message) else { continue }
            index.withLock { index in
                do throws(PayloadError) {
                    records.enqueue(try change(&index))
                } catch {
                    rejected.append((message, error))
                }
            }
        }
        return rejected
    }

    private func change(
        _ message: MQTTMessage
    ) -> ((inout WorkoutIndex) throws(PayloadError) -> [RecordChange])? {
        switch Topic(message.topic) {
        case .session(let key, .workout):
            guard (try? PayloadHead(message.payload)) != nil else { return nil }
            return { index throws(PayloadError) in index.receive(key, try WorkoutTotals(message.payload)) }
        case .session(let key, .state):
            guard (try? PayloadHead(message.payload))?.status == SessionStatus.deleted.rawValue else { return nil }
            return { index throws(PayloadError) in index.delete(key) }
        case .user(let user, .profile):
            guard let erasedAt = (try? JSONCoding.decode(UserProfile.self, from: message.payload))?.erasedAt else {
                return nil
            }
            onErase(user, erasedAt)
            return { index throws(PayloadError) in index.erase(user, at: erasedAt) }
        default: return nil
        }
    }

    func recent(_ users: Set<User>, now: Timestamp) -> RecentWorkouts {
        let workouts = index.withLock { index in
            users.flatMap { user in
                index.workouts(of: user).map { RecentWorkouts.Workout(user: user, session: $0, totals: $1) }
            }
        }
        return RecentWorkouts(workouts, now: now)
    }

    /// The totals of a finished workout.
    func totals(of key: SessionKey) -> WorkoutTotals? {
        index.withLock { $0.workouts(of: key.user)[key.session] }
    }
}
