import Bus
import MQTT
import ServiceKit
import Timing
import Workouts

/// The streams of a session's devices: items on disk, items of the next commit, and acknowledgements.
extension OwnedSession {
    func index(of device: Device) -> Int? { devices.firstIndex(of: device) }

    /// Receives a batch. Returns `full` if the session has too many devices.
    func receive(_ batch: ItemBatch<Work.Item>, from device: Device, now: Moment) -> StreamOutcome {
        guard let index = index(of: device) ?? add(ItemStream(), from: device) else { return .full }
        // Before all streams are loaded, the last summary has the number of their items.
        let stored = hasAllStreams ? count : max(count, record.report?.next.values.reduce(0, +) ?? 0)
        let room = bounds.session - stored - pendingItems
        let new = batch.first + batch.items.count - streams[index].stream.expected
        let outcome =
            streams[index].stream.receive(batch, room: min(room, hourly.available(now)))
            ?? .limited(retryAfter: new > room ? nil : retryAfter(new, now))
        switch outcome {
        case .taken, .corrected:
            pendingItems += new
            _ = hourly.take(now, count: new)
            if streams[index].accepted(batch, now) {
                record.clockSkew[device] = streams[index].skew.seconds
                hasNewSkew = true
            }
        case .repeated: streams[index].owesAck = true
        case .gap: streams[index].owesAck = streams[index].stream.answersGap(now) || streams[index].owesAck
        case .limited(let retryAfter):
            guard streams[index].stream.answersGap(now) else { break }
            streams[index].owesAck = true
            streams[index].isLimited = true
            streams[index].retryAfter = retryAfter
        case .reused, .full, .dropped: break
        }
        return outcome
    }

    /// Whole seconds until the session accepts a useful number of items again.
    private func retryAfter(_ count: Int, _ now: Moment) -> Int {
        max(1, Int(hourly.seconds(until: max(count, bounds.hour / 10), now).rounded(.up)))
    }

    /// Adds a device's stream and returns its index.
    private func add(_ stream: ItemStream<Work.Item>, from device: Device) -> Int? {
        guard streams.count < SessionAction.streamLimit else { return nil }
        devices.append(device)
        streams.append(DeviceStream(stream, device: device, of: state.key, skew: record.clockSkew[device]))
        count += stream.next
        return streams.count - 1
    }

    /// Loads a stream from the store. A loaded stream stays unless fewer of its items are readable.
    func load(_ stream: ItemStream<Work.Item>, from device: Device) {
        if let index = index(of: device) {
            guard streams[index].stream.next > stream.next else { return }
            count -= streams[index].stream.next - stream.next
            pendingItems -= streams[index].stream.pending.count
            streams[index].stream = stream
        } else {
            _ = add(stream, from: device)
        }
    }

    /// Loads the streams that are not loaded yet. A loaded stream may have more items than a job has read.
    func loadMissing(_ streams: [Device: ItemStream<Work.Item>]) {
        for (device, stream) in streams.sorted(by: { $0.key < $1.key }) where index(of: device) == nil {
            _ = add(stream, from: device)
        }
        hasAllStreams = true
    }

    /// The chunks that make the pending items durable.
    func stage() -> [StoredChunk] {
        var chunks: [StoredChunk] = []
        for index in streams.indices where !streams[index].stream.pending.isEmpty {
            let prefix = streams[index].chunkPrefix
            for (number, bytes) in streams[index].stream.stage() {
                chunks.append(
                    StoredChunk(
                        shard: state.session.shard, key: StreamStore.chunkKey(prefix, number), bytes: bytes))
            }
        }
        return chunks
    }

    /// The pending items are on disk and count from now on.
    func committed(_ now: Moment) {
        for index in streams.indices where !streams[index].stream.pending.isEmpty {
            live?.add(
                streams[index].stream.pending, from: streams[index].device, segments: record.state.segments,
                now: now.wallClock)
            heard?.add(streams[index].stream.pending)
            sinceFold?.append((streams[index].device, streams[index].stream.next, streams[index].stream.pending))
            streams[index].stream.committed()
        }
        count += pendingItems
        pendingItems = 0
    }

    /// Drops the pending items and acknowledgements after a failed commit.
    func discardPending() {
        hourly.giveBack(pendingItems)
        for index in streams.indices { streams[index].discardPending() }
        pendingItems = 0
    }

    /// Makes all acknowledgements due.
    func acknowledgeAll() {
        for index in streams.indices { streams[index].owesAck = true }
    }

    /// When the deferred acknowledgements are due; `nil` without any.
    var ackDue: Moment? {
        streams.lazy.compactMap(\.unacknowledgedSince).min().map { $0 + StreamTimes.ack }
    }

    /// Makes the deferred acknowledgements due.
    func acknowledgeDeferred() {
        for index in streams.indices where streams[index].unacknowledgedSince != nil { streams[index].owesAck = true }
    }

    /// Removes and returns the due acknowledgements, one per stream.
    func takeAcks(_ now: Moment) -> [MQTTMessage] {
        var acks: [MQTTMessage] = []
        for index in streams.indices {
            guard let ack = streams[index].takeAck() else { continue }
            let kind = Work.kind.ack(streams[index].device)
            acks.append(
                MQTTMessage(
                    topic: streams[index].ackTopic, payload: ack.payload(now: now.wallClock)[...], qos: kind.qos,
                    retain: kind.isRetained))
        }
        return acks
    }
}
