extension LiveMetrics {
    /// The latest reading of one quantity by one device.
    struct Source: LiveReading {
        var time = Int64.min
        var value = 0.0
        /// The quantity's sum at that time: deltas that others add later are not added again.
        var sum = 0.0
        /// The last time of a reading in a segment.
        var inside = Int64.min
    }

    struct Row: Sendable {
        let device: Device
        var newest = Int64.min
        var sources = LiveReadings<Source>()
        /// The latest values of lists.
        var lists: [Quantity: [Double]] = [:]
        /// How many devices are preferred to it.
        var rank = 0
        var heartRateRank = 0

        func rank(_ quantity: Quantity) -> Int { quantity == .heartRate ? heartRateRank : rank }
    }

    struct Track: LiveReading {
        /// The row whose reading was counted last, and that reading.
        var current = -1
        var time = Int64.min
        var value = 0.0
        /// Active microseconds before it.
        var position: Int64 = 0
        /// The end of the reading's segment.
        var until = Int64.max
        /// The time since which the current source has had no gap. Readings of others from there on do not count.
        var solidFrom = Int64.min
        var sum = 0.0
        /// Value times microseconds of all readings but the last, which is still valid.
        var weighted = 0.0
        var weight: Int64 = 0
        var maximum = -Double.infinity
    }
}

extension LiveMetrics.Row {
    /// Stores the values of a list unless a later item of the device carries one.
    mutating func keepList(_ quantity: Quantity, of sample: Sample, at time: Int64) {
        if time >= sources[quantity.rawValue].time { lists[quantity] = sample[all: quantity] }
    }

    /// The readings of a clock that was ahead are not the latest.
    mutating func forget(after horizon: Int64) {
        newest = .min
        for index in sources.known.indices where sources[index].time > horizon {
            sources[index].time = .min
            sources[index].inside = .min
        }
    }
}

/// What is known of a quantity before its first reading.
protocol LiveReading: Sendable {
    init()
}

/// The readings of each quantity, by raw value. It has room for the first quantities only until there are others, because most
/// devices measure no others.
struct LiveReadings<Reading: LiveReading>: Sendable {
    private(set) var known: [Reading] = []

    subscript(index: Int) -> Reading {
        get { index < known.count ? known[index] : Reading() }
        _modify {
            if index >= known.count { makeRoom(for: index) }
            yield &known[index]
        }
    }

    private mutating func makeRoom(for index: Int) {
        let count = index < Sample.commonCount ? Sample.commonCount : Quantity.allCases.count
        known.reserveCapacity(count)
        known += repeatElement(Reading(), count: count - known.count)
    }
}
