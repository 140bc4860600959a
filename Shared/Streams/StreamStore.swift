import Bus
import ServiceKit
package import Storage
import Workouts

/// The collections of a stream owner and their keys. The journal has items that are in no chunk yet; see ``JournalLedger``.
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
        StoreSchema(
            service: service,
            steps: [[sessions, chunks, revisions, retained, tracks, .journal, DailyQuota.collection]])
    }

    /// The name of a stream in the journal: `user/session/device`.
    static func name(_ key: SessionKey, _ device: Device) -> String { "\(key)/\(device)" }

    /// The stream of a name.
    static func stream(_ name: String) -> (key: SessionKey, device: Device)? {
        guard let slash = name.lastIndex(of: "/"), let key = SessionKey(String(name[..<slash])),
            let device = Device(String(name[name.index(after: slash)...]))
        else { return nil }
        return (key, device)
    }

    static func trackFolder(_ key: SessionKey, _ slot: StoredRoute.Slot) -> String { "\(key)/\(slot.rawValue)" }

    /// The key of a chunk. The keys of a stream sort by number.
    static func chunkKey(_ name: String, _ number: Int) -> String {
        let digits = String(number)
        return name + "/" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    /// Whether a stored record says that its session is deleted. Its texts have no such bytes, because their quotes are escaped.
    static func isDeleted(_ record: [UInt8]) -> Bool {
        let text = Array(#""status":"deleted""#.utf8)
        return record.withUnsafeBytes { bytes in
            bytes.indices.contains { start in
                // Most places fail at the second byte.
                bytes[start] == text[0] && bytes[(start + 1)...].starts(with: text[1...])
            }
        }
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
    @Boxed var report: SummaryReport<Totals>?
    /// Whether items or a state arrived after the summary.
    var needsSummary = false
    /// Whether the session has many items, so that jobs read them; absent in records of small sessions.
    var isLarge: Bool?
    /// The newest profile.
    @Boxed var profile: SessionProfile?
    /// The newest complete route.
    @Boxed var route: StoredRoute?
    /// The seconds by which clocks of devices are ahead, of those whose clock is off.
    var skews: [Device: Double]?

    var clockSkew: [Device: Double] {
        get { skews ?? [:] }
        set { skews = newValue.isEmpty ? nil : newValue }
    }
}

extension StreamRecord {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        state = try container.decode(SessionState.self, forKey: .state)
        report = try container.decodeIfPresent(SummaryReport<Totals>.self, forKey: .report)
        needsSummary = try container.decode(Bool.self, forKey: .needsSummary)
        isLarge = try container.decodeIfPresent(Bool.self, forKey: .isLarge)
        profile = try container.decodeIfPresent(SessionProfile.self, forKey: .profile)
        route = try container.decodeIfPresent(StoredRoute.self, forKey: .route)
        skews = try container.decodeIfPresent([Device: Double].self, forKey: .skews)
    }

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

/// A part of a record that most live sessions lack. Outside of the record, so that absent it takes no memory.
@propertyWrapper struct Boxed<Value: Encodable & Equatable & Sendable>: Encodable, Equatable, Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var box: Box?

    var wrappedValue: Value? {
        get { box?.value }
        set { box = newValue.map(Box.init) }
    }

    init() {}

    static func == (left: Boxed, right: Boxed) -> Bool { left.wrappedValue == right.wrappedValue }

    func encode(to encoder: any Encoder) throws {
        try wrappedValue.encode(to: encoder)
    }
}

extension KeyedEncodingContainer {
    /// Leaves out an absent part.
    mutating func encode<Value>(_ part: Boxed<Value>, forKey key: Key) throws {
        try encodeIfPresent(part.wrappedValue, forKey: key)
    }
}
