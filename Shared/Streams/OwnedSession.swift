import Bus
import MQTT
import Workouts

/// A session in memory: its newest state, its streams, its live metrics and what is due for it.
///
/// An object, for it is looked up for each message and too large to be copied; the machine that holds it never is.
final class OwnedSession<Work: StreamWork> {
    /// One device's stream, with the names that each of its commits needs.
    struct NamedStream {
        let device: Device
        let ackTopic: String
        /// What the keys of its chunks begin with.
        let chunkPrefix: String
        var stream: ItemStream<Work.Item>
        /// Whether its number goes out with the next commit.
        var owesAck = false
    }

    var record: StreamRecord<Work.Totals>
    /// The streams by device, as far as they were read from the store.
    private(set) var streams: [NamedStream] = []
    /// Those of the streams, in their order: looked through for each message.
    private var devices: [Device] = []
    /// Whether something of it belongs to the next commit.
    var isTouched = false
    /// Whether these are all that are stored.
    var hasAllStreams: Bool
    /// The live fold; `nil` until it is made from the stored items.
    var live: Work.Live?
    /// What the companion topic said last, until there is a fold to hear it.
    var unheard: Work.Live.Heard?
    /// When the fold is to be made anew from the stored items, and when that was done last.
    var foldDue: Timestamp?
    var foldedAt: Timestamp?
    /// The kilometres or miles that were announced, or are too old for it.
    var announcedSplits = 0
    /// `metrics` or `route`.
    var liveTopic = RetainedTopic()
    var publishedAt: Timestamp?
    /// When an item was last stored or heard of, or when the session came into memory.
    var heardAt: Timestamp
    /// Whether the live values were published as unknown since.
    var isSilent = false
    /// When the summary is to be made; `nil` when it is as new as it can be.
    var summaryDue: Timestamp?
    /// When it was last made.
    var summarizedAt: Timestamp?
    /// When the chunks were last published again because somebody asked.
    var repeatedAt: Timestamp?
    /// `summary/metrics` or `summary/route`.
    var summaryTopic: RetainedTopic

    /// One from the store, whose items are read when they are needed.
    init(stored record: StreamRecord<Work.Totals>, heardAt: Timestamp) {
        self.record = record
        summaryTopic = RetainedTopic(revision: record.report?.revision ?? 0)
        hasAllStreams = false
        self.heardAt = heardAt
    }

    /// One that nothing is stored of.
    init(new state: SessionState, heardAt: Timestamp) {
        record = StreamRecord(state: state)
        summaryTopic = RetainedTopic()
        hasAllStreams = true
        live = Work.Live(state)
        self.heardAt = heardAt
    }

    var state: SessionState { record.state }

    /// Items on disk.
    var count: Int { streams.reduce(0) { $0 + $1.stream.next } }

    /// Items on disk, by stream.
    var next: [StreamName: Int] {
        var next: [StreamName: Int] = [:]
        for named in streams where named.stream.next > 0 {
            next[StreamName(Work.kind, named.device)] = named.stream.next
        }
        return next
    }

    /// Whether a summary is published, with its chunks.
    var isOver: Bool {
        switch state.status {
        case .saving, .completed: true
        case .preparing, .active, .paused, .suspended, .canceled, .deleted: false
        }
    }

    /// Whether live metrics are published: also of a session that is over, for items may come after its end.
    var isShown: Bool {
        switch state.status {
        case .preparing, .active, .paused, .suspended, .saving, .completed, .canceled: true
        case .deleted: false
        }
    }

    var isUnfinished: Bool {
        switch state.status {
        case .preparing, .active, .paused, .suspended: true
        case .saving, .completed, .canceled, .deleted: false
        }
    }

    // MARK: Streams

    func index(of device: Device) -> Int? { devices.firstIndex(of: device) }

    /// Takes a batch; `full` when there are more devices than a session may have.
    func receive(_ batch: ItemBatch<Work.Item>, from device: Device, now: Timestamp) -> StreamOutcome {
        guard let index = index(of: device) ?? add(ItemStream(), from: device) else { return .full }
        let outcome = streams[index].stream.receive(batch)
        switch outcome {
        case .taken, .repeated: streams[index].owesAck = true
        case .gap: streams[index].owesAck = streams[index].stream.answersGap(now) || streams[index].owesAck
        case .reused, .full, .dropped: break
        }
        return outcome
    }

    /// Adds a device's stream and returns its place.
    private func add(_ stream: ItemStream<Work.Item>, from device: Device) -> Int? {
        guard streams.count < SessionAction.streamLimit else { return nil }
        devices.append(device)
        streams.append(
            NamedStream(
                device: device, ackTopic: Topic.session(state.key, Work.kind.ack(device)).name,
                chunkPrefix: StreamStore.chunkPrefix(state.key, device), stream: stream))
        return streams.count - 1
    }

    /// Takes over a stream from the store. What is known already stays, unless less of it can be read.
    func load(_ stream: ItemStream<Work.Item>, from device: Device) {
        if let index = index(of: device) {
            if streams[index].stream.next > stream.next { streams[index].stream = stream }
        } else {
            _ = add(stream, from: device)
        }
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

    /// How many items await their commit.
    var pendingItems: Int { streams.reduce(0) { $0 + $1.stream.pending.count } }

    /// The pending items are on disk: they count.
    func committed(_ now: Timestamp) {
        for index in streams.indices where !streams[index].stream.pending.isEmpty {
            live?.add(
                streams[index].stream.pending, from: streams[index].device, segments: record.state.segments, now: now)
            streams[index].stream.committed()
        }
    }

    /// The commit failed: what was taken is expected again, and nothing is acknowledged.
    func discardPending() {
        for index in streams.indices {
            streams[index].stream.discardPending()
            streams[index].owesAck = false
        }
    }

    /// Makes the acknowledgement of every stream due.
    func acknowledgeAll() {
        for index in streams.indices { streams[index].owesAck = true }
    }

    /// The acknowledgements that are due, one for each stream.
    func takeAcks() -> [MQTTMessage] {
        var acks: [MQTTMessage] = []
        for index in streams.indices where streams[index].owesAck {
            streams[index].owesAck = false
            let kind = Work.kind.ack(streams[index].device)
            acks.append(
                MQTTMessage(
                    topic: streams[index].ackTopic, payload: Ack.next(streams[index].stream.next).payload,
                    qos: kind.qos,
                    retain: kind.isRetained))
        }
        return acks
    }

    // MARK: What is due

    /// The kilometre or mile that has just been done, if it has not been announced; an old one never is.
    func takeFinishedSplit(_ now: Timestamp) -> (number: Int, at: Timestamp)? {
        guard let splits = live?.splitsToAnnounce, splits.count > announcedSplits else { return nil }
        announcedSplits = splits.count
        guard let at = splits.at, abs(at.seconds(since: now)) <= StreamTimes.news else { return nil }
        return (splits.count, at)
    }

    /// Whether its live values have just grown too old to be shown.
    func becomesSilent(_ now: Timestamp) -> Bool {
        isShown && !isSilent && now.seconds(since: heardAt) >= StreamTimes.silence
    }

    /// Whether nothing is left to do for it in memory.
    func isIdle(_ now: Timestamp) -> Bool {
        !isUnfinished && record.chunksUntil == nil && now.seconds(since: heardAt) >= StreamTimes.idle
    }
}
