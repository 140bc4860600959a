extension LiveMetrics {
    /// The minimum interval between changes of the displayed pace and speed, in microseconds.
    private static let displayInterval: Int64 = 5_000_000

    /// The latest value of a quantity, from the preferred source whose value is not 15 s older than the newest item.
    package func latest(_ quantity: Quantity) -> Double? {
        latestRow(quantity).map { rows[$0].sources[quantity.rawValue].value }
    }

    /// The latest values of a list.
    package func latestList(_ quantity: Quantity) -> [Double]? {
        latestRow(quantity).flatMap { rows[$0].lists[quantity] }
    }

    private func latestRow(_ quantity: Quantity) -> Int? {
        guard let newest else { return nil }
        var best: (rank: Int, row: Int)?
        for row in rows.indices {
            let time = rows[row].sources[quantity.rawValue].time
            guard time > .min, newest.microseconds - time <= Self.freshness else { continue }
            let rank = rows[row].rank(quantity)
            if best.map({ rank < $0.rank }) ?? true { best = (rank, row) }
        }
        return best?.row
    }

    /// The sum of a delta quantity; `nil` when no device measures it.
    package func total(_ quantity: Quantity) -> Double? {
        let track = tracks[quantity.rawValue]
        return track.current < 0 ? nil : track.sum
    }

    package func average(_ quantity: Quantity) -> Double? {
        let track = tracks[quantity.rawValue]
        guard track.current >= 0 else { return nil }
        guard quantity.counts(track.value) else {
            return track.weight > 0 ? track.weighted / Double(track.weight) : nil
        }
        let held = held(quantity, until: holdEnd(track))
        let weight = track.weight + held
        return weight > 0 ? (track.weighted + track.value * Double(held)) / Double(weight) : track.value
    }

    package func maximum(_ quantity: Quantity) -> Double? {
        let track = tracks[quantity.rawValue]
        return track.current < 0 ? nil : track.maximum
    }

    /// Seconds in each heart rate zone; `nil` without limits or heart rates.
    package var zoneSeconds: [Double]? {
        let track = tracks[Quantity.heartRate.rawValue]
        guard let limits = rules.physiology.zones, track.current >= 0 else { return nil }
        var seconds = zones.indices.map { zones[$0] }
        seconds[limits.zone(of: track.value)] += Double(held(.heartRate, until: holdEnd(track))) / 1e6
        return seconds
    }

    /// Active energy, and whether a device measured it.
    package func energy(_ segments: [Segment]) -> (kcal: Double, source: EnergySource)? {
        let active = activeTime(segments)
        guard active > 0 || total(.activeEnergy) != nil else { return nil }
        var whole = energyFold
        let track = tracks[Quantity.heartRate.rawValue]
        if track.current >= 0 {
            let held = held(.heartRate, until: holdEnd(track))
            whole.addHeartRate(track.value, from: track.position, to: track.position + held)
        }
        return whole.total(at: active)
    }

    /// Metres by barometric altitude, up to the newest one.
    private var barometricAscent: Double? {
        guard climbSegment > .min else { return nil }
        var (rest, total) = (climb, ascent)
        rest.finish { total += $0.ascent }
        return total
    }

    /// The length of all segments; an open segment lasts until the newest item.
    private func activeTime(_ segments: [Segment]) -> Int64 {
        segments.reduce(0) { total, segment in
            let start = segment.start.microseconds
            return total + max(start, segment.end?.microseconds ?? newest?.microseconds ?? .min) - start
        }
    }

    /// The value counted last is valid until the end of its segment; in an open segment, until the newest item.
    private func holdEnd(_ track: Track) -> Int64 { track.until == .max ? max(newestTime, track.time) : track.until }
}

extension LiveMetrics {
    mutating func refreshDisplay(_ segments: [Segment]) {
        guard let newest = newest?.microseconds else { return }
        // A display after the newest item is that of a clock that was ahead.
        if let display, (0..<Self.displayInterval).contains(newest - display.at) { return }
        let speed = speed(segments)
        display = (newest, speed, rules.pace(metres: distances.counted?.sum, speed: speed))
    }

