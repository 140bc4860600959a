import Bus
import MQTT
import ServiceKit
import Storage
import Timing
import Workouts

/// The streams of a session's devices: items on disk, items of the next commit, and acknowledgements.
extension OwnedSession {
    func index(of device: Device) -> Int? { devices.firstIndex(of: device) }

    /// Receives a batch. Returns `full` if the session has too many devices.
    ///
    /// - Parameter daily: the items that the account may still store today.
    func receive(_ batch: ItemBatch<Work.Item>, from device: Device, daily: Int, now: Moment) -> StreamOutcome {
        let known = index(of: device).map { streams[$0] }
        guard let stream = known ?? add(ItemStream(), from: device) else { return .full }
        // Before all streams are loaded, the last summary has the number of their items.
        let stored = hasAllStreams ? count : max(count, record.report?.next.values.reduce(0, +) ?? 0)
        let room = bounds.session - stored - pendingItems
        let new = batch.first + batch.items.count - stream.stream.expected
        let outcome =
            stream.stream.receive(batch, room: min(room, daily, hourly.available(now)))
            ?? .limited(new > room ? .session : new > daily ? .day : .hour)
        switch outcome {
        case .taken, .corrected:
            pendingItems += new
            hourly.spend(new)
            if stream.accepted(batch, now) {
                record.clockSkew[device] = stream.skew.seconds
                hasNewSkew = true
            }
        case .repeated: stream.owesAck = true
        case .gap where stream.stream.answersGap(now): (stream.owesAck, stream.answersGap) = (true, true)
        case .limited(let limit):
            guard stream.stream.answersGap(now) else { break }
            stream.owesAck = true
            stream.isLimited = true
            stream.retryAfter = retryAfter(new, limit, now)
        case .gap, .reused, .full, .dropped: break
        }
        return outcome
    }

    /// Whole seconds until the session accepts a useful number of items again; `nil` if it is full.
    private func retryAfter(_ count: Int, _ limit: ItemLimit, _ now: Moment) -> Int? {
        switch limit {
        case .session: nil
        case .hour: max(1, Int(hourly.seconds(until: max(count, bounds.hour / 10), now).rounded(.up)))
        case .day: DailyQuota.secondsLeft(now)
        }
    }

    /// Adds a device's stream; `nil` if the session has too many devices.
    private func add(_ stream: ItemStream<Work.Item>, from device: Device) -> DeviceStream<Work.Item>? {
        guard streams.count < SessionAction.streamLimit else { return nil }
        let added = DeviceStream(stream, device: device, of: state.key, Work.kind, skew: record.clockSkew[device])
        devices.append(device)
        streams.append(added)
        count += stream.next
        return added
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

    /// The changes that make the pending items durable and move due streams from the journal into their chunks.
    ///
    /// - Parameter saves: whether all streams move.
    func stage(saves: Bool) -> [StreamChange] {
        let shard = state.session.shard
        var changes: [StreamChange] = []
        for stream in streams {
            stream.isDue = stream.isDue || saves
            guard !stream.stream.pending.isEmpty || stream.isDue else { continue }
            let name = stream.name
            let staged = stream.stream.stage(saves: stream.isDue)
            for (number, bytes) in staged.chunks {
                let change = StoreWrite.Change.put(key: StreamStore.chunkKey(name, number), value: bytes)
                changes.append(StreamChange(shard: shard, collection: StreamStore.chunks, change: change))
            }
            guard let entry = staged.entry else { continue }
            let change = StoreWrite.Change.append(stream: name, first: entry.first, items: entry.bytes)
            changes.append(StreamChange(shard: shard, collection: .journal, change: change))
        }
        return changes
    }

    /// Whether the journal has items that are in no chunk.
    var hasUnsavedItems: Bool { streams.contains { $0.stream.saved < $0.stream.next } }

    /// Whether the oldest such item of a stream is in a commit.
    func belongs(_ stream: Int, to commit: Int) -> Bool { streams[stream].journaled?.commit == commit }

    /// The last chunks that have such items.
    var unsavedChunks: [UnsavedChunk] {
        streams.compactMap { stream in
            stream.stream.unsaved.map { UnsavedChunk(device: stream.device, number: $0.number, bytes: $0.bytes) }
        }
    }

    /// The pending items are on disk and count from now on.
    func committed(_ now: Moment) {
        for stream in streams where !stream.stream.pending.isEmpty || stream.isDue {
            stream.isDue = false
            let pending = stream.stream.pending
            defer { stream.stream.committed() }
            guard !pending.isEmpty else { continue }
            live?.addItems(pending, from: stream.device, segments: record.state.segments, now: now.wallClock)
            heard?.addItems(pending)
            sinceFold?.append((stream.device, stream.stream.next, pending))
        }
        count += pendingItems
        pendingItems = 0
    }

    /// Drops the pending items and acknowledgements after a failed commit.
    /// The pending items that count against the account's day.
    var dailyItems: Int {
        streams.reduce(0) { $0 + ($1.device == .importer ? 0 : $1.stream.pending.count) }
    }

    func discardPending() {
        hourly.giveBack(pendingItems)
        for stream in streams { stream.discardPending() }
        pendingItems = 0
    }

    /// Makes all acknowledgements due.
    func acknowledgeAll() {
        for stream in streams { stream.owesAck = true }
    }

    /// When the deferred acknowledgements are due; `nil` without any.
    var ackDue: Moment? {
        // A loop, because a key path of a generic type is resolved at each use.
        var first: Moment?
        for stream in streams { if let since = stream.unacknowledgedSince { first = min(first ?? since, since) } }
        return first.map { $0 + StreamTimes.ack }
    }

    /// Makes the deferred acknowledgements due.
    func acknowledgeDeferred() {
        for stream in streams where stream.unacknowledgedSince != nil { stream.owesAck = true }
    }

    /// Removes and returns the due acknowledgements of all streams.
    func takeAcks(_ now: Moment, _ epochs: [Shard: Epoch]) -> [MQTTMessage] {
        let epoch = epochs[state.key.session.shard]?.number
        var acks: [MQTTMessage] = []
        for stream in streams {
            guard let (ack, copies) = stream.takeAck() else { continue }
            let kind = Work.kind.ack(stream.device)
            let message = MQTTMessage(
                topic: stream.ackTopic, payload: ack.payload(now: now.wallClock, epoch: epoch)[...],
                qos: kind.qos, retain: kind.isRetained)
            acks += repeatElement(message, count: copies)
        }
        return acks
    }
}
