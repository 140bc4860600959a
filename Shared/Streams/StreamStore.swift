import Bus
import ServiceKit
package import Storage
import Workouts

/// The collections of a stream owner and their keys.
package enum StreamStore {
    /// `user/session` → a `StreamRecord` as JSON.
    static let sessions = StoreCollection("sessions")
    /// `user/session/device/number` → an `ItemChunk`.
    static let chunks = StoreCollection("chunks")
    /// `ceiling` → the highest reserved live revision of the shard, in decimal digits.
    static let revisions = StoreCollection("revisions")
    static let ceiling = "ceiling"
    /// `user/session` → the time of the last publication of its retained topics, in decimal digits; absent once they
    /// are cleared.
    static let retained = StoreCollection("retained")
    /// `user/session/slot/number` → a chunk of the track, as it was received; see ``StoredRoute``.
    static let tracks = StoreCollection("tracks")

    package static func schema(_ service: String) -> StoreSchema {
        StoreSchema(service: service, steps: [[sessions, chunks, revisions, retained], [tracks]])
    }

    static func chunkPrefix(_ key: SessionKey, _ device: Device) -> String { "\(key)/\(device)/" }

    static func trackFolder(_ key: SessionKey, _ slot: StoredRoute.Slot) -> String { "\(key)/\(slot.rawValue)" }

    /// The key of a chunk. The keys of a stream sort by number.
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

/// The stored record of a session, without its items.
struct StreamRecord<Totals: Codable & Equatable & Sendable>: Codable, Equatable {
    /// The newest received state.
    var state: SessionState
    /// The last published summary.
    var report: SummaryReport<Totals>?
    /// Whether items or a state arrived after the summary.
    var needsSummary = false
    /// Whether the session has many items, so that jobs read them; absent in records of small sessions.
    var isLarge: Bool?
    /// The newest profile.
    var profile: SessionProfile?
    /// The newest complete route.
    var route: StoredRoute?
    /// The seconds by which clocks of devices are ahead, of those whose clock is off.
    var skews: [Device: Double]?

    var clockSkew: [Device: Double] {
        get { skews ?? [:] }
        set { skews = newValue.isEmpty ? nil : newValue }
    }
}

extension StreamRecord {
    /// The rest of a deleted session: its revision, which prevents a return, and no personal data.
    init(deleted state: SessionState) {
        var state = state
        state.name = ""
        state.segments = []
        state.laps = []
        state.timeZone = nil
        state.place = nil
        state.streams = [:]
        self.init(state: state)
    }
}
