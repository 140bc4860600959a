package import Workouts

/// A field of an item as it stands in batches and, as a column, in the chunks of a finished session.
package protocol PayloadField: StreamField {
    /// Its key, one or two letters; `c` is the time's.
    var key: String { get }

    init?(key: Slice<UnsafeBufferPointer<UInt8>>)
}

/// How far a stream may go.
package enum StreamLimits {
    /// Items of one batch.
    package static let batch = 1_000
    /// Items of one stream: a hundred a second for eleven days.
    package static let items = 100_000_000
}

/// A batch on `samples/{device}`.
package typealias SampleBatch = ItemBatch<Sample>

extension Quantity: PayloadField {
    package var key: String {
        switch self {
        case .heartRate: "h"
        case .distance: "d"
        case .activeEnergy: "k"
        case .speed: "v"
        case .steps: "n"
        case .cadence: "cd"
        case .power: "w"
        case .battery: "b"
        case .temperature: "tp"
        }
    }

    package init?(key: Slice<UnsafeBufferPointer<UInt8>>) {
        guard let first = key.first else { return nil }
        switch (first, key.count) {
        case (UInt8(ascii: "h"), 1): self = .heartRate
        case (UInt8(ascii: "d"), 1): self = .distance
        case (UInt8(ascii: "k"), 1): self = .activeEnergy
        case (UInt8(ascii: "v"), 1): self = .speed
        case (UInt8(ascii: "n"), 1): self = .steps
        case (UInt8(ascii: "w"), 1): self = .power
        case (UInt8(ascii: "b"), 1): self = .battery
        case (UInt8(ascii: "c"), 2) where key.last == UInt8(ascii: "d"): self = .cadence
        case (UInt8(ascii: "t"), 2) where key.last == UInt8(ascii: "p"): self = .temperature
        default: return nil
        }
    }
}

/// A batch on `locations/{device}`.
package typealias LocationBatch = ItemBatch<Location>

extension LocationField: PayloadField {
    package var key: String {
        switch self {
        case .latitude: "la"
        case .longitude: "lo"
        case .altitude: "al"
        case .horizontalAccuracy: "ac"
        case .verticalAccuracy: "va"
        case .speed: "v"
        case .course: "co"
        }
    }

    package init?(key: Slice<UnsafeBufferPointer<UInt8>>) {
        guard let first = key.first, let last = key.last, key.count <= 2 else { return nil }
        switch (first, last) {
        case (UInt8(ascii: "l"), UInt8(ascii: "a")): self = .latitude
        case (UInt8(ascii: "l"), UInt8(ascii: "o")): self = .longitude
        case (UInt8(ascii: "a"), UInt8(ascii: "l")): self = .altitude
        case (UInt8(ascii: "a"), UInt8(ascii: "c")): self = .horizontalAccuracy
        case (UInt8(ascii: "v"), UInt8(ascii: "a")): self = .verticalAccuracy
        case (UInt8(ascii: "v"), _) where key.count == 1: self = .speed
        case (UInt8(ascii: "c"), UInt8(ascii: "o")): self = .course
        default: return nil
        }
    }
}
