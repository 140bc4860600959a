/// The items of a session that count, by quantity: the one input of a summary and of the final series.
///
/// A pure function of the stored items and the session's state, independent of the order of arrival.
package struct CountedItems {
    let timeline: ActiveTimeline
    let segments: [Segment]
    /// The times of all items in closed segments, in the order (`c`, device, number).
    let times: [Timestamp]
    private let selected: [[Reading]]
    /// The values of lists, by quantity and row.
    private let lists: [Quantity: [Int: [Double]]]

    /// - Parameters:
    ///   - streams: every stored sample of each device, in the order of their numbers.
    ///   - segments: the session's segments; an open one counts for nothing.
    package init(streams: [Device: [Sample]], segments: [Segment]) {
        let timeline = ActiveTimeline(segments)
        let devices = streams.keys.sorted()
        // Every item with a time, in canonical order: a delta may begin at an item outside the segments.
        var items: [(time: Timestamp, device: Int, number: Int, sample: Sample)] = []
        for (index, device) in devices.enumerated() {
            for (number, sample) in (streams[device] ?? []).enumerated() {
                if let time = sample.time { items.append((time, index, number, sample)) }
            }
        }
        items.sort { ($0.time, $0.device, $0.number) < ($1.time, $1.device, $1.number) }

        var times: [Timestamp] = []
        let none = [[Reading]](repeating: [], count: devices.count)
        var sources = [[[Reading]]](repeating: none, count: Quantity.allCases.count)
        var previous = [[Timestamp?]](
            repeating: [Timestamp?](repeating: nil, count: devices.count), count: Quantity.allCases.count)
        var lists: [Quantity: [Int: [Double]]] = [:]
        for item in items {
            let place = timeline.place(item.time)
            for quantity in item.sample.quantities {
                guard let value = item.sample[quantity] else { continue }
                if let place {
                    sources[quantity.rawValue][item.device].append(
                        Reading(
                            row: times.count, source: item.device, time: item.time, position: place.position,
                            segmentEnd: place.segmentEnd,
                            previous: previous[quantity.rawValue][item.device], value: value))
                }
                previous[quantity.rawValue][item.device] = item.time
            }
            guard place != nil else { continue }
            for quantity in PresentFields<Quantity>(item.sample.lists) {
                lists[quantity, default: [:]][times.count] = item.sample[all: quantity]
            }
            times.append(item.time)
        }
        selected = Quantity.allCases.map { quantity in
            let order = devices.indices.sorted {
                SourceOrder.prefers(devices[$0], to: devices[$1], for: quantity)
            }
            var selection = Selection(
                sources: order.map { sources[quantity.rawValue][$0] }.filter { !$0.isEmpty }, total: timeline.total)
            if quantity.isDelta { selection.countDeltas() }
            return selection.readings
        }
        self.timeline = timeline
        self.segments = segments
        self.times = times
        self.lists = lists
    }

    func readings(_ quantity: Quantity) -> [Reading] { selected[quantity.rawValue] }

    /// All values of a reading: more than one of a list.
    func values(_ quantity: Quantity, of reading: Reading) -> [Double] {
        quantity.isList ? lists[quantity]?[reading.row] ?? [] : [reading.value]
    }

    func cumulative(_ quantity: Quantity) -> Cumulative? {
        let readings = readings(quantity)
        return readings.isEmpty ? nil : Cumulative(readings)
    }

    /// - Parameter physiology: the source of zones and of an estimate of energy.
    package func summary(
        laps: [Timestamp], units: Units, physiology: Physiology = Physiology()
    ) -> MetricsSummary {
        MetricsSummary(self, laps: laps, units: units, physiology: physiology)
    }
}
