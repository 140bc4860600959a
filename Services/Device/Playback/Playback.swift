import Bus
import Formats
import MQTT
import ServiceKit
import Workouts

/// A device that plays steps into a session: what is due goes to the queue, from there to the services, until the
/// finished workout covers it.
///
/// A value: it reads no clock and performs nothing. Whatever ``takeDue(_:)`` returns must be on disk before
/// ``takeOutgoing(_:)`` is called, unless nothing of it is to outlive the process.
struct Playback {
    /// How long to wait for an acknowledgement, or for the workout, before the newest command is sent again.
    static let patience = 15.0
    /// How often the engine says that there is no such session until it is believed: one that is only about to hand the
    /// user over to another may not have heard of it.
    static let notFoundLimit = 2
    /// Entries of one write to the queue.
    private static let writeLimit = 1_000

    /// How it ended.
    enum Outcome: Equatable {
        /// The finished workout holds everything that was sent.
        case finished(WorkoutRecord)
        /// Discarded, here or by another client, before it was finished.
        case discarded
        /// Somebody deleted the session, or it was discarded so long ago that it is gone.
        case deleted
        /// The server no longer has the session though nobody gave it up: what is queued is to be logged under another.
        case notSynced
    }

    let header: QueueHeader
    private let pace: Pace
    private let newID: () -> CommandID
    private var steps: RemainingSteps
    /// The step after those taken; none when all are.
    private var next: Step?
    var samples: ItemStream<Sample>
    var locations: ItemStream<Location>
    var commands: CommandSender
    /// What the engine has carried out, though it may have forgotten.
    var replied: Set<CommandID>
    /// The time of the newest item.
    private var newestItem: Timestamp?
    /// Whether the engine has replied to `start`; of a session that was joined, whether it is there.
    var isStarted = false
    /// The command that closes the session, once it is in the queue.
    private(set) var closing: Command?
    /// Whether the engine has replied to it.
    var isClosed = false
    /// The newest command that is in the queue.
    private var newestCommand: Command?
    /// Since when nothing has come of what is awaited, with no command under way.
    var settledAt: Timestamp?
    /// Whether it was awaited so long that the end was sent again.
    var isEndRepeated = false
    var state: SessionState?
    var workout: WorkoutRecord?
    /// The revision of the workout that last told of a loss, for each kind of stream.
    var lossRevisions: [StreamName.Kind: Int64] = [:]
    /// How often in a row the engine said that there is no such session.
    var notFoundCount = 0
    private var connects = 0

    /// Takes up a queue where it stopped: the steps that went into it are passed over.
    init(
        header: QueueHeader, contents: QueueContents, steps: any IteratorProtocol<Step>, pace: Pace, client: Client,
        newID: @escaping () -> CommandID
    ) {
        self.header = header
        self.pace = pace
        self.newID = newID
        self.steps = RemainingSteps(steps, after: contents)
        samples = ItemStream(items: contents.samples.items, acknowledged: contents.samples.acknowledged)
        locations = ItemStream(items: contents.locations.items, acknowledged: contents.locations.acknowledged)
        replied = contents.replied
        commands = CommandSender(
            client: client, waiting: contents.commands.filter { !contents.replied.contains($0.id) },
            leavesStartToEngine: header.source.isLive && header.notSynced == nil, clockOffset: contents.clockOffset)
        newestItem = [contents.samples.items.last?.time, contents.locations.items.last?.time].compactMap(\.self).max()
        for command in contents.commands { note(command, isReplied: replied.contains(command.id)) }
        next = closing == nil ? self.steps.next() : nil
    }

    /// Connections after the first.
    var reconnects: Int { max(0, connects - 1) }

    /// Whether anybody else can know of it.
    var hasBegun: Bool { isStarted || !commands.isEmpty }

    // MARK: Into the queue

    /// What happened by now: to be written to the queue before anything else is done.
    mutating func takeDue(_ now: Timestamp) -> [QueueEntry] {
        if isEndedElsewhere { return stop(now) }
        if isDiscardedElsewhere { next = nil }
        var entries: [QueueEntry] = []
        var due: (samples: [Sample], locations: [Location]) = ([], [])
        for _ in 0..<room {
            guard let step = next, pace.isDue(step.at, now) else { break }
            next = steps.next()
            let time = step.at + commands.clockOffset
            switch step.kind {
            case .sample(var sample):
                sample.time = time
                due.samples.append(sample)
                newestItem = time
            case .location(var location):
                location.time = time
                due.locations.append(location)
                newestItem = time
            case .command(let action):
                entries += queue(due.samples, due.locations)
                due = ([], [])
                entries.append(.command(queue(action, at: time)))
            }
        }
        return entries + queue(due.samples, due.locations)
    }

