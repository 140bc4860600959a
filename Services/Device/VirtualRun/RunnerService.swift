import Client
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

/// A simulated runner of a virtual run: enters the run, then plays a run of its own into the session that the view names.
struct RunnerService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let folder: QueueFolder
    let user: User
    let virtualRun: RunID
    /// Whether it accepts the invitation.
    let accepts: Bool
    let device: Device?
    let script: PlaybackScript
    /// Times real time.
    let speed: Double

    /// Returns when the finished workout holds all items.
    ///
    /// - Throws: ``RunEntryFailure``, and what ``PlaybackService`` throws.
    func run() async throws {
        if let stored = folder.queue(of: user, in: virtualRun) {
            return try await play(stored.session, device ?? stored.device, nil)
        }
        let ticket = try await enter()
        try await play(ticket.session, device ?? .newWatch(), ticket)
    }

    private func play(_ session: SessionID, _ device: Device, _ ticket: RunTicket?) async throws {
        try await PlaybackService(
            context: context, terminal: terminal, folder: folder, key: SessionKey(user, session), device: device,
            scripts: [script], speed: speed, ticket: ticket
        ).run()
    }

    private func enter() async throws -> RunTicket {
        var entry = RunEntry(
            user: user, run: virtualRun, accepts: accepts, client: context.client, newID: { CommandID(UUID()) })
        var line = ProgressLine(isInteractive: terminal.isInteractive)
        defer { terminal.progress(line.finish()) }
        return try await context.follow(entry.subscriptions) { event in
            let now = context.clock.moment
            switch event {
            case .connected: entry.connected()
            case .disconnected: entry.disconnected()
            case .message(let message):
                if let remark = entry.receive(message, now) { terminal.progress(line.remark(remark)) }
            case .tick: break
            case .stop: throw Interrupted()
            }
            await context.send(entry.takeOutgoing(now))
            switch entry.outcome {
            case nil: break
            case .failed(let failure): throw failure
            case .begins(let ticket): return ticket
            }
            if let text = line.update("waiting for \(entry.awaited(now.wallClock))", now) { terminal.progress(text) }
            return nil
        }
    }
}
