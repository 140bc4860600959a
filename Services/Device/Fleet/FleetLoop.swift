import Bus
import Client
import MQTT
import ServiceKit
import Workouts

/// The event loop of a fleet. Runners take turns, so that each sends a batch every two seconds.
struct FleetLoop {
    /// Ticks of the clock for one turn of every runner.
    private static let turns = 40
    /// Limits the load on the engine.
    private static let startsPerSecond = 500.0

    private struct Runner {
        var key: SessionKey
        /// The way into a virtual run, until the run begins.
        var entry: RunEntry?
        /// The workout; `nil` before the virtual run begins.
        var playback: Playback?
        var isOver = false

        mutating func connected() {
            entry?.connected()
            playback?.connected()
        }

        mutating func disconnected() {
            entry?.disconnected()
            playback?.disconnected()
        }
    }

    private let service: FleetService
    private var runners: [Runner]
    private let indices: [User: Int]
    private var turn = 0
    private var overCount = 0
    private var failedCount = 0
    private var meter: FleetMeter
    private var line: ProgressLine
    /// The end of the wait after Ctrl-C.
    private var leaveBy: Moment?

    init(service: FleetService) {
        self.service = service
        let now = service.context.clock.moment
        let entries = service.entries()
        runners = service.keys.enumerated().map { number, key in
            guard entries.isEmpty else { return Runner(key: key, entry: entries[number]) }
            return Runner(
                key: key, playback: service.playback(number, key, now + Double(number) / Self.startsPerSecond))
        }
        indices = Dictionary(uniqueKeysWithValues: service.keys.enumerated().map { ($1.user, $0) })
        meter = FleetMeter(now)
        line = ProgressLine(isInteractive: service.terminal.isInteractive)
    }

    var subscriptions: [MQTTSubscription] {
        [
            TopicFilter.sessions(.samplesAck(service.device)), TopicFilter.sessions(.locationsAck(service.device)),
            TopicFilter.users(.replies(service.context.client)),
        ]
            + [.state, .workout].flatMap { TopicFilter.sessions($0, shards: Set(Shard.all)) }
            + (service.runSize == nil ? [] : [TopicFilter.virtualRuns(), TopicFilter.partners])
    }

    /// Returns once all sessions are over.
    mutating func handle(_ event: ClientEvent) async throws -> Void? {
        let now = service.context.clock.moment
        var outgoing: [MQTTMessage] = []
        switch event {
        case .connected: for index in runners.indices { runners[index].connected() }
        case .disconnected: for index in runners.indices { runners[index].disconnected() }
        case .message(let message): outgoing = receive(message, now)
        case .tick:
            outgoing = stride(from: turn, to: runners.count, by: Self.turns).flatMap { index in
                takeDue(index, now)
                return takeOutgoing(index, now)
            }
            turn = (turn + 1) % Self.turns
        case .stop: stop(now)
        }
        await service.context.send(outgoing)
        if overCount == runners.count { return try finish(now) }
        if let leaveBy, now >= leaveBy {
            throw FleetStopped(
                description: "no workout for \(runners.count - overCount) of \(runners.count) sessions")
        }
        if let text = line.update(progress(now), now) {
            service.terminal.progress(text)
            meter.restart(now)
        }
        return nil
    }

    /// Ends the progress line.
    mutating func explain(_ error: any Error) -> any Error {
        service.terminal.progress(line.finish())
        return error
    }

    private mutating func takeDue(_ index: Int, _ now: Moment) {
        guard !runners[index].isOver else { return }
        _ = runners[index].playback?.takeDue(now)
    }

    /// The messages of a runner to send now.
    private mutating func takeOutgoing(_ index: Int, _ now: Moment) -> [MQTTMessage] {
        guard !runners[index].isOver else { return [] }
        guard runners[index].entry != nil else { return runners[index].playback?.takeOutgoing(now) ?? [] }
        let requests = runners[index].entry?.takeOutgoing(now) ?? []
        switch runners[index].entry?.outcome {
        case nil: break
        case .failed(let failure): fail("\(failure)", index)
        case .begins(let ticket): begin(ticket, index, now)
        }
        return requests
    }

    /// The runner's part in the virtual run begins.
    private mutating func begin(_ ticket: RunTicket, _ index: Int, _ now: Moment) {
        runners[index].entry = nil
        runners[index].key = SessionKey(runners[index].key.user, ticket.session)
        runners[index].playback = service.playback(index, runners[index].key, now, ticket)
        runners[index].playback?.connected()
    }

    private mutating func receive(_ message: MQTTMessage, _ now: Moment) -> [MQTTMessage] {
        guard let index = index(message), !runners[index].isOver else { return [] }
        if case .user(_, .partners) = Topic(message.topic) { meter.partners() }
        if let text = runners[index].entry?.receive(message, now) { remark(text, index) }
        guard var playback = runners[index].playback.take() else { return takeOutgoing(index, now) }
        let before = playback.acknowledgedCount
        let askedAt = playback.askedAt
        let reaction = playback.receiveMessage(message, now)
        let after = playback.acknowledgedCount
        runners[index].playback = playback
        if after > before {
            meter.acknowledged(after - before, after: askedAt.map { now.seconds(since: $0) } ?? 0)
        }
        switch reaction {
        case .nothing, .note: break
        case .remark(let text): remark(text, index)
        case .takeBack(_, let number): fail("\(StreamFailure.lost(next: number))", index)
        case .fail(let failure, _): fail("\(failure)", index)
        }
        switch playback.outcome {
        case nil: break
        case .missed(let refusal): fail(refusal.message, index)
        case .notSynced: fail("the server has lost the session, and a fleet keeps no queue", index)
        case .finished, .discarded, .deleted: close(index)
        }
        if service.speed == 0 { takeDue(index, now) }
        return takeOutgoing(index, now)
    }

    private func index(_ message: MQTTMessage) -> Int? {
        switch Topic(message.topic) {
        case .user(let user, _): indices[user]
        case .session(let key, _): indices[key.user].flatMap { runners[$0].key == key ? $0 : nil }
        default: nil
        }
    }

    private mutating func fail(_ text: String, _ index: Int) {
        guard !runners[index].isOver else { return }
        remark(text, index)
        failedCount += 1
        close(index)
    }

    private mutating func close(_ index: Int) {
        guard !runners[index].isOver else { return }
        runners[index].isOver = true
        overCount += 1
    }

    private mutating func remark(_ text: String, _ index: Int) {
        service.terminal.progress(line.remark("\(service.keys[index].user): \(text)"))
    }

    private mutating func stop(_ now: Moment) {
        leaveBy = now + Playback.stopTimeout
        for index in runners.indices {
            if runners[index].playback?.hasBegun == true {
                _ = runners[index].playback?.stop(now)
            } else {
                close(index)
            }
        }
        service.terminal.progress(line.remark("ending the sessions"))
    }

    private func progress(_ now: Moment) -> String {
        "\(overCount) of \(runners.count) sessions over, \(meter.text(now))"
    }

    private mutating func finish(_ now: Moment) throws {
        service.terminal.progress(line.finish(progress(now)))
        let items = runners.reduce(0) { $0 + ($1.playback?.acknowledgedCount ?? 0) }
        service.terminal.output("\(runners.count - failedCount) sessions with \(items) items are over\n")
        guard failedCount == 0 else {
            throw FleetStopped(description: "\(failedCount) of \(runners.count) sessions failed")
        }
    }
}