    /// Ends the session now with what there is; before the first item, discards it. A session that was joined and is
    /// over is told what there is.
    mutating func stop(_ now: Timestamp) -> [QueueEntry] {
        guard closing == nil else { return [] }
        next = nil
        let action: SessionAction = newestItem == nil && !header.joins ? .discard : .end(streams: [:])
        return [.command(queue(action, at: newestItem ?? now + commands.clockOffset))]
    }

    /// How many steps may be taken at once. Samples set the pace, and locations go along: where nobody takes locations,
    /// the session comes to its end all the same.
    private var room: Int {
        guard pace.followsReceiver else { return Self.writeLimit }
        return max(0, min(Self.writeLimit, 2 * StreamWindow.items - samples.unacknowledged))
    }

    /// Another client has ended the session: there is nothing more to play, unless the recording of a device that joined
    /// is on its way yet.
    private var isEndedElsewhere: Bool {
        isStarted && closing == nil && isOver && (next == nil || !header.joins || header.source.isLive)
    }

    private mutating func queue(_ moreSamples: [Sample], _ moreLocations: [Location]) -> [QueueEntry] {
        var entries: [QueueEntry] = []
        if !moreSamples.isEmpty {
            entries.append(.samples(SampleBatch(first: samples.count, items: moreSamples)))
            samples.append(moreSamples)
        }
        if !moreLocations.isEmpty {
            entries.append(.locations(LocationBatch(first: locations.count, items: moreLocations)))
            locations.append(moreLocations)
        }
        return entries
    }

    private mutating func queue(_ action: SessionAction, at: Timestamp) -> Command {
        var action = action
        if case .end = action { action = .end(streams: counts) }
        let command = Command(id: newID(), client: commands.client, at: at, action: action)
        note(command, isReplied: false)
        commands.append(command)
        return command
    }

    private mutating func note(_ command: Command, isReplied: Bool) {
        newestCommand = command
        switch command.action {
        case .start: isStarted = isReplied
        case .end, .discard:
            closing = command
            isClosed = isReplied
        default: break
        }
    }

    // MARK: To the services

    /// What to send now.
    mutating func takeOutgoing(_ now: Timestamp) -> [MQTTMessage] {
        ask(now)
        var messages: [MQTTMessage] = []
        if let command = commands.take(now) {
            messages.append(topic(.command).message(JSONCoding.encode(command)))
        }
        // A session that is not known yet would only fill the receiver's memory.
        guard isStarted else { return messages }
        messages += samples.take(now).map { topic(.samples(header.device)).message($0.payload) }
        messages += locations.take(now).map { topic(.locations(header.device)).message($0.payload) }
        return messages
    }

    /// Repeats the newest command, which changes nothing where it was carried out. A workout that does not come was lost
    /// with the broker: the engine publishes it again on a repeated `end`. When items are not acknowledged, it may be that
    /// the session is not there any more: the reply tells, and a `start` begins it again.
    private mutating func ask(_ now: Timestamp) {
        guard commands.isEmpty, let newestCommand, isClosed || itemsInFlight > 0 else {
            settledAt = nil
            return
        }
        guard let since = settledAt else {
            settledAt = now
            return
        }
        guard now.seconds(since: since) >= Self.patience else { return }
        settledAt = nil
        isEndRepeated = isAcknowledged
        commands.append(newestCommand)
    }

    mutating func connected() {
        connects += 1
        samples.connected()
        locations.connected()
        commands.connected()
    }

    mutating func disconnected() {
        samples.disconnected()
        locations.disconnected()
        commands.disconnected()
    }

    func topic(_ topic: SessionTopic) -> Topic { .session(header.key, topic) }

    var subscriptions: [MQTTSubscription] {
        [
            topic(.samplesAck(header.device)), topic(.locationsAck(header.device)), topic(.state), topic(.workout),
            .user(header.user, .replies(commands.client)),
        ].map(TopicFilter.topic)
    }
}