    private var speedAlongRoute: Double? {
        guard let newest, routeTime > .min, newest.microseconds - routeTime <= Self.freshness else { return nil }
        return route?.speed
    }

    /// The measured speed, else the distance divided by the active time.
    private func speed(_ segments: [Segment]) -> Double? {
        if let measured = latest(.speed) { return measured }
        if !distances.measured.isKnown, let along = speedAlongRoute { return along }
        let seconds = newest.map { segments.activeDuration(at: $0) } ?? 0
        guard let distance = distances.counted?.sum, seconds > 0 else { return nil }
        return distance / seconds
    }

    /// The payload of `metrics`, as of the newest item.
    ///
    /// - Parameters:
    ///   - isSilent: no item arrived for 15 s, so that every live value is unknown.
    ///   - count: items stored.
    package func snapshot(_ state: SessionState, revision: Int64, count: Int, isSilent: Bool) -> MetricsSnapshot {
        var snapshot = MetricsSnapshot(user: state.user, revision: revision)
        snapshot.run = state.run
        snapshot.newest = newest
        snapshot.isPaused = state.status != .active
        snapshot.count = count
        snapshot.lap = state.laps.count + 1
        snapshot.distance = distances.counted.map { thousandths($0.sum) }
        snapshot.lapDistance = lapDistance.map(thousandths)
        snapshot.ascent = (total(.ascent) ?? barometricAscent).map(thousandths) ?? route?.ascent
        snapshot.latitude = route?.latitude
        snapshot.longitude = route?.longitude
        if let energy = energy(state.segments) {
            snapshot.activeEnergy = thousandths(energy.kcal)
            snapshot.energySource = energy.source
        }
        snapshot.averageHeartRate = average(.heartRate).map(thousandths)
        snapshot.maximumHeartRate = maximum(.heartRate)
        snapshot.averageCadence = average(.cadence).map(thousandths)
        snapshot.averagePower = average(.power).map(thousandths)
        snapshot.steps = total(.steps).map(thousandths)
        for row in rows where row.newest > .min {
            let battery = row.sources[Quantity.battery.rawValue]
            snapshot.devices[row.device] = DevicePresence(
                newest: Timestamp(microseconds: row.newest), battery: battery.time > .min ? battery.value : nil)
        }
        snapshot.zones = zoneSeconds?.map(thousandths)
        for quantity in Quantity.allCases where !quantity.isNamed {
            if quantity.isDelta {
                snapshot.others[quantity] = total(quantity).map { [thousandths($0)] }
            } else if !isSilent {
                snapshot.others[quantity] = quantity.isList ? latestList(quantity) : latest(quantity).map { [$0] }
            }
        }
        guard let newest else { return snapshot }
        let active = state.segments.activeDuration(at: newest)
        snapshot.activeSeconds = active
        snapshot.lapSeconds = thousandths(
            max(0, active - (state.laps.last.map { state.segments.activeDuration(at: $0) } ?? 0)))
        snapshot.movingSeconds = distances.counted?.resting(until: Int64((active * 1e6).rounded())).map { rest in
            thousandths(max(0, active - Double(rest) / 1e6))
        }
        let average = active > 0 ? distances.counted.map { $0.sum / active } : nil
        let fastest = usesRoute ? route?.maximumSpeed : maximum(.speed)
        snapshot.maximumSpeed = [average, fastest].compactMap(\.self).max().map(thousandths)
        snapshot.averagePace = rules.pace(metres: distances.counted?.sum, seconds: active).map(thousandths)
        guard !isSilent else { return snapshot }
        let speed = speed(state.segments)
        snapshot.speed = speed.map(thousandths)
        snapshot.pace = rules.pace(metres: distances.counted?.sum, speed: speed).map(thousandths)
        snapshot.displaySpeed = display?.speed.map(thousandths)
        snapshot.displayPace = display?.pace.map(thousandths)
        snapshot.heartRate = latest(.heartRate)
        snapshot.cadence = latest(.cadence)
        snapshot.power = latest(.power)
        snapshot.battery = latest(.battery)
        snapshot.temperature = latest(.temperature)
        return snapshot
    }
}
