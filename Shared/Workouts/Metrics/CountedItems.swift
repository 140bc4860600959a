/// The items of a session that count, by quantity: the one input of a summary and of the final series.
///
/// A pure function of the stored items and the session's state, independent of the order of arrival. It keeps a time and a
/// row for each item, and decodes the readings of a quantity when they are needed.
package struct CountedItems {
    private struct Source {
        let device: Device
        let items: ItemSource<Sample>
        /// The row of each item, by its number.
        var rows: [UInt32]
        /// Whether no item is older than the one before.
        let isInOrder: Bool
    }

    /// The row of an item that does not count.
    private static let noRow = UInt32.max

    let timeline: ActiveTimeline
    let segments: [Segment]
    /// The times of all items in closed segments, in the order (`c`, device, number).
    let times: [Timestamp]
    private let sources: [Source]
    /// The quantities of each source.
    let spans: [SourceSpans]
    /// A bit for each quantity with counted readings.
    private let present: UInt64

    /// - Parameters:
    ///   - streams: every stored sample of each device, in the order of their numbers.
    ///   - segments: the session's segments; an open one counts for nothing.
    package init(streams: [Device: ItemSource<Sample>], segments: [Segment]) {
        struct Place {
            let time: Timestamp
            let number: UInt32
            let source: UInt16
        }
        let timeline = ActiveTimeline(segments)
        var order: [Place] = []
        order.reserveCapacity(streams.values.reduce(0) { $0 + $1.count })
        var sources: [Source] = []
        var spans = [SourceSpans](repeating: SourceSpans(), count: streams.count)
        for (index, (device, items)) in streams.sorted(by: { $0.key < $1.key }).enumerated() {
            var number: UInt32 = 0
            var newest = Timestamp(microseconds: .min)
            var isInOrder = true
            items.visit { sample in
                defer { number += 1 }
                guard let time = sample.time else { return }
                if time < newest { isInOrder = false }
                newest = time
                guard let place = timeline.place(time) else { return }
                spans[index].add(sample, at: place.position)
                order.append(Place(time: time, number: number, source: UInt16(index)))
            }
            let rows = [UInt32](repeating: Self.noRow, count: max(items.count, Int(number)))
            sources.append(Source(device: device, items: items, rows: rows, isInOrder: isInOrder))
        }
        if sources.count > 1 || !sources.allSatisfy(\.isInOrder) {
            order.sort { ($0.time, $0.source, $0.number) < ($1.time, $1.source, $1.number) }
        }
        for (row, place) in order.enumerated() { sources[Int(place.source)].rows[Int(place.number)] = UInt32(row) }
        times = order.map(\.time)
        self.timeline = timeline
        self.segments = segments
        self.sources = sources
        self.spans = spans
        present = spans.reduce(0) { $0 | $1.present }
    }

    package init(streams: [Device: [Sample]], segments: [Segment]) {
        self.init(streams: streams.mapValues { ItemSource($0) }, segments: segments)
    }

    /// The device of a source, by its place among the session's.
    func device(_ source: Int) -> Device { sources[source].device }

    /// Whether a quantity has counted readings.
    func has(_ quantity: Quantity) -> Bool { present >> UInt64(quantity.rawValue) & 1 != 0 }

    /// The counted readings of a quantity. Each call computes them.
    func readings(_ quantity: Quantity) -> [Reading] {
        guard has(quantity) else { return [] }
        var selection = Selection(
            sources: order(for: quantity).map { readings(quantity, of: $0) }.filter { !$0.isEmpty }, timeline: timeline)
        if quantity.isDelta { selection.countDeltas() }
        return selection.readings
    }

    /// The places of the sources, preferred source first.
    func order(for quantity: Quantity) -> [Int] {
        sources.indices.sorted { SourceOrder.prefers(sources[$0].device, to: sources[$1].device, for: quantity) }
    }

    /// The readings of a source in closed segments, sorted by time. A delta may begin at an item outside of them.
    private func readings(_ quantity: Quantity, of index: Int) -> [Reading] {
        let source = sources[index]
        var found: [Reading] = []
        found.reserveCapacity(source.rows.count)
        var number = 0
        var previous: Timestamp?
        source.items.visit { sample in
            defer { number += 1 }
            guard let time = sample.time, let value = sample[quantity] else { return }
            let row = source.rows[number]
            if row != Self.noRow || !source.isInOrder {
                found.append(Reading(row: row, source: index, time: time, previous: previous, value: value))
            }
            previous = time
        }
        guard !source.isInOrder else { return found }
        // Items with the same time stay in the order of their numbers: the sort is stable.
        found.sort { $0.time < $1.time }
        for index in found.indices { found[index].previous = index > 0 ? found[index - 1].time : nil }
        found.removeAll { $0.row == Int(Self.noRow) }
        return found
    }

    /// All values of readings of a list, by row; none in the other rows.
    ///
    /// - Parameter rounded: changes each value.
    func lists(_ quantity: Quantity, of readings: [Reading], _ rounded: (Double) -> Double) -> NumberLists {
        var sourceOfRow = [UInt16](repeating: .max, count: times.count)
        for reading in readings { sourceOfRow[reading.row] = UInt16(reading.source) }
        func visit(_ body: (_ list: [Double], _ row: Int) -> Void) {
            for (index, source) in sources.enumerated() {
                var number = 0
                source.items.visit { sample in
                    defer { number += 1 }
                    let row = source.rows[number]
                    guard row != Self.noRow, sourceOfRow[Int(row)] == index else { return }
                    body(sample[all: quantity], Int(row))
                }
            }
        }
        var lengths = [UInt32](repeating: 0, count: times.count)
        visit { lengths[$1] = UInt32($0.count) }
        var lists = NumberLists(lengths: consume lengths)
        visit { lists.set($0.map(rounded), row: $1) }
        return lists
    }

    func values(_ quantity: Quantity) -> TimeWeightedValues {
        TimeWeightedValues(readings(quantity), of: quantity, timeline)
    }

    func cumulative(_ quantity: Quantity) -> Cumulative? {
        has(quantity) ? Cumulative(readings(quantity), timeline) : nil
    }

    /// - Parameters:
    ///   - route: the final route of the session; it gives what no sample measures.
    ///   - physiology: the source of zones and of an estimate of energy.
    ///   - poolLength: metres.
    package func summary(
        route: RouteInput? = nil, laps: [Timestamp], units: Units, physiology: Physiology = Physiology(),
        activity: Activity = .other, poolLength: Double? = nil
    ) -> MetricsSummary {
        MetricsSummary(
            self, route: route, laps: laps, units: units, physiology: physiology, activity: activity,
            poolLength: poolLength)
    }
}

/// The items of a stream in the order of their numbers. What decodes them at each pass needs little memory.
package struct ItemSource<Item: StreamItem>: Sendable {
    package let count: Int
    private let pass: @Sendable (_ body: (Item) -> Void) -> Void

    /// - Parameters:
    ///   - count: the number of items.
    ///   - pass: calls its argument with each item.
    package init(count: Int, pass: @escaping @Sendable (_ body: (Item) -> Void) -> Void) {
        self.count = count
        self.pass = pass
    }

    package init(_ items: [Item]) {
        count = items.count
        pass = { body in for item in items { body(item) } }
    }

    package func visit(_ body: (Item) -> Void) { pass(body) }

    package var all: [Item] {
        var all: [Item] = []
        all.reserveCapacity(count)
        visit { all.append($0) }
        return all
    }
}
