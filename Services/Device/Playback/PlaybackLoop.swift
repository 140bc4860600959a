import Bus
import Logging
import MQTT
import ServiceKit
import Workouts

/// The one flow of events of a playback and the only place where effects happen: first to the queue, then to the bus.
struct PlaybackLoop {
    /// How long a session that was ended by Ctrl-C waits for its workout.
    static let stopPatience = 10.0

    enum Ending {
        case over
        /// The queue is to be logged under another session.
        case notSynced
    }

    private let service: PlaybackService
    let queue: QueueFile
    private var playback: Playback
    private var line: ProgressLine
    /// When to stop waiting, after Ctrl-C.
    private var leaveBy: Timestamp?

    init(service: PlaybackService, queue: QueueFile, playback: Playback) {
        self.service = service
        self.queue = queue
        self.playback = playback
        line = ProgressLine(isInteractive: service.terminal.isInteractive)
    }

    /// Returns something once it is over.
    mutating func handle(_ event: ClientEvent) async throws -> Ending? {
        let now = service.context.clock.now
        switch event {
        case .connected: playback.connected()
        case .disconnected: playback.disconnected()
        case .message(let message): try perform(playback.receive(message, now))
        case .tick: break
        case .stop: try stop(now)
        }
        if let outcome = playback.outcome { return try finish(outcome) }
        if let leaveBy, now >= leaveBy { throw stopped("the workout did not come") }
        try queue.append(playback.takeDue(now))
        await send(playback.takeOutgoing(now))
        if let text = line.update(progress, now) { service.terminal.status(text) }
        return nil
    }

    var subscriptions: [MQTTSubscription] { playback.subscriptions }

    /// Ends the line of progress and says what an error that ended the loop means.
    mutating func explain(_ error: any Error) -> any Error {
        service.terminal.status(line.finish())
        return error is Interrupted ? stopped("cut off") : error
    }

    private mutating func perform(_ reaction: Playback.Reaction) throws {
        switch reaction {
        case .nothing: break
        case .note(let entries): try queue.note(entries)
        case .takeBack(let kind, let number):
            try queue.note(playback.takeBack(kind, from: number, queue.read()))
            let text = "the server has lost \(kind.rawValue) from number \(number) on; sending again"
            service.terminal.status(line.remark(text))
        case .remark(let text): service.terminal.status(line.remark(text))
        case .fail(let failure): throw stopped("\(failure)")
        }
    }

    private mutating func stop(_ now: Timestamp) throws {
        guard queue.header.source.isLive, !queue.header.joins else { throw stopped("interrupted") }
        leaveBy = now + Self.stopPatience
        try queue.append(playback.stop(now))
        service.terminal.status(line.remark("ending the session"))
    }

    private func stopped(_ reason: String) -> PlaybackStopped {
        PlaybackStopped(reason: reason, header: queue.header)
    }

    /// What is lost with a connection is sent again on the next, and what is lost otherwise after a while.
    private func send(_ messages: [MQTTMessage]) async {
        do throws(MQTTError) {
            try await service.context.bus.send(messages)
        } catch {
            service.context.logger.debug("not sent", metadata: [LogKey.error: "\(error)"])
        }
    }

    private var progress: String {
        let total = max(service.script.total ?? 0, playback.itemCount)
        let rest = playback.awaited.map { "waiting for \($0)" } ?? "\(playback.reconnects) reconnects"
        return "\(playback.acknowledgedCount) of \(total) items acknowledged, \(rest)"
    }

    private mutating func finish(_ outcome: Playback.Outcome) throws -> Ending {
        service.terminal.status(line.finish())
        switch outcome {
        case .finished(let workout):
            try queue.remove()
            service.terminal.output(Written.summary(workout) + "\n")
            if let lost = queue.header.notSynced {
                service.terminal.output("synced under session \(queue.header.session), in place of \(lost)\n")
            }
        case .deleted:
            try queue.remove()
            service.terminal.output("the session was deleted\n")
        case .discarded where playback.itemCount == 0:
            try queue.remove()
            service.terminal.output("the session was discarded\n")
        case .discarded:
            // It may yet be recovered.
            service.terminal.output("the session was discarded; its queue is kept in \(queue.path)\n")
        case .notSynced: return .notSynced
        }
        return .over
    }
}
