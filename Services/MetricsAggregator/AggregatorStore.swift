import Bus
import Storage
import Workouts

/// What the aggregator keeps, and under which keys.
enum AggregatorStore {
    /// `user/session` → a `SessionRecord` as JSON.
    static let sessions = StoreCollection("sessions")
    /// `user/session/device/number` → a `SampleChunk`.
    static let chunks = StoreCollection("chunks")
    /// `ceiling` → the revision, in decimal digits, that no published `metrics` of the shard exceeds.
    static let revisions = StoreCollection("revisions")
    static let ceiling = "ceiling"

    static let schema = StoreSchema(service: "metrics-aggregator", steps: [[sessions, chunks, revisions]])

    static func chunkKey(_ key: SessionKey, _ device: Device, _ number: Int) -> String {
        let digits = String(number)
        return "\(key)/\(device)/\(String(repeating: "0", count: max(0, 8 - digits.count)))\(digits)"
    }

    /// The device and number in a chunk's key.
    static func chunk(_ key: String) -> (device: Device, number: Int)? {
        let parts = key.split(separator: "/")
        guard parts.count == 4, let device = Device(String(parts[2])), let number = Int(parts[3]) else { return nil }
        return (device, number)
    }
}

/// What is stored of a session besides its samples.
struct SessionRecord: Codable, Equatable {
    /// The newest state that was heard of.
    var state: SessionState
    /// The summary as it was last published.
    var report: MetricsReport?
    /// Items or a state came that the summary does not know yet.
    var needsSummary = false
    /// Until when the chunks of `series` stand retained.
    var seriesUntil: Timestamp?
    /// The most chunks that may stand retained, of this revision or an earlier one.
    var mostChunks = 0
}
