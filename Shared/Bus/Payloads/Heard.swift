package import Workouts

/// `heard/samples` or `heard/locations`: what a service has stored of a session's items.
package struct Heard: Equatable, Sendable {
    /// A reader ignores a revision below the last one.
    package var revision: Int64
    /// The time of the newest item.
    package var newest: Timestamp?
    /// The number of stored items.
    package var count: Int
    /// The newest position that counts; of locations only.
    package var position: Coordinate?
    /// Whether an item of a watch or a heart rate is stored.
    package var hasLiveMetrics = false
    /// The seconds by which clocks of devices are ahead, of those whose clock is off.
    package var clockSkew: [Device: Double] = [:]
    package var silences = Silences()

    package init(revision: Int64, count: Int) {
        self.revision = revision
        self.count = count
    }

    package var payload: [UInt8] { JSONCoding.encode(self) }
}

extension Heard: Codable {
    private enum CodingKeys: String, CodingKey {
        case c, gaps, la, liveMetrics, lo, n, s, sk
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            revision: try container.decode(Int64.self, forKey: .s), count: try container.decode(Int.self, forKey: .n))
        newest = try container.decodeIfPresent(Timestamp.self, forKey: .c)
        let latitude = try container.decodeIfPresent(Double.self, forKey: .la)
        let longitude = try container.decodeIfPresent(Double.self, forKey: .lo)
        if let latitude, let longitude { position = Coordinate(latitude: latitude, longitude: longitude) }
        hasLiveMetrics = try container.decodeIfPresent(Bool.self, forKey: .liveMetrics) ?? false
        clockSkew = try container.decodeIfPresent([Device: Double].self, forKey: .sk) ?? [:]
        silences = try container.decode(Silences.self, forKey: .gaps)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(newest, forKey: .c)
        try container.encode(silences, forKey: .gaps)
        try container.encodeIfPresent(position?.latitude, forKey: .la)
        if hasLiveMetrics { try container.encode(true, forKey: .liveMetrics) }
        try container.encodeIfPresent(position?.longitude, forKey: .lo)
        try container.encode(count, forKey: .n)
        try container.encode(revision, forKey: .s)
        if !clockSkew.isEmpty { try container.encode(clockSkew, forKey: .sk) }
    }
}
