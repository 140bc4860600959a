import Bus
import MQTT
import ServiceKit
import Workouts

/// The event loop of a playback: performs all effects, first on the queue, then on the bus.
struct PlaybackLoop {
    enum Ending {
        /// The queue is no longer needed.
        case done
        /// The queue is kept for a session that the user may recover.
        case kept
        /// The queue is logged under the successor of its session.
        case notSynced
    }

    private let service: PlaybackService
    private let script: PlaybackScript
    let queue: QueueFile
    private var playback: Playback
    private var line: ProgressLine
    /// The end of the wait after Ctrl-C.
    private var leaveBy: Moment?

    init(service: PlaybackService, script: PlaybackScript, queue: QueueFile, playback: Playback) {
        self.service = service
        self.script = script
        self.queue = queue
        self.playback = playback
        line = ProgressLine(isInteractive: service.terminal.isInteractive)
    }

    /// Returns the ending once the playback is over.
    mutating func handle(_ event: ClientEvent) async throws -> Ending? {
        let now = service.context.clock.moment
        switch event {
        case .connected: playback.connected()
        case .disconnected: playback.disconnected()
        case .message(let message): try perform(playback.receiveMessage(message, now))
        case .tick: break
        case .stop: try stop(now)
        }
        if let outcome = playback.outcome { return try finish(outcome) }
        if let leaveBy, now >= leaveBy { throw stopped("no workout within \(Int(Playback.stopTimeout)) s") }
        try queue.append(playback.takeDue(now))
        await service.context.send(playback.takeOutgoing(now))
        if let text = line.update(progress, now) { service.terminal.progress(text) }
        return nil
    }

    var subscriptions: [MQTTSubscription] { playback.subscriptions }

    /// Ends the progress line and completes an error that ended the loop.
    mutating func explain(_ error: any Error) -> any Error {
        service.terminal.progress(line.finish())
        return error is Interrupted ? interrupted : error
    }

    private mutating func perform(_ reaction: Playback.Reaction) throws {
        switch reaction {
        case .nothing: break
        case .note(let entries): try queue.note(entries)
        case .takeBack(let kind, let number):
            try queue.note(playback.takeBack(kind, from: number, queue.readContents()))
            let text = "the server has lost \(kind.rawValue) from number \(number) on; sending again"
            service.terminal.progress(line.remark(text))
        case .remark(let text): service.terminal.progress(line.remark(text))
        case .fail(let failure, let entries):
            try queue.note(entries)
            throw PlaybackStopped(
                reason: "\(failure)", key: service.key, device: service.device, run: queue.header.ticket?.run,
                canContinue: failure.canContinue)
        }
    }

    private mutating func stop(_ now: Moment) throws {
        guard queue.header.source.isLive, !queue.header.joins else { throw interrupted }
        leaveBy = now + Playback.stopTimeout
        try queue.append(playback.stop(now))
        service.terminal.progress(line.remark("ending the session"))
    }

    private func stopped(_ reason: String) -> PlaybackStopped {
        PlaybackStopped(
            reason: reason, key: service.key, device: service.device, run: queue.header.ticket?.run)
    }

    private var interrupted: Interrupted {
        let header = queue.header
        let remark = stopped("").remark
        guard playback.isOpen, !header.joins else { return Interrupted(remark) }
        return Interrupted(
            "\(remark); to end the workout here: pacebus end --user \(header.user) --session \(header.session)")
    }

    private var progress: String {
        // The other runners first: a terminal may cut off the rest.
        let partners = playback.companion?.line.map { "\($0) · " } ?? ""
        return "\(partners)\(count), \(playback.awaited.map { "waiting for \($0)" } ?? reconnects)"
    }

    private var count: String {
        let total = max(script.total ?? 0, playback.itemCount)
        return "\(playback.acknowledgedCount) of \(total) items acknowledged"
    }

    private var reconnects: String { "\(playback.reconnects) reconnects" }

    private mutating func finish(_ outcome: Playback.Outcome) throws -> Ending {
        service.terminal.progress(line.finish("\(count), \(reconnects)"))
        switch outcome {
        case .finished(let workout):
            service.terminal.output(Text.summary(workout) + "\n")
            if let totals = script.totals, !queue.header.joins, let text = Text.differences(of: workout, from: totals) {
                service.terminal.output(text + "\n")
            }
            if let lost = queue.header.notSynced {
                service.terminal.output("synced as session \(queue.header.session), which replaces \(lost)\n")
            }
        case .deleted: service.terminal.output("the session was deleted\n")
        case .discarded where playback.itemCount == 0: service.terminal.output("the session was discarded\n")
        case .discarded:
            service.terminal.output("the session was discarded; the queue is kept in \(queue.path)\n")
            return .kept
        case .missed(let refusal) where playback.itemCount == 0:
            service.terminal.output("the virtual run went on without this session: \(refusal.message)\n")
        case .missed(let refusal): throw stopped("the virtual run went on without this session: \(refusal.message)")
        case .notSynced: return .notSynced
        }
        return .done
    }
}
