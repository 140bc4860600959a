import Bus
package import Storage
import Workouts

/// What the owner of streams keeps, and under which keys.
package enum StreamStore {
    /// `user/session` → a `StreamRecord` as JSON.
    static let sessions = StoreCollection("sessions")
    /// `user/session/device/number` → an `ItemChunk`.
    static let chunks = StoreCollection("chunks")
    /// `ceiling` → the revision, in decimal digits, that nothing live of the shard exceeds.
    static let revisions = StoreCollection("revisions")
    static let ceiling = "ceiling"
    /// `user/session` → when its retained topics were published last, in decimal digits; absent when they are cleared.
    static let retained = StoreCollection("retained")

    package static func schema(_ service: String) -> StoreSchema {
        StoreSchema(service: service, steps: [[sessions, chunks, revisions, retained]])
    }

    static func chunkPrefix(_ key: SessionKey, _ device: Device) -> String { "\(key)/\(device)/" }

    /// The key of a chunk; those of a stream are in the order of their numbers.
    static func chunkKey(_ prefix: String, _ number: Int) -> String {
        let digits = String(number)
        return prefix + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    /// The device and number in a chunk's key.
    static func chunk(_ key: String) -> (device: Device, number: Int)? {
        let parts = key.split(separator: "/")
        guard parts.count == 4, let device = Device(String(parts[2])), let number = Int(parts[3]) else { return nil }
        return (device, number)
    }
}

/// What is stored of a session besides its items.
struct StreamRecord<Totals: Codable & Equatable & Sendable>: Codable, Equatable {
    /// The newest state that was heard of.
    var state: SessionState
    /// The summary as it was last published.
    var report: SummaryReport<Totals>?
    /// Items or a state came that the summary does not know yet.
    var needsSummary = false
    /// Until when the final chunks stand retained.
    var chunksUntil: Timestamp?
    /// The most chunks that may stand retained, of this revision or an earlier one.
    var mostChunks = 0
}

extension StreamRecord {
    /// What stays of a deleted session, so that nothing brings it back: its revision, and nothing personal.
    init(deleted state: SessionState, mostChunks: Int) {
        var state = state
        state.name = ""
        state.segments = []
        state.laps = []
        state.profile = nil
        state.timeZone = nil
        state.place = nil
        state.streams = [:]
        self.init(state: state, mostChunks: mostChunks)
    }
}
