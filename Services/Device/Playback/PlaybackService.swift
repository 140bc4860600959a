import Bus
import Foundation
import ServiceKit
import ServiceLifecycle
import Workouts

/// Plays a script into a session until the finished workout holds all of it.
struct PlaybackService: Service {
    let context: ServiceContext
    let terminal: Terminal
    let folder: QueueFolder
    let key: SessionKey
    let device: Device
    let script: PlaybackScript
    /// Times real time; 0 is as fast as the items are acknowledged.
    let speed: Double
    /// Whether somebody else starts, pauses and ends the session.
    let joins: Bool

    /// Returns when the queue is no longer needed.
    /// - Throws: `QueueError`, or ``PlaybackStopped`` when the queue is kept.
    func run() async throws {
        var loop = try makeLoop()
        terminal.output("session \(loop.queue.header.session) of \(key.user), device \(device)\n")
        while try await play(&loop) == .notSynced { loop = makeLoop(try folder.succeed(loop.queue)) }
    }

    private func play(_ loop: inout PlaybackLoop) async throws -> PlaybackLoop.Ending {
        if let lost = loop.queue.header.notSynced {
            terminal.output(
                "saved locally and not synced: the server no longer has session \(lost); "
                    + "the workout is logged under the new session \(loop.queue.header.session)\n")
        }
        do {
            return try await context.follow(loop.subscriptions) { event in try await loop.handle(event) }
        } catch {
            throw loop.explain(error)
        }
    }

    /// Opens the queue and takes up the playback where it stopped.
    func makeLoop() throws(QueueError) -> PlaybackLoop {
        makeLoop(try script.openQueue(in: folder, key, device, now: context.clock.now, joins: joins))
    }

    private func makeLoop(_ queue: QueueFile) -> PlaybackLoop {
        let playback = Playback(
            header: queue.header, contents: queue.contents, steps: script.steps(queue.header),
            pace: script.pace(queue.header, speed: speed), client: context.client, newID: { CommandID(UUID()) })
        return PlaybackLoop(service: self, queue: queue, playback: playback)
    }
}

/// Why a playback went no further. Its queue is kept.
struct PlaybackStopped: Error, CustomStringConvertible {
    let reason: String
    let header: QueueHeader

    var description: String {
        "\(reason); the queue is kept: the same command with --user \(header.user) --session \(header.session) "
            + "--device \(header.device) goes on"
    }
}
