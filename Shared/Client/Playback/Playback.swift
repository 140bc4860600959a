import Bus
package import Formats
package import MQTT
package import ServiceKit
package import Workouts

/// A device that plays steps into a session: due steps go to the queue and from there to the services, until the finished
/// workout covers them.
///
/// A value: it reads no clock and performs nothing. The entries of ``takeDue(_:)`` must be on disk before
/// ``takeOutgoing(_:)`` is called, unless the playback may be lost with the process.
package struct Playback {
    /// Seconds without an acknowledgement, or without the workout, until the newest command is sent again.
    static let timeout = 15.0
    /// Seconds to wait for the workout of a session that Ctrl-C ended.
    package static let stopTimeout = 10.0
    /// How many times the engine must miss the session: an engine that is about to hand the user over to another may not
    /// have received it.
    static let notFoundLimit = 2
    /// Entries of one write to the queue.
    private static let writeLimit = 1_000

    package enum Outcome: Equatable {
        /// The finished workout holds all items.
        case finished(WorkoutRecord)
        /// This or another client discarded the session.
        case discarded
        /// The session was deleted, or discarded so long ago that it is gone.
        case deleted
        /// The server lost the session: the queue is logged under its successor.
        case notSynced
        /// The engine refused the start until the virtual run was over.
        case missed(Refusal)
    }

    package let header: QueueHeader
    private let pace: Pace
    private let newID: () -> CommandID
    private var steps: RemainingSteps
    /// The next step; `nil` at the end.
    private var next: Step?
    var samples: ItemSender<Sample>
    var locations: ItemSender<Location>
    var commands: CommandSender
    /// The commands that the engine has accepted at some time.
    var replied: Set<CommandID>
    /// The time of the newest item.
    private var newestItem: Timestamp?
    /// Whether the engine has accepted `start`; for a joined session, whether it exists.
    var isStarted = false
    /// The command that closes the session, once it is in the queue.
    private(set) var closing: Command?
    /// Whether the engine has accepted it.
    var isClosed = false
    /// The newest command that is in the queue.
    private var newestCommand: Command?
    /// When the wait for acknowledgements or the workout began; `nil` while a command is pending.
    var settledAt: Moment?
    /// Whether the end was sent again after the timeout.
    var isEndRepeated = false
    var state: SessionState?
    var workout: WorkoutRecord?
    /// How many times in a row the engine did not find the session.
    var notFoundCount = 0
    private var connects = 0
    /// What later items and commands add to the device's time.
    var clock: DeviceClock
    /// The other runners of a virtual run.
    package internal(set) var companion: RunCompanion?
    var goal: RunGoalWatch?
    private var battery: Double?
    /// When items of a virtual run were last sent.
    private var itemsSentAt: Moment?
    /// The last refusal of a start that the virtual run no longer needs.
    var missed: Refusal?

    /// Resumes a queue: skips the steps that it holds.
    package init(
        header: QueueHeader, contents: QueueContents, steps: any IteratorProtocol<Step>, pace: Pace, client: Client,
        newID: @escaping () -> CommandID
    ) {
        self.header = header
        self.pace = pace
        self.newID = newID
        self.steps = RemainingSteps(steps, after: contents)
        samples = ItemSender(items: contents.samples.items, acknowledged: contents.samples.acknowledged)
        locations = ItemSender(items: contents.locations.items, acknowledged: contents.locations.acknowledged)
        replied = contents.replied
        commands = CommandSender(
            client: client, waiting: contents.commands.filter { !contents.replied.contains($0.id) },
            leavesStartToEngine: header.source.isLive && header.notSynced == nil && header.ticket == nil,
            clockOffset: contents.startOffset)
        newestItem = [contents.samples.items.last?.time, contents.locations.items.last?.time].compactMap(\.self).max()
        clock = DeviceClock(
            offset: contents.clockOffset == 0 ? header.ticket?.offset ?? 0 : contents.clockOffset,
            corrects: header.source.isLive && header.notSynced == nil)
        for command in contents.commands { note(command, isReplied: replied.contains(command.id)) }
        next = closing == nil ? self.steps.next() : nil
        guard let ticket = header.ticket else { return }
        companion = RunCompanion(user: header.user, run: ticket.run)
        goal = RunGoalWatch(ticket)
        for sample in contents.samples.items { measure(sample) }
    }

    /// Connections after the first.
    var reconnects: Int { max(0, connects - 1) }

    /// Whether a `start` was queued.
    package var hasBegun: Bool { isStarted || !commands.isEmpty }

    /// Whether the session has begun and nothing has ended it.
    var isOpen: Bool { isStarted && closing == nil && !isEnded }

    // MARK: Into the queue

    /// The steps due by now. Append them to the queue before sending.
    package mutating func takeDue(_ now: Moment) -> [QueueEntry] {
        if isEndedElsewhere { return stop(now) }
        if isDiscardedElsewhere { next = nil }
        // A run that is canceled before its start is no reason to run alone.
        if newestItem == nil, companion?.view?.status == .canceled { return stop(now) }
        // An offset that is in the queue before the items that it changed.
        var entries: [QueueEntry] = clock.takeChange().map { [.clock($0)] } ?? []
        var due: (samples: [Sample], locations: [Location]) = ([], [])
        for _ in 0..<room {
            guard let step = next, pace.isDue(step.at, now) else { break }
            if case .sample = step.kind, goal?.isReached == true {
                return entries + queue(due.samples, due.locations) + stop(now)
            }
            next = steps.next()
            let time = step.at + clock.offset
            switch step.kind {
            case .sample(var sample):
                sample.time = time
                due.samples.append(sample)
                measure(sample)
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

    private mutating func measure(_ sample: Sample) {
        goal?.add(sample)
        battery = sample[.battery] ?? battery
    }

    /// Ends the session now; discards it if it has no item. A device that joined announces its counts.
    package mutating func stop(_ now: Moment) -> [QueueEntry] {
        guard closing == nil else { return [] }
        next = nil
        let action: SessionAction = newestItem == nil && !header.joins ? .discard : .end(streams: [:])
        return [.command(queue(action, at: newestItem ?? now.wallClock + clock.offset))]
    }

    /// How many steps may be taken at once. Samples alone set the pace, so that the session ends even if no route-builder
    /// acknowledges locations.
    private var room: Int {
        guard pace.followsReceiver else { return Self.writeLimit }
        return max(0, min(Self.writeLimit, 2 * StreamWindow.items - samples.unacknowledged))
    }

    /// Whether another client has ended the session and nothing more is played: a joined recording plays to its end.
    private var isEndedElsewhere: Bool {
        isStarted && closing == nil && isEnded && (next == nil || !header.joins || header.source.isLive)
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
        var id = newID()
        if case .start = action, let ticket = header.ticket { id = ticket.startId }
        let command = Command(id: id, client: commands.client, at: at, action: action)
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
            samples.isComplete = true
            locations.isComplete = true
        default: break
        }
    }

    // MARK: To the services

    /// The messages to send now.
    package mutating func takeOutgoing(_ now: Moment) -> [MQTTMessage] {
        repeatCommand(now)
        var messages: [MQTTMessage] = []
        if let command = commands.takeDue(now) {
            messages.append(topic(.command).message(JSONCoding.encode(command)))
        }
        // Items of an unknown session only fill the receiver's memory.
        guard isStarted, takesTurn(now) else { return messages }
        messages += samples.take(now).map { topic(.samples(header.device)).message($0.payload) }
        messages += locations.take(now).map { topic(.locations(header.device)).message($0.payload) }
        return messages
    }

    /// Whether items may be sent now.
    private mutating func takesTurn(_ now: Moment) -> Bool {
        guard header.ticket != nil, closing == nil else { return true }
        if let itemsSentAt, now.seconds(since: itemsSentAt) < runInterval(battery: battery) { return false }
        if itemsInFlight < itemCount - acknowledgedCount { itemsSentAt = now }
        return true
    }

    /// Repeats the newest command, which has no effect if the engine has accepted it. The engine publishes a lost workout
    /// again on a repeated `end`. If items stay unacknowledged, the server may have lost the session: the reply shows it,
    /// and a repeated `start` begins the session again.
    private mutating func repeatCommand(_ now: Moment) {
        guard commands.isEmpty, let newestCommand, isClosed || itemsInFlight > 0 else {
            settledAt = nil
            return
        }
        guard let since = settledAt else {
            settledAt = now
            return
        }
        guard now.seconds(since: since) >= Self.timeout else { return }
        settledAt = nil
        isEndRepeated = isAcknowledged
        commands.append(newestCommand)
    }

    package mutating func connected() {
        connects += 1
        samples.connected()
        locations.connected()
        commands.connected()
    }

    package mutating func disconnected() {
        samples.disconnected()
        locations.disconnected()
        commands.disconnected()
    }

    func topic(_ topic: SessionTopic) -> Topic { .session(header.key, topic) }

    package var subscriptions: [MQTTSubscription] {
        [
            topic(.samplesAck(header.device)), topic(.locationsAck(header.device)), topic(.state), topic(.workout),
            topic(.announcements),
            .user(header.user, .replies(commands.client)),
        ].map(TopicFilter.topic)
            + (companion.map { RunCompanion.topics(header.user, $0.run).map(TopicFilter.topic) } ?? [])
    }
}
